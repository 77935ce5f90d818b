//! Outputs that cannot be written: a fault of the output, for all processes, and no torn rows after it.

use super::harness::run_together;
use super::trouble::{SOON, all_end_with, one_error};
use super::{LIMIT, PROGRAM, SMALL, by_hand, clean, free_address};
use std::fs;
use std::process::Command;

/// Three processes by hand, of which the first is started by the shell's `script`. They move no
/// data, so that what the shell limits is felt by what is written alone.
fn first_by(script: &str, args: &[&str]) -> Vec<Command> {
    let address = free_address();
    let mut first = clean("bash");
    first.args(["-c", script, PROGRAM]).args(SMALL).args(args);
    first.args(["--rank", "0", "--world", "3", "--rendezvous", &address]);
    first.args(["--backend", "sim"]);
    let others = [1, 2].map(|rank| {
        let mut other = by_hand(rank, 3, &address, SMALL);
        other.args(["--backend", "sim"]);
        other
    });
    std::iter::once(first).chain(others).collect()
}

#[test]
fn a_full_disk_under_stdout_ends_all_with_3() {
    let finished = run_together(first_by("exec \"$0\" \"$@\" >/dev/full", &[]), SOON);
    all_end_with(&finished, 3);
    one_error(&finished);
    finished[0].expect_said("writing stdout: No space left on device");
}

#[test]
fn a_reader_of_stdout_that_leaves_ends_all_with_3() {
    let script = "\"$0\" \"$@\" | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}";
    let finished = run_together(first_by(script, &[]), LIMIT);
    all_end_with(&finished, 3);
    one_error(&finished);
    finished[0].expect_said("writing stdout: Broken pipe");
}

#[test]
fn a_file_that_may_not_grow_ends_all_with_3_and_keeps_the_rows_before() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.jsonl");
    let path = output.to_str().unwrap();
    let script = "ulimit -f 8; exec \"$0\" \"$@\"";
    let finished = run_together(first_by(script, &["--output", path]), LIMIT);
    all_end_with(&finished, 3);
    one_error(&finished);
    finished[0].expect_said(&format!("writing `{path}`: File too large"));
    let kept = fs::read_to_string(&output).unwrap();
    let whole = kept
        .lines()
        .filter(|line| line.starts_with("{\"line\":\"") && line.ends_with('}'));
    assert!(whole.count() >= kept.lines().count() - 1, "{kept}");
    assert!(
        !kept.contains("\"footer\""),
        "nothing follows a torn line: {kept}"
    );
}

#[test]
fn a_file_that_exists_is_refused_by_one_message_and_all_end_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.jsonl");
    fs::write(&output, "kept").unwrap();
    let args = ["--output", output.to_str().unwrap()];
    let finished = run_together(first_by("exec \"$0\" \"$@\"", &args), LIMIT);
    all_end_with(&finished, 3);
    one_error(&finished);
    finished[0].expect_said("results are never overwritten");
    assert_eq!(fs::read_to_string(&output).unwrap(), "kept");
}

/// What `ulimit` cannot show: the file system itself has no room left.
#[test]
#[ignore = "needs tests/all.sh"]
fn a_full_file_system_under_the_file_ends_all_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let script =
        format!("mount -t tmpfs -o size=8k none {path} && exec \"$@\" --output {path}/run.jsonl");
    let mut command = clean("unshare");
    command.args(["--mount", "bash", "-c", &script, "bash", PROGRAM]);
    let finished = run_together(
        vec![{
            command.args(SMALL).args(["--spawn", "3"]);
            command
        }],
        LIMIT,
    );
    all_end_with(&finished, 3);
    one_error(&finished);
    finished[0].expect_said("No space left on device");
}
