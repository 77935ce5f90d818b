//! Odd wishes and odd surroundings: what a hostile first user tries, and what happened once.

use super::harness::{Finished, run, run_together};
use super::table::Table;
use super::{LIMIT, SMALL, by_hand, free_address, program, stand_ins};
use ncclbench::record::Run;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A small run on the stand-ins.
const ON_STAND_INS: &[&str] = &["allreduce", "-b", "8", "-e", "1K", "-n", "2"];

/// The program on the stand-ins, told to meet a fault.
fn faulty(variable: &str, value: &str, args: &[&str]) -> Command {
    let mut command = program(ON_STAND_INS);
    command.args(args);
    command.env("NCCLBENCH_CUDA", stand_ins::library("libcuda.so.1"));
    command.env("NCCLBENCH_NCCL", stand_ins::library("libnccl.so.2"));
    command.env("STAND_IN_NCCL_ADDR", "127.0.0.1");
    command.env(variable, value);
    command
}

fn usage(args: &[&str], words: &str) {
    let finished = run(&mut program(args), LIMIT).expect_code(2);
    finished.expect_said(words);
    assert!(finished.stdout.is_empty(), "{}", finished.told());
}

fn read(file: &Path) -> Run {
    Run::read(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn more_ranks_than_anybody_has_are_refused_and_neither_waited_for_nor_counted_round() {
    for (args, words) in [
        (["-g", "4096", "-t", "4096"], "16777216 ranks for each"),
        (["-g", "4096", "--spawn", "4096"], "at most 1048576"),
    ] {
        for more in ["--dry-run", "--allow-shared-gpu"] {
            usage(
                &[&["allreduce", "--backend", "sim"], &args[..], &[more]].concat(),
                words,
            );
        }
    }
    usage(
        &["where", "-g", "4096", "-t", "4096"],
        "16777216 ranks for each",
    );
    let far = [
        "--rank",
        "0",
        "--rendezvous",
        "127.0.0.1:1",
        "--world",
        "2147483647",
    ];
    usage(&[SMALL, &far].concat(), "from 1 to 1048576");
}

#[test]
fn a_file_that_cannot_take_more_is_told_of_once_and_the_table_stays_right() {
    // a file of a pipe's other end that is closed stands for a full disk: both refuse the write
    let mut command = Command::new("sh");
    command
        .args(["-c", "\"$0\" \"$@\" | head -n 1"])
        .arg(super::PROGRAM);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    command.args(SMALL).args(["-g", "3", "--output"]).arg(&file);
    let finished = run(&mut command, LIMIT);
    assert_eq!(
        finished.stderr.matches("Broken pipe").count(),
        1,
        "{}",
        finished.told()
    );
    let kept = read(&file);
    let footer = kept.footer.unwrap();
    assert_eq!(footer.exit_code, 3);
    assert!(footer.fault.unwrap().contains("stdout"));
}

#[test]
fn a_rank_whose_first_operation_fails_is_the_cause_that_all_are_told_and_nobody_waits() {
    for shape in [["--spawn", "3"], ["-t", "3"], ["-g", "3"]] {
        for call in ["1", "6"] {
            let mut command = faulty("STAND_IN_ERROR", &format!("1:{call}:5"), &shape);
            let finished = run(command.args(["-w", "0"]), LIMIT).expect_code(3);
            finished.expect_said("rank 1 (");
            finished.expect_said("(ncclInvalidUsage, 5)");
        }
    }
}

#[test]
fn a_rank_whose_initialisation_fails_is_the_cause_that_all_are_told_and_nobody_waits() {
    for shape in [["--spawn", "3"], ["-t", "3"]] {
        let finished = run(&mut faulty("STAND_IN_INIT", "2:5", &shape), LIMIT).expect_code(3);
        finished.expect_said("rank 2 (");
        finished.expect_said("(ncclInvalidUsage, 5)");
    }
}

#[test]
fn a_call_that_hangs_where_all_have_issued_one_operation_is_named_too() {
    for shape in [["--spawn", "3"], ["-t", "3"]] {
        let mut command = faulty("STAND_IN_HANG", "1:2", &shape);
        command
            .env("NCCL_RAS_ADDR", "127.0.0.1:1")
            .args(["-T", "2"]);
        let finished = run(&mut command, LIMIT).expect_code(4);
        finished.expect_said("error: rank 1 (");
        finished.expect_said(", gpu 1): did not go on while warming up 16 B out-of-place");
    }
}

#[test]
fn a_variable_that_is_empty_names_no_library() {
    for variable in ["NCCLBENCH_NCCL", "NCCLBENCH_CUDA"] {
        let finished = run(&mut faulty(variable, "", &[]), LIMIT).expect_code(3);
        finished.expect_said("the name is empty");
    }
}

#[test]
fn a_first_device_beyond_the_last_is_refused() {
    for first in ["8", "4294967295"] {
        let finished = run(&mut faulty("NCCL_TESTS_DEVICE", first, &["-g", "2"]), LIMIT);
        finished.expect_code(2).expect_said("expected 0 to 7");
    }
}

#[test]
fn a_program_that_spawns_within_a_launch_of_many_is_refused_and_makes_no_worlds() {
    for (index, size) in [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"),
    ] {
        let mut command = program(SMALL);
        command
            .args(["--spawn", "3"])
            .env(index, "0")
            .env(size, "5");
        let finished = run(&mut command, LIMIT).expect_code(3);
        finished.expect_said("would make 5 separate worlds");
        assert!(finished.stdout.is_empty(), "{}", finished.told());
        run(command.env(size, "1"), LIMIT).expect_code(0);
    }
}

fn seed_of(args: &[&str]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let mut command = program(&[SMALL, args].concat());
    let finished = run(command.arg("--output").arg(&file), LIMIT).expect_code(0);
    let seed = read(&file).header.seed.unwrap();
    finished.expect_said(&format!("; seed {seed};"));
    seed
}

#[test]
fn two_runs_have_other_data_and_a_seed_that_is_given_is_kept() {
    let drawn = [
        seed_of(&["--spawn", "3"]),
        seed_of(&["-g", "3"]),
        seed_of(&["-g", "3"]),
    ];
    assert!(drawn[0] != drawn[1] || drawn[1] != drawn[2], "{drawn:?}");
    assert_eq!(
        seed_of(&["--spawn", "3", "--seed", "18446744073709551615"]),
        u64::MAX
    );
}

#[test]
fn processes_that_were_given_other_seeds_are_refused() {
    let address = free_address();
    let commands = (0..3).map(|rank| {
        let mut command = by_hand(rank, 3, &address, SMALL);
        if rank == 2 {
            command.args(["--seed", "7"]);
        }
        command
    });
    let finished: Vec<Finished> = run_together(commands.collect(), LIMIT);
    assert!(finished.iter().all(|one| one.code() == Some(4)));
    finished[0].expect_said("disagree on `--seed`: process 0 has none, process 2 has 7");
}

#[test]
fn nothing_of_ours_is_on_stdout_but_what_must_not_be_overlooked() {
    let finished = run(
        &mut faulty("STAND_IN_SLOW", "0:1", &["-g", "3", "-c", "0"]),
        LIMIT,
    );
    let finished = finished.expect_code(0);
    let ours: Vec<_> = finished
        .stdout
        .lines()
        .filter(|line| line.contains("ncclbench:"))
        .collect();
    assert_eq!(
        ours,
        ["# ncclbench: a stand-in library took part; this is a test of the program"]
    );
    finished.expect_said("note: results are not checked (`-c 0`)");
    let host = run(program(SMALL).args(["-g", "3"]), LIMIT).expect_code(0);
    assert!(!host.stdout.contains("ncclbench"), "{}", host.told());
}

#[test]
fn every_cycle_of_a_sweep_has_its_rows() {
    let mut command = program(SMALL);
    let finished = run(
        command.args(["-N", "3", "-w", "0", "-z", "1", "-t", "3"]),
        LIMIT,
    );
    let sizes = Table::read(&finished.expect_code(0).stdout).sizes();
    assert_eq!(sizes, super::small_sizes().repeat(3));
}
