//! `ncclbench import` on real output of nccl-tests.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use assert_cmd::Command;
use ncclbench::record::{Outcome, Row, Run};
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/fixtures")
        .join(name)
}

struct Ended {
    code: Option<i32>,
    out: Vec<u8>,
    told: String,
}

fn import(arguments: &[&str], logs: &[PathBuf]) -> Ended {
    let done = Command::cargo_bin("ncclbench")
        .unwrap()
        .arg("import")
        .args(arguments)
        .args(logs)
        .output()
        .unwrap();
    Ended {
        code: done.status.code(),
        out: done.stdout,
        told: String::from_utf8(done.stderr).unwrap(),
    }
}

fn imported(name: &str) -> Run {
    let done = import(&[], &[fixture(name)]);
    assert_eq!(done.code, Some(0), "{name}: {}", done.told);
    Run::read(&done.out).unwrap()
}

fn time(row: &Row) -> f64 {
    match &row.outcome {
        Outcome::Measured { time_us, .. } => time_us.0,
        Outcome::Waived { .. } => panic!("{row:?}"),
    }
}

#[test]
fn the_table_and_the_json_of_one_run_agree() {
    for name in ["all_reduce_4", "all_gather_4", "alltoall_4", "broadcast_4"] {
        let table = imported(&format!("{name}.txt"));
        let json = imported(&format!("{name}.json"));
        assert_eq!(table.header.collective, json.header.collective);
        assert_eq!(table.header.shape, json.header.shape);
        assert_eq!(table.header.seats, json.header.seats);
        assert_eq!(table.header.libraries, json.header.libraries);
        assert_eq!(table.rows.len(), 10, "{name}");
        for (from_table, from_json) in table.rows.iter().zip(&json.rows) {
            assert_eq!(from_table.case, from_json.case, "{name}");
            let (short, long) = (time(from_table), time(from_json));
            assert!(
                (short - long).abs() <= 1e-4 * long + 0.005,
                "{short} {long}"
            );
        }
    }
}

#[test]
fn every_recording_is_read_as_what_it_is() {
    for (name, collective, ranks, rows, exit) in [
        ("bcast_rall.txt", "broadcast", 2, 6, 0),
        ("iter.txt", "allreduce", 2, 6, 0),
        ("iter.json", "allreduce", 2, 6, 0),
        ("min_bw.txt", "allreduce", 2, 6, 6),
        ("debug_info_a2a.txt", "alltoall", 4, 8, 0),
        ("sendrecv_4.txt", "sendrecv", 4, 10, 0),
        ("h200_1rank_ar16.txt", "allreduce", 1, 64, 0),
    ] {
        let run = imported(name);
        assert_eq!(run.header.collective, collective, "{name}");
        assert_eq!(run.header.seats.len(), ranks, "{name}");
        assert_eq!(run.rows.len(), rows, "{name}");
        assert_eq!(run.footer.as_ref().unwrap().exit_code, exit, "{name}");
        assert_eq!(run.header.launcher, "import");
    }
}

#[test]
fn single_iterations_are_kept_where_the_file_has_them() {
    let run = imported("iter.json");
    let Outcome::Measured { per_iteration, .. } = &run.rows[0].outcome else {
        panic!("{run:?}");
    };
    let times = per_iteration.as_deref().expect("-I was given");
    assert_eq!((times.times_us.len(), times.process_us.len()), (3, 2));
}

#[test]
fn what_was_wrong_with_a_run_is_named_by_file_and_line() {
    let done = import(&[], &[fixture("bad_dtype.txt")]);
    assert_eq!(done.code, Some(0));
    assert!(
        done.told
            .contains("bad_dtype.txt:1: not what was asked for"),
        "{}",
        done.told
    );
    let done = import(&[], &[fixture("dup_gpu_error.txt")]);
    assert_eq!(done.code, Some(2));
    assert!(
        done.told.contains("dup_gpu_error.txt:8: the run failed"),
        "{}",
        done.told
    );
    assert!(
        done.told.contains("no row of nccl-tests was found"),
        "{}",
        done.told
    );
    assert_eq!(done.out, b"");
}

#[test]
fn every_run_gets_a_file_and_none_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("run.jsonl");
    let output = ["--output", first.to_str().unwrap()];
    let logs = [fixture("iter.txt"), fixture("bcast_rall.txt")];
    let done = import(&output, &logs);
    assert_eq!(done.code, Some(0), "{}", done.told);
    let read = |path: &Path| Run::read(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(read(&first).header.collective, "allreduce");
    let second = folder.path().join("run-2.jsonl");
    assert_eq!(read(&second).header.collective, "broadcast");
    let again = import(&output, &logs);
    assert_eq!(again.code, Some(3));
    assert!(again.told.contains("never overwritten"), "{}", again.told);
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let done = import(&[], &[PathBuf::from("/nonexistent/a.log")]);
    assert_eq!(done.code, Some(3));
    assert!(done.told.contains("/nonexistent/a.log"), "{}", done.told);
    for text in [&b""[..], b"\xff\xfe\x00", b"{", b"{\"version\":3}"] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let done = import(&[], &[file.path().to_owned()]);
        assert_eq!(done.code, Some(2), "{text:?}: {}", done.told);
    }
}
