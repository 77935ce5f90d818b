//! Runs that go wrong: each ends soon, with the code for it, and says which rank it was.

use super::harness::{Finished, Running, run_together, signal, start, told_by_all};
use super::table::{line, seat};
use super::{LIMIT, SMALL, by_hand, free_address, program};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Enough iterations that the last sizes take for ever and the first ones do not.
pub(crate) const LONG: &[&str] = &[
    "allreduce",
    "--backend",
    "host",
    "-b",
    "8",
    "-e",
    "64M",
    "-n",
    "10000",
];

/// The deadline that the runs here are given, in seconds.
pub(crate) const DEADLINE: u64 = 4;

/// How long a run may take to end once something that a deadline bounds has gone wrong.
pub(crate) const BOUND: Duration = Duration::from_secs(2 * DEADLINE + 5);

/// How long it may take where nothing has to be waited for.
pub(crate) const SOON: Duration = Duration::from_secs(10);

fn each_is_refused(finished: &[Finished], code: i32, word: &str) {
    assert!(
        finished.iter().all(|one| one.code() == Some(code)),
        "{}",
        told_by_all(finished)
    );
    assert!(
        finished.iter().all(|one| !one.stdout.contains("#wrong")),
        "a refused run has no table: {}",
        told_by_all(finished)
    );
    assert!(
        finished.iter().any(|one| one.stderr.contains(word)),
        "nobody says `{word}`: {}",
        told_by_all(finished)
    );
    one_error(finished);
}

/// Fails unless one process, and only one, has said what is wrong, once.
pub(crate) fn one_error(finished: &[Finished]) {
    let lines = finished.iter().flat_map(|one| one.stderr.lines());
    let errors = lines.filter(|line| line.starts_with("error: ")).count();
    assert_eq!(errors, 1, "{}", told_by_all(finished));
}

/// Fails unless each ended with `code`.
pub(crate) fn all_end_with(finished: &[Finished], code: i32) {
    for one in finished {
        assert_eq!(one.code(), Some(code), "{}", told_by_all(finished));
    }
}

/// Waits for all, each within `bound`.
pub(crate) fn all_end(running: Vec<Running>, bound: Duration) -> Vec<Finished> {
    running.into_iter().map(|one| one.finish(bound)).collect()
}

/// Fails unless the file holds the rows of the lines that were shown, whole, and then a footer
/// that has `word`.
pub(crate) fn rows_are_kept(stdout: &str, output: &Path, word: &str) {
    let kept = fs::read_to_string(output).unwrap();
    let shown = stdout.lines().filter_map(line).count();
    let rows = kept
        .lines()
        .filter(|text| text.contains("\"outcome\":\"measured\""));
    let rows = rows.count();
    assert!(
        shown > 0 && rows >= 2 * shown,
        "{rows} rows kept of {shown} lines shown:\n{kept}"
    );
    let last = kept.lines().last().unwrap();
    assert!(
        last.contains("\"line\":\"footer\"") && last.contains(word),
        "{last}"
    );
    assert!(
        !stdout.contains("Out of bounds values"),
        "a run that was cut short has no end of the table:\n{stdout}"
    );
}

#[test]
fn ranks_with_other_plans_are_refused() {
    let address = free_address();
    let other = ["allreduce", "--backend", "host", "-b", "8", "-e", "2M"];
    let commands = [SMALL, SMALL, &other].into_iter().enumerate();
    let commands = commands.map(|(rank, args)| by_hand(rank, 3, &address, args));
    let finished = run_together(commands.collect(), LIMIT);
    each_is_refused(&finished, 4, "disagree");
}

#[test]
fn two_processes_with_the_same_rank_are_refused() {
    let address = free_address();
    let commands = [0, 1, 1].map(|rank| by_hand(rank, 3, &address, SMALL));
    let finished = run_together(commands.into(), LIMIT);
    each_is_refused(&finished, 3, "rank 1");
}

/// Starts the processes of a run that lasts; returns once a row is out, with the ranks' process ids.
pub(crate) fn under_way(mut commands: Vec<Command>) -> (Vec<Running>, Vec<i32>) {
    let mut running: Vec<Running> = commands.iter_mut().map(start).collect();
    let mut pids = Vec::new();
    running[0].wait_for("a row of the table", LIMIT, |text| {
        pids.extend(seat(text).map(|seat| seat.pid));
        line(text)
    });
    (running, pids)
}

/// Three processes on a run that lasts.
pub(crate) fn three(args: &[&str]) -> Vec<Command> {
    let address = free_address();
    let command = |rank| {
        let mut command = by_hand(rank, 3, &address, LONG);
        command.args(args);
        command
    };
    (0..3).map(command).collect()
}

#[test]
fn a_rank_that_is_killed_is_named_and_everybody_else_leaves() {
    let (running, pids) = under_way(three(&[]));
    signal(pids[1], Signal::KILL);
    let mut finished = all_end(running, SOON);
    let killed = finished.remove(1);
    assert_eq!(killed.code(), None, "{}", killed.told());
    all_end_with(&finished, 4);
    finished[0].expect_said("error: rank 1 (");
    finished[0].expect_said("left without a word");
    one_error(&finished);
}

#[test]
fn when_the_first_rank_is_killed_one_process_of_each_host_says_so() {
    let address = free_address();
    let command = |rank| {
        let mut command = by_hand(rank, 5, &address, LONG);
        command.args(["--host-label", ["a", "a", "b", "a", "b"][rank]]);
        command
    };
    let (running, pids) = under_way((0..5).map(command).collect());
    signal(pids[0], Signal::KILL);
    let finished = all_end(running, SOON);
    all_end_with(&finished[1..], 4);
    let said = |one: &Finished| one.stderr.contains("error: rank 0 (");
    let who: Vec<bool> = finished.iter().map(said).collect();
    let one_of_each = [false, true, true, false, false];
    assert_eq!(who, one_of_each, "{}", told_by_all(&finished));
}

#[test]
fn a_rank_that_never_starts_is_named_by_one_process() {
    let address = free_address();
    let commands = [0, 1, 3].map(|rank| {
        let mut command = by_hand(rank, 4, &address, SMALL);
        command.args(["--timeout-init", &DEADLINE.to_string()]);
        command
    });
    let finished = run_together(commands.into(), BOUND);
    all_end_with(&finished, 4);
    one_error(&finished);
    finished[0].expect_said("3 of 4 ranks met at ");
    finished[0].expect_said("missing: 2");
}

#[test]
fn a_rank_that_hangs_ends_the_run_is_named_and_costs_no_row_that_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.jsonl");
    let deadline = DEADLINE.to_string();
    let args = [
        "--timeout-op",
        &deadline,
        "--output",
        output.to_str().unwrap(),
    ];
    let (mut running, pids) = under_way(three(&args));
    signal(pids[2], Signal::STOP);
    let hung = running.remove(2);
    let finished = all_end(running, BOUND);
    drop(hung);
    all_end_with(&finished, 4);
    one_error(&finished);
    finished[0].expect_said("error: rank 2 (");
    finished[0].expect_said(&format!(
        "did not go on and gives no answer: process {} is stopped or hung",
        pids[2]
    ));
    finished[0].expect_said("ranks  host");
    rows_are_kept(&finished[0].stdout, &output, "did not go on");
}

#[test]
fn a_child_that_was_stopped_does_not_keep_the_one_that_spawned_it() {
    let mut command = program(LONG);
    command.args(["--spawn", "3", "--timeout-op", &DEADLINE.to_string()]);
    let (running, pids) = under_way(vec![command]);
    signal(pids[1], Signal::STOP);
    let finished = all_end(running, BOUND);
    all_end_with(&finished, 4);
    one_error(&finished);
    finished[0].expect_said("error: rank 1 (");
    finished[0].expect_said(&format!(
        "the process of `--rank 1` (pid {}) did not end by itself and was killed",
        pids[1]
    ));
}
