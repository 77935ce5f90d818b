//! A run's file written, cut and read again.

use super::*;
use crate::base::sweep::Step;
use crate::base::{Bytes, DataType, GBps, Kind, Micros, Placement};
use crate::record::{
    BadElement, Blocking, Case, InPlace, MemoryUse, Outcome, PerIteration, Settings, Spread, Tweaks,
};
use proptest::prelude::*;

fn header() -> Header {
    Header {
        schema: SCHEMA,
        ncclbench: "0.1.0".to_owned(),
        started: "2026-11-29T14:17:00.000Z".to_owned(),
        utc_offset_s: -3600,
        args: vec!["ncclbench".to_owned(), "allreduce".to_owned()],
        collective: "allreduce".to_owned(),
        backend: "host".to_owned(),
        call: Some("native".to_owned()),
        measured: true,
        stand_in: false,
        launcher: "spawn".to_owned(),
        launcher_reason: "`--spawn 3`".to_owned(),
        shape: [3, 1, 1],
        settings: Settings {
            program: "all_reduce_perf".to_owned(),
            min_bytes: Bytes(8),
            max_bytes: Bytes(64),
            step: Step::Bytes(8),
            warmup: 1,
            iterations: 20,
            ops_per_batch: 1,
            checks: 1,
            blocking: Blocking::BarrierOutside,
            cycles: 1,
            timestamps: false,
            placement: None,
            table_release: None,
            tweaks: Tweaks::default(),
        },
        seed: Some(7),
        average: "mean".to_owned(),
        libraries: Vec::new(),
        seats: Vec::new(),
        groups: Vec::new(),
        environment: BTreeMap::new(),
        plan: "00ff".to_owned(),
        clamped_to_bytes: None,
        notes: vec!["a \"note\"\nof two lines".to_owned()],
        nccl_log: None,
        init_ms: BTreeMap::from([("communicator".to_owned(), 12.5)]),
        sweep: None,
        conditions: None,
    }
}

fn row(index: u64) -> Row {
    let spread = Spread {
        mean_us: 1.5,
        min_us: 1.0,
        max_us: 2.0,
        rank0_us: 1.1,
    };
    let outcome = if index.is_multiple_of(3) {
        Outcome::Waived {
            reason: "not here".to_owned(),
        }
    } else {
        Outcome::Measured {
            time_us: Micros(1.5),
            time: spread,
            issue: Some(spread),
            algbw_gbps: GBps(0.1),
            busbw_gbps: GBps(0.2),
            wrong: Some(1),
            wrong_threads: 1,
            unchecked: None,
            bad: vec![bad()],
            per_iteration: Some(Box::new(per_iteration())),
        }
    };
    Row {
        case: case(index),
        outcome,
        at: "2026-11-29T14:17:01.000Z".to_owned(),
        quality: crate::record::Quality::default(),
    }
}

fn per_iteration() -> PerIteration {
    PerIteration {
        skipped: 1,
        min_us: 1.0,
        max_us: 2.0,
        avg_us: 1.5,
        p50_us: 2.0,
        p95_us: 2.0,
        p99_us: 2.0,
        stdev_us: 0.5,
        cv_pct: 33.3,
        times_us: vec![9.0, 1.0, 2.0],
        process_us: vec![vec![9.0, 1.0, 2.0], vec![1.0, 1.0, 1.0]],
    }
}

fn bad() -> BadElement {
    BadElement {
        rank: 2,
        host: "node-a".to_owned(),
        gpu: None,
        index: u64::MAX,
        expected_bits: u64::MAX,
        got_bits: 0,
        class: "unwritten".to_owned(),
    }
}

fn case(index: u64) -> Case {
    Case {
        collective: "allreduce".to_owned(),
        dtype: DataType::F8e4m3,
        redop: Some(crate::base::RedOp::MulSum),
        root: None,
        placement: Placement::InPlace,
        requested: Bytes(index),
        size: Bytes(index),
        count: index,
        send_count: index,
        recv_count: index,
        in_place: InPlace::SendInRecv { stride: 7 },
        checkable: true,
        algo_bytes: Bytes(index),
        bus_factor: 4.0 / 3.0,
        iterations: 20,
        ops_per_batch: 1,
        checks: 1,
        cycle: 0,
        rank_bytes: Vec::new(),
    }
}

fn footer() -> Footer {
    Footer {
        ended: "2026-11-29T14:17:02.000Z".to_owned(),
        rows: 5,
        wrong_measurements: 1,
        average_busbw_gbps: 0.2,
        exit_code: 5,
        memory: Some(MemoryUse {
            initialization_bytes: 1 << 30,
            user_bytes: 7,
            collective_bytes: -3,
        }),
        ..Footer::default()
    }
}

fn file() -> String {
    let mut lines = vec![Line::Header(Box::new(header()))];
    lines.extend((0..5).map(|index| Line::Row(Box::new(row(index)))));
    lines.push(Line::Footer(Box::new(footer())));
    let texts = lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap());
    texts.map(|text| text + "\n").collect()
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    let run = Run::read(file().as_bytes()).unwrap();
    assert_eq!(run.header, header());
    assert_eq!(run.rows, (0..5).map(row).collect::<Vec<_>>());
    assert_eq!((run.footer, run.torn), (Some(footer()), None));
}

#[test]
fn every_line_says_what_it_is_and_the_header_its_schema() {
    let file = file();
    let kinds: Vec<String> = file
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["line"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(
        kinds,
        ["header", "row", "row", "row", "row", "row", "footer"]
    );
    assert!(file.contains("\"schema\":1"));
    assert!(file.contains("\"outcome\":\"waived\""));
}

proptest! {
    #[test]
    fn a_file_cut_anywhere_after_its_header_gives_its_whole_lines(cut in 0.0f64..1.0) {
        let file = file();
        let header_end = file.find('\n').unwrap() + 1;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short text")]
        let at = header_end + ((file.len() - header_end) as f64 * cut) as usize;
        let run = Run::read(&file.as_bytes()[..at]).unwrap();
        let whole = file[..at].matches('\n').count() - 1;
        prop_assert!(run.rows.len() >= whole.min(5) && run.rows.len() <= whole + 1);
        // a footer that lacks only the end of its line is whole
        prop_assert_eq!(run.footer.is_some(), at + 1 == file.len());
        let ended_between_lines = file[..at].ends_with('\n') || file[at..].starts_with('\n');
        prop_assert_eq!(run.torn.is_none(), ended_between_lines);
    }
}

#[test]
fn a_tail_that_is_no_text_at_all_is_torn_and_not_fatal() {
    let mut bytes = file().into_bytes();
    bytes.truncate(bytes.len() - 40);
    bytes.extend([0, 0xff, 0xfe]);
    let run = Run::read(&bytes).unwrap();
    assert_eq!(run.rows.len(), 5);
    assert!(run.torn.is_some() && run.footer.is_none());
}

#[test]
fn a_broken_line_in_the_middle_is_named() {
    let broken = file().replacen("\"requested\":1,", "\"requested\":\"x\",", 1);
    let fault = Run::read(broken.as_bytes()).unwrap_err();
    assert_eq!(fault.kind, Kind::Usage);
    assert!(fault.to_string().starts_with("line 3: "), "{fault}");
}

#[test]
fn what_is_not_a_runs_file_is_refused() {
    let file = file();
    let newer = file.replacen("\"schema\":1", "\"schema\":2", 1);
    let without_header = file.split_once('\n').unwrap().1;
    let twice = format!("{file}{file}");
    for (text, words) in [
        ("", "empty"),
        ("\n\n", "empty"),
        ("hello\n", "not the header"),
        (without_header, "not the header"),
        (newer.as_str(), "its schema is 2"),
        (twice.as_str(), "line 8: nothing may follow the footer"),
    ] {
        let fault = Run::read(text.as_bytes()).unwrap_err().to_string();
        assert!(fault.contains(words), "{fault}");
    }
}

#[test]
fn a_number_that_json_cannot_hold_is_refused_when_written() {
    let mut header = header();
    header.init_ms.insert("load".to_owned(), f64::NAN);
    assert!(serde_json::to_string(&header).is_err());
    let footer = Footer {
        average_busbw_gbps: f64::INFINITY,
        ..footer()
    };
    assert!(serde_json::to_string(&footer).is_err());
    let mut row = row(1);
    row.case.bus_factor = f64::NAN;
    assert!(serde_json::to_string(&row).is_err());
    for field in 0..3 {
        let mut row = self::row(1);
        if let Outcome::Measured {
            time_us,
            algbw_gbps,
            issue,
            ..
        } = &mut row.outcome
        {
            match field {
                0 => time_us.0 = f64::NAN,
                1 => algbw_gbps.0 = f64::INFINITY,
                _ => issue.as_mut().expect("it was kept").max_us = f64::NAN,
            }
        }
        assert!(serde_json::to_string(&row).is_err(), "{field}");
    }
}
