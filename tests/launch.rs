//! Launches of the whole program, really started: whoever starts it, however many processes, there
//! is one table or one refusal.
//!
//! What a launcher or a cluster must be installed for is in `launch/cluster.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "launch/cluster.rs"]
mod cluster;
#[path = "launch/containers.rs"]
mod containers;
#[path = "launch/contrast.rs"]
mod contrast;
#[path = "launch/doctor.rs"]
mod doctor;
#[path = "launch/fabric.rs"]
mod fabric;
#[path = "launch/flood.rs"]
mod flood;
#[path = "launch/hangs.rs"]
mod hangs;
#[path = "launch/harness.rs"]
mod harness;
#[cfg(feature = "mpi")]
#[path = "launch/mpi.rs"]
mod mpi;
#[path = "launch/nccl_debug.rs"]
mod nccl_debug;
#[path = "launch/odd.rs"]
mod odd;
#[path = "launch/outputs.rs"]
mod outputs;
#[path = "launch/path.rs"]
mod path;
#[path = "launch/path_run.rs"]
mod path_run;
#[path = "launch/signals.rs"]
mod signals;
#[path = "common/stand_ins.rs"]
mod stand_ins;
#[path = "launch/table.rs"]
mod table;
#[path = "launch/trouble.rs"]
mod trouble;
#[path = "launch/whereabouts.rs"]
mod whereabouts;

use harness::{Finished, run, run_together, told_by_all};
use std::ffi::OsString;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;
use table::Table;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ncclbench");

/// A whole small run takes about a second; a crowded machine gets a minute.
const LIMIT: Duration = Duration::from_mins(1);

/// The small run of most tests.
const SMALL: &[&str] = &["allreduce", "--backend", "host", "-b", "8", "-e", "1M"];

/// Sizes of [`SMALL`]: 8 bytes to 1 MiB by twos.
fn small_sizes() -> Vec<u64> {
    (3..=20).map(|power| 1 << power).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "what this test was told by whoever started it: search path and cluster"
)]
fn told(variable: &str) -> Option<OsString> {
    std::env::var_os(variable)
}

/// A command without this test's own environment, which may itself come from a launcher.
fn clean(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command.env("PATH", told("PATH").unwrap_or_default());
    command
}

/// The program, with no launcher's variables.
fn program(args: &[&str]) -> Command {
    let mut command = clean(PROGRAM);
    command.args(args);
    command
}

/// An address of this machine where nobody listens now.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// The program, started by hand as one of several.
fn by_hand(rank: usize, world: usize, address: &str, args: &[&str]) -> Command {
    let mut command = program(args);
    command.args(["--rank", &rank.to_string(), "--world", &world.to_string()]);
    command.args(["--rendezvous", address]);
    command
}

/// Fails unless all are well, the first shows the one table and the others say nothing.
fn one_table(finished: &[Finished]) -> Table {
    for (index, one) in finished.iter().enumerate() {
        assert_eq!(one.code(), Some(0), "{}", told_by_all(finished));
        assert!(
            index == 0 || one.stdout.is_empty(),
            "{}",
            told_by_all(finished)
        );
    }
    let table = Table::read(&finished[0].stdout);
    table.expect_right();
    table
}

#[test]
fn one_process_with_three_ranks_needs_no_launcher() {
    let mut command = program(SMALL);
    let finished = run(command.args(["-g", "3"]), LIMIT);
    let table = one_table(&[finished]);
    assert_eq!((table.seats.len(), table.sizes()), (3, small_sizes()));
}

#[test]
fn a_program_that_spawns_three_of_itself_shows_one_table_of_three_processes() {
    let mut command = program(SMALL);
    let finished = run(command.args(["--spawn", "3"]), LIMIT);
    let table = one_table(&[finished]);
    let mut pids: Vec<i32> = table.seats.iter().map(|seat| seat.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!((pids.len(), table.sizes()), (3, small_sizes()));
}

#[test]
fn five_processes_started_by_hand_meet_in_whatever_order_they_come() {
    let address = free_address();
    let commands = [3, 1, 4, 0, 2].map(|rank| by_hand(rank, 5, &address, SMALL));
    let mut finished = run_together(commands.into(), LIMIT);
    finished.swap(0, 3);
    let table = one_table(&finished);
    let ranks: Vec<u32> = table.seats.iter().map(|seat| seat.rank).collect();
    assert_eq!(ranks, [0, 1, 2, 3, 4]);
}

#[test]
fn an_all_to_all_over_three_processes_of_two_ranks_is_right_out_of_place() {
    let mut command = program(&["alltoall", "--backend", "host", "-b", "1K", "-e", "64K"]);
    let finished = run(command.args(["--spawn", "3", "-g", "2"]), LIMIT).expect_code(0);
    let table = Table::read(&finished.stdout);
    assert_eq!(table.seats.len(), 6);
    for line in &table.lines {
        assert_eq!(line.wrong, ["0", "N/A"], "{line:?}");
    }
}

#[test]
fn variables_of_torchrun_make_one_world() {
    let address = free_address();
    let (host, port) = address.split_once(':').unwrap();
    let commands = (0..3).map(|rank: u32| {
        let mut command = program(SMALL);
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", "3");
        command
            .env("LOCAL_RANK", rank.to_string())
            .env("LOCAL_WORLD_SIZE", "3");
        command.env("MASTER_ADDR", host).env("MASTER_PORT", port);
        command
    });
    let finished = run_together(commands.collect(), LIMIT);
    assert_eq!(one_table(&finished).seats.len(), 3);
}

#[test]
fn three_processes_meet_in_a_folder_whatever_an_earlier_run_has_left_there() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("file://{}", folder.path().display());
    let old = "0".repeat(64);
    for (name, text) in [
        ("ncclbench-hello-1", old.as_str()),
        ("ncclbench-hello-2", "half a wo"),
        (&format!("ncclbench-reply-{old}"), "{}"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let commands = [1, 0, 2].map(|rank| by_hand(rank, 3, &place, SMALL));
    let mut finished = run_together(commands.into(), LIMIT);
    finished.swap(0, 1);
    assert_eq!(one_table(&finished).seats.len(), 3);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn variables_of_an_indexed_job_make_one_world() {
    let address = free_address();
    let commands = (0..3).map(|index: u32| {
        let mut command = program(SMALL);
        command.env("JOB_COMPLETION_INDEX", index.to_string());
        command.env("NCCLBENCH_WORLD", "3");
        command.env("NCCLBENCH_RENDEZVOUS", &address);
        command
    });
    let finished = run_together(commands.collect(), LIMIT);
    assert_eq!(one_table(&finished).seats.len(), 3);
}

#[test]
fn a_pod_whose_job_does_not_say_how_many_there_are_is_told_so() {
    let mut command = program(SMALL);
    command.env("JOB_COMPLETION_INDEX", "0");
    let finished = run(&mut command, LIMIT).expect_code(3);
    finished.expect_said("NCCLBENCH_WORLD");
}

#[cfg(not(feature = "mpi"))]
#[test]
fn the_program_is_linked_to_the_systems_own_libraries_only() {
    let finished = run(clean("ldd").arg(PROGRAM), LIMIT).expect_code(0);
    let own = [
        "linux-vdso",
        "libc.",
        "libm.",
        "libgcc_s.",
        "/lib64/ld-linux",
        "/lib/ld-linux",
    ];
    let foreign = |line: &&str| !own.iter().any(|name| line.trim().starts_with(name));
    let foreign: Vec<&str> = finished.stdout.lines().filter(foreign).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[test]
fn a_batch_script_outside_a_step_is_alone() {
    let mut command = program(SMALL);
    command.env("SLURM_JOB_ID", "7").env("SLURM_PROCID", "0");
    command.env("SLURM_NTASKS", "4").env("SLURM_LOCALID", "0");
    let finished = run(&mut command, LIMIT);
    finished.expect_said("note: this is a world of one although the allocation has 4 tasks");
    assert_eq!(one_table(&[finished]).seats.len(), 1);
}
