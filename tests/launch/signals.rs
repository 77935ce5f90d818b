//! Signals: a run that is told to end keeps its rows and says that it was cut short, and by what.

use super::harness::{all_signalled, run_together, signal, start};
use super::trouble::{
    LONG, SOON, all_end, all_end_with, one_error, rows_are_kept, three, under_way,
};
use super::{by_hand, free_address, program};
use rustix::process::Signal;
use std::net::TcpStream;
use std::process::Command;

#[test]
fn a_signal_to_one_rank_ends_the_run_for_all_and_keeps_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.jsonl");
    let (running, pids) = under_way(three(&["--output", output.to_str().unwrap()]));
    signal(pids[1], Signal::TERM);
    let finished = all_end(running, SOON);
    all_end_with(&finished, 4);
    one_error(&finished);
    finished[0].expect_said("error: rank 1 (");
    finished[0].expect_said("): SIGTERM cut the run short");
    finished[0].expect_said("note: the run was cut short after ");
    rows_are_kept(&finished[0].stdout, &output, "\"interrupted\":true");
}

#[test]
fn a_signal_to_all_ranks_is_told_once() {
    for sent in [Signal::USR1, Signal::USR2] {
        let (running, pids) = under_way(three(&[]));
        for pid in pids {
            signal(pid, sent);
        }
        let finished = all_end(running, SOON);
        all_end_with(&finished, 4);
        one_error(&finished);
        let name = if sent == Signal::USR1 {
            "SIGUSR1"
        } else {
            "SIGUSR2"
        };
        finished[0].expect_said(&format!("{name} cut the run short"));
    }
}

/// The long run by `--spawn`, with a file.
fn spawned(output: &str) -> Command {
    let mut command = program(LONG);
    command.args(["--spawn", "3", "--output", output]);
    command
}

#[test]
fn a_signal_to_the_one_that_spawned_reaches_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.jsonl");
    let (running, _) = under_way(vec![spawned(output.to_str().unwrap())]);
    signal(running[0].pid(), Signal::TERM);
    let finished = all_end(running, SOON);
    all_end_with(&finished, 4);
    one_error(&finished);
    finished[0].expect_said("SIGTERM cut the run short");
    rows_are_kept(&finished[0].stdout, &output, "\"interrupted\":true");
}

/// A terminal tells parent and children alike, and the parent passes it on: they get it twice.
#[test]
fn a_signal_to_the_whole_group_is_one_signal() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.jsonl");
    let (running, _) = under_way(vec![spawned(output.to_str().unwrap())]);
    all_signalled(&running[0], Signal::INT);
    let finished = all_end(running, SOON);
    all_end_with(&finished, 4);
    one_error(&finished);
    finished[0].expect_said("SIGINT (Ctrl-C) cut the run short");
    rows_are_kept(&finished[0].stdout, &output, "\"interrupted\":true");
}

#[test]
fn a_signal_before_all_have_met_ends_the_process_at_once() {
    let address = free_address();
    let running = start(&mut by_hand(0, 3, &address, LONG));
    while TcpStream::connect(&address).is_err() {
        std::thread::yield_now();
    }
    signal(running.pid(), Signal::TERM);
    let finished = all_end(vec![running], SOON);
    all_end_with(&finished, 4);
    finished[0].expect_said("error: waiting for all processes to meet: SIGTERM cut the run short");
}

#[test]
fn a_run_that_nobody_interrupts_is_not_marked_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.jsonl");
    let mut command = program(super::SMALL);
    command.args(["--output", output.to_str().unwrap()]);
    let finished = run_together(vec![command], super::LIMIT);
    all_end_with(&finished, 0);
    let kept = std::fs::read_to_string(&output).unwrap();
    assert!(
        kept.lines()
            .last()
            .unwrap()
            .contains("\"interrupted\":false")
    );
}
