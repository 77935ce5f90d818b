//! The table against real output of nccl-tests, byte for byte, and against what parsers need.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a test fails by panicking, and printed numbers read back as they are"
)]

#[path = "golden/combinations.rs"]
mod combinations;
#[path = "golden/fixture.rs"]
mod fixture;
#[path = "golden/nccl_tests.rs"]
mod nccl_tests;
#[path = "golden/parsers.rs"]
mod parsers;
#[path = "golden/program.rs"]
mod program;

use fixture::{Fixture, footer_of, render, without_remarks};
use ncclbench::base::sweep::{Step, Sweep};
use ncclbench::base::{Bytes, DataType, Env, RedOp, World};
use ncclbench::cli::Parsed;
use ncclbench::digest::{self, Average};
use ncclbench::plan::{self, PlanSpec, Work};
use ncclbench::record::{
    Blocking, Footer, Header, MemoryUse, Mismatches, Release, Row, Sample, Tweaks,
};
use ncclbench::{cli, collective, report};

const ALL_REDUCE_4: &str = include_str!("golden/fixtures/all_reduce_4.txt");
const ALL_TO_ALL_4: &str = include_str!("golden/fixtures/alltoall_4.txt");
const ALL_GATHER_4: &str = include_str!("golden/fixtures/all_gather_4.txt");
const BROADCAST_4: &str = include_str!("golden/fixtures/broadcast_4.txt");
const TEXTS: [&str; 10] = [
    ALL_REDUCE_4,
    ALL_TO_ALL_4,
    ALL_GATHER_4,
    BROADCAST_4,
    include_str!("golden/fixtures/bcast_rall.txt"),
    include_str!("golden/fixtures/sendrecv_4.txt"),
    include_str!("golden/fixtures/h200_1rank_ar1.txt"),
    include_str!("golden/fixtures/h200_1rank_ar16.txt"),
    include_str!("golden/fixtures/h200_1rank_a2a.txt"),
    include_str!("golden/fixtures/mps_ar_4.txt"),
];

#[test]
fn the_numbers_of_a_real_table_give_its_bytes_again() {
    for text in TEXTS {
        let fixture = Fixture::new(text);
        let rows = fixture.rows_of_text();
        assert!(rows.len() >= 6 && rows.len().is_multiple_of(2));
        let ours = render(&fixture.header, &rows, &fixture.footer_of_text());
        assert_eq!(without_remarks(&ours), fixture.table());
    }
}

/// Plan, digest and table together, from nothing but the times.
#[test]
fn the_times_of_a_real_run_give_its_table_bandwidths_and_average_included() {
    for (text, json) in [
        (
            ALL_REDUCE_4,
            include_str!("golden/fixtures/all_reduce_4.json"),
        ),
        (
            ALL_TO_ALL_4,
            include_str!("golden/fixtures/alltoall_4.json"),
        ),
        (
            ALL_GATHER_4,
            include_str!("golden/fixtures/all_gather_4.json"),
        ),
        (
            BROADCAST_4,
            include_str!("golden/fixtures/broadcast_4.json"),
        ),
    ] {
        let fixture = Fixture::new(text);
        let rows = fixture.rows_of_json(json);
        assert_eq!(rows.len(), 10);
        let ours = render(&fixture.header, &rows, &footer_of(&rows));
        assert_eq!(without_remarks(&ours), fixture.table());
    }
}

#[test]
fn the_iterations_of_a_real_run_give_its_columns_timestamps_and_memory() {
    let text = include_str!("golden/fixtures/iter.txt");
    let mut fixture = Fixture::new(text);
    fixture.header.settings.timestamps = true;
    fixture.header.settings.tweaks.per_iteration = Some(0);
    let rows = fixture.rows_of_json(include_str!("golden/fixtures/iter.json"));
    assert_eq!(rows.len(), 6);
    let memory = MemoryUse {
        initialization_bytes: 420 << 20,
        user_bytes: 20 << 20,
        collective_bytes: 376 << 20,
    };
    let footer = Footer {
        memory: Some(memory),
        ..footer_of(&rows)
    };
    let ours = render(&fixture.header, &rows, &footer);
    assert_eq!(without_remarks(&ours), fixture.table());
}

#[test]
fn an_older_release_has_fewer_lines_at_both_ends() {
    let hard = hard();
    let table = |release| {
        let mut header = hard.header.clone();
        header.settings.table_release = Some(Release(release));
        let text = render(&header, &hard.rows[..2], &footer_of(&hard.rows[..2]));
        let has = |words: &str| text.contains(words);
        assert_eq!(parsers::by_thirteen_fields(&text).len(), 1);
        let known = [
            "# nccl-tests version ",
            "starting: ",
            "unalign: ",
            "concluded: ",
        ]
        .map(has);
        (text.starts_with("# nThread 1 nGpus 1 "), known)
    };
    assert_eq!(table([2, 13, 8]), (true, [false; 4]));
    assert_eq!(table([2, 17, 1]), (false, [false, true, false, true]));
    assert_eq!(table([2, 18, 2]), (false, [true; 4]));
}

/// A run with everything that could lead a parser astray.
struct Hard {
    header: Header,
    rows: Vec<Row>,
    measured: usize,
}

fn hard() -> Hard {
    let fixture = Fixture::new(ALL_REDUCE_4);
    let spec = PlanSpec {
        collective: collective::by_name("allreduce").unwrap(),
        dtypes: vec![DataType::Float, DataType::Half, DataType::F8e4m3],
        redops: vec![RedOp::Sum],
        roots: ncclbench::plan::Roots::One(ncclbench::base::Rank(0)),
        uneven: ncclbench::base::Uneven::default(),
        rank_bytes: false,
        sweep: Sweep::new(Bytes(1 << 28), Bytes(16 << 30), Step::Factor(2)).unwrap(),
        list: Vec::new(),
        placements: ncclbench::base::Placement::ALL.to_vec(),
        effort: ncclbench::plan::Effort::default(),
        iterations: 5,
        ops_per_batch: 1,
        warmup: 0,
        checks: 1,
        blocking: Blocking::None,
        cycles: 1,
        tweaks: Tweaks::default(),
    };
    let at = "2026-11-29T14:17:39.000Z";
    let jobs = plan::jobs(&spec, World(5), 0).unwrap();
    let rows: Vec<_> = jobs
        .into_iter()
        .filter(|job| job.work == Work::Measure)
        .map(|job| {
            if job.case.dtype == DataType::F8e4m3 {
                let reason = "out-of-place bandwidth FAILED: busbw and time of\n1 GPU\n  8 8 float";
                return digest::waived(job.case, reason, at.to_owned());
            }
            let sample = Sample {
                time_us: vec![
                    f64::from(u32::try_from(job.case.size.0 >> 20).unwrap()) * 10.48576;
                    3
                ],
                issue_us: vec![1.0; 3],
                ..Sample::default()
            };
            let checked = Some(Mismatches::default());
            digest::row(job.case, &sample, checked, Average::Mean, at.to_owned())
        })
        .collect();
    let header = Header {
        notes: vec!["the bandwidth check FAILED to run\non Rank 3, device 1".to_owned()],
        launcher_reason: "`--rank 0`; bandwidth".to_owned(),
        clamped_to_bytes: Some(17 << 30),
        measured: false,
        stand_in: true,
        ..fixture.header
    };
    Hard {
        header,
        rows,
        measured: 14,
    }
}

#[test]
fn every_parser_of_rows_finds_every_row_and_nothing_else() {
    let Hard {
        header,
        rows,
        measured,
    } = hard();
    let text = render(&header, &rows, &footer_of(&rows));
    let wanted = parsers::by_thirteen_fields(&text);
    assert_eq!(wanted.len(), measured);
    assert_eq!(wanted[0], (1 << 28, 160.0, 160.0));
    assert_eq!(parsers::by_header_words(&text), wanted);
    assert_eq!(parsers::by_kinds_of_fields(&text), wanted);
    assert_eq!(parsers::by_last_eight_fields(&text), wanted);
    let last: Vec<_> = wanted.iter().map(|(_, _, inside)| *inside).collect();
    assert_eq!(parsers::by_last_field_but_one(&text), last);
}

#[test]
fn scripts_that_look_for_one_size_find_its_row_last() {
    let hard = hard();
    let text = render(&hard.header, &hard.rows, &footer_of(&hard.rows));
    assert_eq!(parsers::field_of_size(&text, "1073741824", 11), 100.0);
    assert_eq!(parsers::field_of_size(&text, "8589934592", 7), 100.0);
}

#[test]
fn the_average_stands_once_and_every_way_of_reading_it_agrees() {
    let hard = hard();
    let text = render(&hard.header, &hard.rows, &footer_of(&hard.rows));
    assert_eq!(parsers::health_check(&text), Some(160.0));
    assert_eq!(parsers::average_by_padding(&text), 160.0);
    assert_eq!(parsers::average_by_last_word(&text), 160.0);
    assert_eq!(parsers::average_by_first_number(&text), 160.0);
    assert!(parsers::says_success(&text));
    assert_eq!(parsers::hosts(&text), ["vm"; 4]);
}

#[test]
fn wrong_data_is_a_failed_footer_and_nothing_else_fails_it() {
    let mut hard = hard();
    let case = hard.rows[0].case.clone();
    let sample = Sample {
        time_us: vec![1.0; 3],
        issue_us: vec![1.0; 3],
        wrong: vec![0, 1_048_576, 3],
        ..Sample::default()
    };
    let wrong = Mismatches {
        wrong: 1_048_579,
        ..Mismatches::default()
    };
    hard.rows[0] = digest::row(case, &sample, Some(wrong), Average::Mean, String::new());
    let text = render(&hard.header, &hard.rows, &footer_of(&hard.rows));
    let failed: Vec<_> = text
        .lines()
        .filter(|line| line.contains("FAILED"))
        .collect();
    assert_eq!(failed, ["# Out of bounds values : 2 FAILED"]);
    assert!(text.contains("  1.04858e+06  "));
    assert_eq!(parsers::by_thirteen_fields(&text).len(), hard.measured);
}

#[test]
fn six_lines_follow_the_last_row() {
    let hard = hard();
    let measured = &hard.rows[..hard.measured * 2];
    let text = render(&hard.header, measured, &footer_of(measured));
    let lines: Vec<_> = text.split('\n').collect();
    let last = lines
        .iter()
        .rposition(|line| line.starts_with(' '))
        .unwrap();
    assert_eq!(
        lines[last + 1..].len(),
        7,
        "six and what follows the last line's end"
    );
    assert_eq!(lines[last + 6..], ["", ""]);
}

/// Keeps every `write` apart.
#[derive(Default)]
struct Writes(Vec<String>);

impl std::io::Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.push(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_row_is_one_write_of_one_whole_line() {
    let hard = hard();
    let mut table = report::table();
    table.begin(&hard.header, &mut Writes::default()).unwrap();
    let mut writes = Writes::default();
    for row in &hard.rows[..hard.measured * 2] {
        table.row(row, &mut writes).unwrap();
    }
    assert_eq!(writes.0.len(), hard.measured);
    assert!(
        writes
            .0
            .iter()
            .all(|line| line.len() == 119 && line.ends_with('\n'))
    );
}

#[test]
fn half_a_row_is_a_remark_that_no_parser_takes_for_a_row() {
    let hard = hard();
    let (whole, half) = (&hard.rows[..2], &hard.rows[4]);
    for rows in [
        [whole, std::slice::from_ref(half)].concat(),
        [std::slice::from_ref(half), whole].concat(),
    ] {
        let text = render(&hard.header, &rows, &footer_of(&rows));
        assert_eq!(parsers::by_header_words(&text).len(), 1);
        assert_eq!(parsers::by_thirteen_fields(&text).len(), 1);
        assert!(text.contains("\n# only out of place of 1 GiB float sum: 10737.42 us\n"));
    }
}

#[test]
fn what_is_waived_leaves_no_line_where_nccl_tests_has_none() {
    let hard = hard();
    let measured = &hard.rows[..hard.measured * 2];
    let footer = footer_of(&hard.rows);
    assert_eq!(
        render(&hard.header, &hard.rows, &footer),
        render(&hard.header, measured, &footer)
    );
}

#[test]
fn timestamps_are_local_and_end_as_wide_as_nccl_tests_prints_them() {
    let mut hard = hard();
    hard.header.settings.timestamps = true;
    hard.header.utc_offset_s = 3600;
    let text = render(&hard.header, &hard.rows[..2], &footer_of(&hard.rows[..2]));
    let row = text.lines().find(|line| line.starts_with(' ')).unwrap();
    let head = text
        .lines()
        .find(|line| line.ends_with("timestamp"))
        .unwrap();
    let format = text
        .lines()
        .find(|line| line.ends_with("%Y-%m-%d %H:%M:%S"))
        .unwrap();
    assert!(row.ends_with("0  2026-11-29 15:17:39"), "{row}");
    assert_eq!((row.len(), head.len(), format.len()), (139, 138, 138));
}

#[test]
fn the_help_is_the_one_that_was_read() {
    let Ok(Parsed::Text(text)) =
        cli::parse(["ncclbench", "--help"].map(Into::into), &Env::default())
    else {
        panic!("no help");
    };
    let stored = include_str!("golden/help.txt");
    assert_eq!(
        text, stored,
        "read it, then store it as tests/golden/help.txt"
    );
}
