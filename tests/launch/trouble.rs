//! Runs that go wrong: each ends soon, with the code for it, and says which rank it was.

use super::harness::{Finished, Running, run_together, signal, start, told_by_all};
use super::table::{line, seat};
use super::{LIMIT, SMALL, by_hand, free_address};
use rustix::process::Signal;
use std::fs;
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
const DEADLINE: u64 = 4;

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
fn three(args: &[&str]) -> Vec<Command> {
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
    let soon = Duration::from_secs(10);
    let mut finished: Vec<Finished> = running.into_iter().map(|one| one.finish(soon)).collect();
    let killed = finished.remove(1);
    assert_eq!(killed.code(), None, "{}", killed.told());
    for one in &finished {
        assert_eq!(one.code(), Some(4), "{}", told_by_all(&finished));
    }
    finished[0].expect_said("rank 1");
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
    let bound = Duration::from_secs(2 * DEADLINE + 5);
    let finished: Vec<Finished> = running.into_iter().map(|one| one.finish(bound)).collect();
    drop(hung);
    for one in &finished {
        assert_eq!(one.code(), Some(4), "{}", told_by_all(&finished));
    }
    finished[0].expect_said("rank 2");
    let shown = finished[0].stdout.lines().filter_map(line).count();
    let kept = fs::read_to_string(&output).unwrap();
    let rows = kept
        .lines()
        .filter(|text| text.contains("\"outcome\":\"measured\""))
        .count();
    assert!(
        shown > 0 && rows >= 2 * shown,
        "{rows} rows kept of {shown} lines shown:\n{kept}"
    );
}
