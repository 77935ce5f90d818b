//! Libraries that hang or fail, on the stand-ins: one report names the rank, its host and its GPU.

use super::harness::{Finished, run};
use super::trouble::{BOUND, DEADLINE, SOON, all_end_with, one_error};
use super::{program, stand_ins};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// Three processes on the stand-ins, steered by `variable`.
fn three_on_stand_ins(variable: (&str, &str)) -> Command {
    let library = stand_ins::library("libcuda.so.1");
    let mut command = program(&["allreduce", "--spawn", "3", "-b", "8", "-e", "64"]);
    command.env("LD_LIBRARY_PATH", Path::new(&library).parent().unwrap());
    command.env(variable.0, variable.1);
    // nobody listens there, whatever else runs on this machine
    command.env("NCCL_RAS_ADDR", "127.0.0.1:1");
    command
}

fn ends_with_4_and_one_error(command: &mut Command) -> Finished {
    let finished = run(command, BOUND);
    all_end_with(std::slice::from_ref(&finished), 4);
    one_error(std::slice::from_ref(&finished));
    finished
}

fn with_deadline(command: &mut Command, option: &str) {
    command.args([option, &DEADLINE.to_string()]);
}

#[test]
fn a_rank_whose_call_does_not_return_is_named_in_one_report_with_the_arrival_table() {
    let mut command = three_on_stand_ins(("STAND_IN_HANG", "2:30"));
    with_deadline(&mut command, "-T");
    let finished = ends_with_4_and_one_error(&mut command);
    finished.expect_said("error: rank 2 (");
    finished.expect_said(", gpu 2): did not go on while measuring 8 B in-place: 30 operations");
    finished.expect_said("ranks  host");
    let table: Vec<&str> = finished
        .stderr
        .lines()
        .skip_while(|line| !line.contains("doing"))
        .collect();
    assert!(table[1].trim_start().starts_with("2 "), "{table:?}");
    assert!(table[2].trim_start().starts_with("0, 1 "), "{table:?}");
    assert!(!finished.stderr.contains("also on"), "{}", finished.told());
}

#[test]
fn a_thread_whose_call_does_not_return_is_named_where_one_process_has_all_ranks() {
    let library = stand_ins::library("libcuda.so.1");
    let mut command = program(&["allreduce", "-t", "3", "-b", "8", "-e", "64"]);
    command.env("LD_LIBRARY_PATH", Path::new(&library).parent().unwrap());
    command.env("STAND_IN_HANG", "1:30");
    command.env("NCCL_RAS_ADDR", "127.0.0.1:1");
    with_deadline(&mut command, "-T");
    let finished = ends_with_4_and_one_error(&mut command);
    finished.expect_said("error: rank 1 (");
    finished.expect_said(", gpu 1): did not go on");
}

#[test]
fn an_operation_that_never_completes_on_any_rank_blames_nobody() {
    let mut command = three_on_stand_ins(("STAND_IN_HANG", "2:30:stream"));
    with_deadline(&mut command, "-T");
    let finished = ends_with_4_and_one_error(&mut command);
    finished.expect_said("all ranks stopped at the same place");
}

#[test]
fn an_initialisation_that_hangs_ends_at_its_deadline_with_all_ranks_in_the_table() {
    let mut command = three_on_stand_ins(("STAND_IN_INIT", "1:hang"));
    with_deadline(&mut command, "--timeout-init");
    let finished = ends_with_4_and_one_error(&mut command);
    finished.expect_said("ncclCommInitRankConfig has not come back within 4 s");
    finished.expect_said("opening the communicator");
}

#[test]
fn a_rank_whose_initialisation_fails_is_named_at_once_although_the_others_wait_inside_the_library()
{
    let mut command = three_on_stand_ins(("STAND_IN_INIT", "1:2"));
    let finished = run(&mut command, SOON);
    all_end_with(std::slice::from_ref(&finished), 3);
    one_error(std::slice::from_ref(&finished));
    finished.expect_said("error: rank 1 (");
    finished.expect_said(", gpu 1): opening a communicator of 3 ranks on backend `nccl`: ncclCommInitRankConfig failed");
}

#[test]
fn a_rank_whose_first_operation_fails_is_named_at_once_although_the_others_wait_for_it() {
    let mut command = three_on_stand_ins(("STAND_IN_ERROR", "1:1:2"));
    let finished = run(&mut command, SOON);
    all_end_with(std::slice::from_ref(&finished), 3);
    one_error(std::slice::from_ref(&finished));
    finished.expect_said("error: rank 1 (");
    finished.expect_said("ncclAllReduce failed");
}

/// A service that speaks NCCL's RAS protocol and says `status`; gives its address.
fn ras_service(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = BufReader::new(stream.try_clone().unwrap()).lines();
        while let Some(Ok(line)) = asked.next() {
            let answer = match line.split(' ').next().unwrap() {
                "CLIENT" => "SERVER PROTOCOL 2\n",
                "TIMEOUT" => "OK\n",
                _ => status,
            };
            stream.write_all(answer.as_bytes()).unwrap();
            if answer == status {
                return;
            }
        }
    });
    address
}

#[test]
fn what_nccls_own_service_says_of_a_hang_is_part_of_the_report() {
    let mut command = three_on_stand_ins(("STAND_IN_HANG", "2:30"));
    let address = ras_service("Job summary\n#0-2 (INCOMPLETE) rank 2 lags behind\n");
    command.env("NCCL_RAS_ADDR", &address);
    with_deadline(&mut command, "-T");
    let finished = ends_with_4_and_one_error(&mut command);
    finished.expect_said(&format!("NCCL's RAS service at {address} says:\n"));
    finished.expect_said("    #0-2 (INCOMPLETE) rank 2 lags behind\n");
}

#[test]
fn a_service_that_accepts_and_says_nothing_costs_no_deadline() {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = three_on_stand_ins(("STAND_IN_HANG", "2:30"));
    command.env("NCCL_RAS_ADDR", mute.local_addr().unwrap().to_string());
    with_deadline(&mut command, "-T");
    let finished = ends_with_4_and_one_error(&mut command);
    finished.expect_said("error: rank 2 (");
    assert!(!finished.stderr.contains("RAS"), "{}", finished.told());
}
