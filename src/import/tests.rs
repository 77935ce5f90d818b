//! Whole logs and files.

use super::*;
use crate::base::{Bytes, Placement};
use crate::record::Outcome;

fn about() -> About {
    About {
        name: "a.log".to_owned(),
        written: "2026-01-02T03:04:05.000Z".to_owned(),
        collective: None,
        kept: |env| {
            let pairs = env.iter().filter(|(name, _)| name.starts_with("NCCL_"));
            pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect()
        },
    }
}

fn found(text: &str) -> Found {
    read(text, &about())
}

const HEADING: &str = "\
# nccl-tests version 2.19.6 nccl-headers=22803 nccl-library=22803
# Collective test starting: all_reduce_perf_mpi
# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 1 iters: 3 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1203 on         vm device  0 [0000:00:06] NVIDIA H200
#  Rank  1 Group  0 Pid   1203 on         vm device  1 [0000:00:07] NVIDIA H200
#  Rank  2 Group  0 Pid   1204 on         wm device  0 [0000:00:06] NVIDIA H200
#  Rank  3 Group  0 Pid   1204 on         wm device  1 [0000:00:07] NVIDIA H200
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong 
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         
";
const ROWS: [&str; 2] = [
    "           8             2     float     sum      -1    10.00    0.00    0.00       0    11.00    0.00    0.00       0",
    "          16             4     float     sum      -1    12.00    0.00    0.00       2    13.00    0.00    0.00     N/A",
];
const FOOTER: &str = "\
# Out of bounds values : 1 FAILED
# Avg bus bandwidth    : 0.0018 
#
# Collective test concluded: all_reduce_perf_mpi
";

fn log() -> String {
    format!("{HEADING}{}\n{}\n{FOOTER}", ROWS[0], ROWS[1])
}

fn times(run: &Run) -> Vec<f64> {
    let time = |row: &crate::record::Row| match &row.outcome {
        Outcome::Measured { time_us, .. } => time_us.0,
        Outcome::Waived { .. } => f64::NAN,
    };
    run.rows.iter().map(time).collect()
}

#[test]
fn a_table_becomes_a_run_with_two_rows_a_line() {
    let found = found(&log());
    assert_eq!(found.complaints, []);
    let [run] = found.runs.as_slice() else {
        panic!("{found:?}");
    };
    let header = &run.header;
    assert_eq!(
        (header.collective.as_str(), header.shape),
        ("allreduce", [2, 1, 2])
    );
    assert_eq!(header.seats.len(), 4);
    assert_eq!(header.libraries[0].version, "2.28.3");
    assert_eq!(header.started, about().written);
    assert_eq!(times(run), [10.0, 11.0, 12.0, 13.0]);
    let last = &run.rows[3];
    assert_eq!(
        (last.case.requested, last.case.placement),
        (Bytes(16), Placement::InPlace)
    );
    let Outcome::Measured {
        wrong,
        unchecked,
        algbw_gbps,
        busbw_gbps,
        issue,
        ..
    } = &last.outcome
    else {
        panic!("{last:?}");
    };
    assert!(wrong.is_none() && unchecked.is_some() && issue.is_none());
    assert!(
        (algbw_gbps.0 - 16.0 / 13.0 / 1e3).abs() < 1e-12,
        "{algbw_gbps:?}"
    );
    assert!((busbw_gbps.0 - 1.5 * algbw_gbps.0).abs() < 1e-12);
    let footer = run.footer.as_ref().unwrap();
    assert_eq!(
        (footer.exit_code, footer.rows, footer.wrong_measurements),
        (5, 4, 1)
    );
}

#[test]
fn what_was_imported_is_a_file_that_reads_back() {
    let run = found(&log()).runs.remove(0);
    let mut file = Vec::new();
    let mut report = crate::report::jsonl();
    report.begin(&run.header, &mut file).unwrap();
    for row in &run.rows {
        report.row(row, &mut file).unwrap();
    }
    report.end(run.footer.as_ref().unwrap(), &mut file).unwrap();
    assert_eq!(Run::read(&file).unwrap(), run);
}

#[test]
fn tags_of_launchers_change_nothing_and_keep_writers_apart() {
    let plain = found(&log());
    for tag in ["0: ", "[1,0]<stdout>:", " 3: "] {
        let tagged = log()
            .lines()
            .map(|line| format!("{tag}{line}\n1: wm:9:9 [1] NCCL INFO x\n"))
            .collect::<Vec<_>>()
            .concat();
        let tagged = found(&tagged);
        assert_eq!(tagged.runs, plain.runs, "{tag}");
        assert_eq!(tagged.complaints, [], "{tag}");
    }
    let two = log()
        .lines()
        .map(|line| format!("0: {line}\n1: {line}\n"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(found(&two).runs.len(), 2, "two worlds that ran at once");
}

#[test]
fn rows_that_nccl_cut_are_put_together() {
    let noise = "vm:2305:2342 [0] NCCL INFO Channel 00/1 : 3[0] -> 0[0]";
    for cuts in [&[52][..], &[85], &[52, 85]] {
        let mut cut = String::new();
        let mut from = 0;
        for &at in cuts {
            cut += &[&ROWS[0][from..at], noise, "\n", noise, "\n"].concat();
            from = at;
        }
        cut.push_str(&ROWS[0][from..]);
        let log = format!("{HEADING}{cut}\n{}\n{FOOTER}", ROWS[1]);
        let found = found(&log);
        assert_eq!(found.complaints, [], "{cuts:?}");
        assert_eq!(times(&found.runs[0]), [10.0, 11.0, 12.0, 13.0], "{cuts:?}");
    }
}

#[test]
fn what_cannot_be_read_is_named_by_its_line_and_the_rest_is_kept() {
    let broken = ROWS[1].replace("float", "flaot");
    let log = format!(
        "{HEADING}{}\n{broken}\nKilled\n{}\n# x\n",
        ROWS[0],
        &ROWS[0][..52]
    );
    let found = found(&log);
    let lines: Vec<_> = found
        .complaints
        .iter()
        .map(|it| (it.line, it.why.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (15, "unknown type `flaot`"),
            (16, "neither a row nor a comment: `Killed`"),
            (
                17,
                "a row that breaks off: `8             2     float     sum      -1`"
            ),
        ]
    );
    assert_eq!(times(&found.runs[0]), [10.0, 11.0]);
    assert!(found.runs[0].footer.is_none(), "it did not come to its end");
}

#[test]
fn a_log_of_several_runs_gives_each() {
    let other = log().replace("all_reduce_perf_mpi", "all_gather_perf");
    let found = found(&format!("+ srun x\n{}some words\n{other}bye\n", log()));
    let names: Vec<_> = found
        .runs
        .iter()
        .map(|run| run.header.collective.as_str())
        .collect();
    assert_eq!(names, ["allreduce", "allgather"]);
    assert_eq!(found.complaints, []);
}

#[test]
fn an_old_log_needs_to_be_told_its_collective() {
    let old = log()
        .lines()
        .skip(2)
        .filter(|line| !line.contains("Collective test"))
        .map(|line| format!("{}\n", line.replace(" graph: 0 unalign: 0", "")))
        .collect::<Vec<_>>()
        .concat();
    let found = found(&old);
    assert!(found.runs.is_empty() && found.complaints[0].why.contains("--collective"));
    let told = About {
        collective: Some(crate::collective::by_name("reduce_scatter").unwrap()),
        ..about()
    };
    assert_eq!(read(&old, &told).runs[0].header.collective, "reducescatter");
}

#[test]
fn tables_that_say_too_little_are_refused_and_say_what_is_missing() {
    for (without, why) in [
        ("# nThread", "`# nThread …`"),
        ("#  Rank", "the ranks' lines"),
    ] {
        let log = log()
            .lines()
            .filter(|line| !line.starts_with(without))
            .map(|line| format!("{line}\n"))
            .collect::<Vec<_>>()
            .concat();
        let found = found(&log);
        assert!(
            found.runs.is_empty() && found.complaints[0].why.contains(why),
            "{found:?}"
        );
    }
    assert_eq!(found("").runs, []);
    assert_eq!(found("hello\n12 13\n").runs, []);
}

#[test]
fn repeated_cycles_and_collapsed_sizes_are_told_apart() {
    let twice = format!("{HEADING}{0}\n{1}\n{0}\n{1}\n", ROWS[0], ROWS[1]);
    let run = found(&twice).runs.remove(0);
    let cycles: Vec<_> = run
        .rows
        .iter()
        .map(|row| (row.case.requested.0, row.case.cycle))
        .collect();
    assert_eq!(
        cycles,
        [
            (8, 0),
            (8, 0),
            (16, 0),
            (16, 0),
            (8, 1),
            (8, 1),
            (16, 1),
            (16, 1)
        ]
    );
    let nothing = "           0             0     float    none      -1     6.11    0.00    0.00       0     5.98    0.00    0.00    N/A";
    let collapsed = format!(
        "{}{nothing}\n{nothing}\n",
        HEADING.replace("all_reduce", "alltoall")
    );
    let run = found(&collapsed).runs.remove(0);
    let asked: Vec<_> = run
        .rows
        .iter()
        .map(|row| (row.case.requested.0, row.case.cycle))
        .collect();
    assert_eq!(
        asked,
        [(8, 0), (8, 0), (16, 0), (16, 0)],
        "the sizes that were asked for"
    );
}

const JSON: &str = r#"{"version":3,"start_time":"2026-11-29 14:17:04","args":["/x/all_reduce_perf_mpi","-a","3","-R2"],"env":["NCCL_NET=Socket","AWS_SECRET=x"],"nccl_version":22803,"config":{"nthreads":1,"ngpus":1,"minimum_bytes":8,"maximum_bytes":64,"step_factor":8,"warmup_iters":1,"iterations":3,"aggregated_iterations":1,"validation":1,"graph":0,"blocking_collectives":"false","per_iter_timing":"false","per_iter_skip":0,"parallel_init":"false","devices":[{"rank":0,"group":0,"pid":1,"hostname":"vm","device":0,"device_hex":"0000:00:06","device_info":"NVIDIA H200"},{"rank":1,"group":0,"pid":2,"hostname":"vm","device":0,"device_hex":"0000:00:06","device_info":"NVIDIA H200"}]},"results":[{"size":8,"count":2,"type":"float","redop":"sum","root":"    -1","out_of_place":{"time":4.5,"alg_bw":0.0,"bus_bw":1e-06,"nwrong":0.0},"in_place":{"time":0.0,"alg_bw":inf,"bus_bw":inf,"nwrong":null},"actual_iterations":7,"experiment_name":""}],"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":0.000417,"okay":"false"},"errors":[""],"end_time":"2026-11-29 14:17:07"}"#;

#[test]
fn a_json_file_becomes_a_run_even_with_infinities() {
    let found = found(JSON);
    assert_eq!(found.complaints, []);
    let run = &found.runs[0];
    assert_eq!(times(run), [4.5, 0.0]);
    assert_eq!(run.header.started, "2026-11-29T14:17:04.000Z");
    assert_eq!(run.header.average, "max");
    assert_eq!(
        run.header.settings.tweaks.registration,
        crate::record::Registration::Symmetric
    );
    assert_eq!(run.rows[0].case.iterations, 7);
    let kept: Vec<_> = run.header.environment.keys().collect();
    assert_eq!(kept, ["NCCL_NET"]);
    assert_eq!(
        run.footer.as_ref().unwrap().exit_code,
        6,
        "the bandwidth was not reached"
    );
}

#[test]
fn a_json_file_that_breaks_off_says_so_and_keeps_its_rows() {
    let cut = found(&JSON[..JSON.find("\"out_of_bounds\"").unwrap() - 2]);
    assert!(cut.complaints[0].why.contains("breaks off"));
    assert_eq!(cut.runs[0].rows.len(), 2);
    assert!(cut.runs[0].footer.is_none());
    for text in ["{", "{}", &JSON.replace("\"version\":3", "\"version\":9")] {
        let found = found(text);
        assert!(
            found.runs.is_empty() && !found.complaints.is_empty(),
            "{text}"
        );
    }
}
