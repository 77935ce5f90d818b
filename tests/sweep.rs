//! The whole program on a sweep: several collectives on one communicator, kept, interrupted, resumed and judged.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

#[path = "sweep/bench.rs"]
mod bench;
#[path = "sweep/judged.rs"]
mod judged;
#[path = "sweep/resumed.rs"]
mod resumed;
#[path = "common/stand_ins.rs"]
mod stand_ins;

use bench::{Bench, CONFIG, every_key, expect_success, keys, text};
use ncclbench::record::{Outcome, Stop};

#[test]
fn a_sweep_opens_one_communicator_and_keeps_one_run_of_all_its_collectives() {
    for launch in [
        &["--backend", "host", "-g", "3"][..],
        &["--backend", "host", "--spawn", "5"],
        &["--backend", "sim", "-g", "7"],
    ] {
        let bench = Bench::new(CONFIG);
        let output = bench.run(launch);
        expect_success(&output);
        let run = bench.only_run();
        assert_eq!(keys(&run), every_key());
        assert_eq!(run.header.collective, "allreduce,alltoall");
        let sweep = run.header.sweep.unwrap();
        assert_eq!(
            (sweep.name.as_str(), sweep.limits.latency),
            ("small", Some(0.1))
        );
        assert_eq!(run.footer.unwrap().rows, 12);
        assert!(run.rows.iter().all(|row| row.quality.spent.is_some()));
        let table = text(&output.stdout);
        let rows = table.lines().filter(|line| line.ends_with("N/A"));
        assert_eq!(rows.count(), 12, "{table}");
        assert_eq!(
            table
                .matches("Collective test concluded: all_reduce_perf")
                .count(),
            2
        );
        assert_eq!(
            table
                .matches("Collective test concluded: alltoall_perf")
                .count(),
            2
        );
        let opened = text(&output.stderr).matches("on backend").count();
        assert_eq!(opened, 1, "{}", text(&output.stderr));
    }
}

#[test]
fn a_wrong_key_is_refused_with_file_line_and_key_before_anything_is_opened() {
    let bench = Bench::new(&CONFIG.replace("iters = 5", "itres = 5"));
    let output = bench.run(&["--backend", "host"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("a.toml, line 4, key `defaults.itres`"),
        "{said}"
    );
    assert!(said.contains("did you mean `iters`?"), "{said}");
    assert!(bench.files().is_empty());
}

#[test]
fn a_row_that_two_parts_would_measure_is_refused() {
    let more = "[[part]]\ncollectives = \"allreduce\"\nsizes = 4096\n[compare]";
    let bench = Bench::new(&CONFIG.replace("[compare]", more));
    let output = bench.run(&["--backend", "sim", "-g", "3"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("allreduce float sum out-of-place 4 KiB would be measured by two parts"),
        "{said}"
    );
}

#[test]
fn every_size_says_how_well_it_is_known_and_how_single_operations_scatter() {
    let config = CONFIG
        .replace(
            "iters = 5",
            "iters = \"auto\"\nbudget = 0.02\nci = \"20%\"\ndistribution = true",
        )
        .replace("repeats = 2", "repeats = 1");
    let bench = Bench::new(&config);
    expect_success(&bench.run(&["--backend", "host", "-g", "3"]));
    let run = bench.only_run();
    assert_eq!(run.rows.len(), 6);
    for row in &run.rows {
        let sampling = row.quality.sampling.as_ref().unwrap();
        assert!(!sampling.batch_us.is_empty() && sampling.iterations > 0);
        if sampling.stop == Stop::Narrow {
            assert!(sampling.half_width.unwrap() <= 0.2);
        }
        let Outcome::Measured { time, .. } = &row.outcome else {
            panic!("waived")
        };
        assert!(time.max_us > 0.0 && time.max_us <= sampling.median_us * 3.0);
        let distribution = row.quality.distribution.as_ref().unwrap();
        assert_eq!(distribution.clock, "host clock");
        let ranks: Vec<_> = distribution.ranks.iter().map(|rank| rank.rank).collect();
        assert_eq!(ranks, [0, 1, 2]);
        assert!(distribution.slowest.p50_us <= distribution.slowest.max_us);
        assert!(row.quality.arrival.unwrap().last_rank < 3);
    }
}

#[test]
fn a_dry_run_estimates_time_and_memory_and_says_how() {
    let bench = Bench::new(CONFIG);
    let output = bench.run(&["--dry-run", "--world", "16"]);
    expect_success(&output);
    let said = text(&output.stdout);
    assert!(said.contains("for 16 ranks, 12 rows"), "{said}");
    assert!(
        said.contains("two buffers of 64 KiB on each rank (128 KiB together)"),
        "{said}"
    );
    assert!(said.contains("Assumed, not measured"), "{said}");
    assert!(bench.files().is_empty());
}

#[test]
fn single_operations_on_gpus_are_timed_by_their_own_events() {
    let config = CONFIG
        .replace(
            "iters = 5",
            "iters = \"auto\"\nbudget = 0.02\ndistribution = true",
        )
        .replace("repeats = 2", "repeats = 1");
    let bench = Bench::new(&config);
    let output = bench
        .command(&["-g", "3"])
        .env("NCCLBENCH_NCCL", stand_ins::library("libnccl.so.2"))
        .env("NCCLBENCH_CUDA", stand_ins::library("libcuda.so.1"))
        .output()
        .unwrap();
    expect_success(&output);
    let run = bench.only_run();
    assert!(run.header.stand_in);
    for row in &run.rows {
        let distribution = row.quality.distribution.as_ref().unwrap();
        assert_eq!(distribution.clock, "gpu events");
        assert_eq!(distribution.ranks.len(), 3);
        assert!(row.quality.sampling.is_some());
    }
    // no management library here: what is not known is said, and never zero
    let conditions = run.header.conditions.unwrap();
    assert!(conditions.devices.len() == 3 || !conditions.unknown.is_empty());
    assert!(run.footer.unwrap().conditions.is_some());
}
