//! `ncclbench contrast`: arms in fresh processes, side by side.

use super::harness::{Finished, all_signalled, run, run_together, start, told_by_all};
use super::table::line;
use super::trouble::{SOON, all_end_with};
use super::{LIMIT, by_hand, free_address, program, stand_ins};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const LOG: &str =
    "x:1:1 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 4 nics)
x:1:1 [0] NCCL INFO Using network Libfabric
x:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0
x:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Libfabric/0/GDRDMA
";

const RUN: [&str; 7] = ["contrast", "allreduce", "-b", "8", "-e", "512", "-f=8"];

/// Makes NCCL a stand-in that says `LOG`.
fn on_stand_ins(command: &mut Command, folder: &Path) {
    let library = stand_ins::library("libcuda.so.1");
    fs::write(folder.join("log"), LOG).unwrap();
    command.env("LD_LIBRARY_PATH", Path::new(&library).parent().unwrap());
    command.env("STAND_IN_NCCL_LOG", folder.join("log"));
    command.env("NCCL_RAS_ADDR", "127.0.0.1:1");
    command.env("TMPDIR", folder);
}

/// Three processes of which each starts a child for each arm.
fn three(folder: &Path, options: &[&str]) -> Finished {
    let mut command = program(&RUN);
    command.args(["--spawn", "3"]).args(options);
    on_stand_ins(&mut command, folder);
    run(&mut command, LIMIT)
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.told()))
}

#[test]
fn without_arms_the_run_as_it_is_stands_beside_the_run_without_the_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let finished = three(folder.path(), &["--json"]).expect_code(0);
    let said = json(&finished);
    let arms: Vec<_> = said["arms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arm| {
            (
                arm["name"].as_str().unwrap(),
                arm["verdict"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(arms, [("as-is", "EFA"), ("tcp", "SOCKET")]);
    assert_eq!(said["arms"][1]["set"]["NCCL_NET_PLUGIN"], "none");
    let rows = said["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let ratio = row["time_us"][1].as_f64().unwrap() / row["time_us"][0].as_f64().unwrap();
        assert!((row["ratio"][1].as_f64().unwrap() - ratio).abs() < 1e-9);
        assert_eq!(row["ratio"][0].as_f64(), Some(1.0));
    }
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["log"], "what was not asked to be kept is removed");
}

#[test]
fn processes_started_by_hand_print_one_comparison_and_keep_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let save = folder.path().join("runs");
    let process = |rank| {
        let mut command = by_hand(rank, 3, &address, &RUN);
        command.args([
            "--arm",
            "ring=NCCL_ALGO=Ring",
            "--arm",
            "tree=NCCL_ALGO=Tree,-NCCL_PROTO",
        ]);
        command.args(["--rounds", "2", "--save"]).arg(&save);
        on_stand_ins(&mut command, folder.path());
        command.env("NCCL_PROTO", "LL");
        command
    };
    let finished = run_together((0..3).map(process).collect(), LIMIT);
    all_end_with(&finished, 0);
    let rows = finished[0]
        .stdout
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count();
    assert_eq!(rows, 6, "{}", told_by_all(&finished));
    assert!(finished[1].stdout.is_empty() && finished[2].stdout.is_empty());
    assert!(finished[0].stdout.contains("NCCL_ALGO=Tree -NCCL_PROTO"));
    let header = |name: &str| -> Value {
        let text = fs::read_to_string(save.join(name)).unwrap();
        serde_json::from_str(text.lines().next().unwrap()).unwrap()
    };
    for name in ["ring-1.jsonl", "ring-2.jsonl"] {
        let environment = header(name)["environment"].clone();
        assert_eq!(
            (&environment["NCCL_ALGO"], &environment["NCCL_PROTO"]),
            (&"Ring".into(), &"LL".into())
        );
    }
    let environment = header("tree-2.jsonl")["environment"].clone();
    assert_eq!(
        (&environment["NCCL_ALGO"], &environment["NCCL_PROTO"]),
        (&"Tree".into(), &Value::Null)
    );
}

#[test]
fn an_arm_that_cannot_run_ends_it_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let finished = three(folder.path(), &["--arm", "bad=STAND_IN_INIT=1:2"]).expect_code(3);
    finished.expect_said("error: arm `bad` ended with exit code 3");
    assert_eq!(finished.stdout, "", "{}", finished.told());
}

#[test]
fn wrong_data_in_one_arm_is_the_code_of_all_and_the_comparison_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let finished = three(
        folder.path(),
        &["--arm", "bad=STAND_IN_CORRUPT=1:*:0:3", "--json"],
    )
    .expect_code(5);
    assert_eq!(json(&finished)["rows"].as_array().unwrap().len(), 6);
}

#[test]
fn a_signal_ends_the_arm_and_the_contrast() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program(&RUN);
    command.args(["--spawn", "3", "-N", "0", "--json"]);
    on_stand_ins(&mut command, folder.path());
    command.env(
        "STAND_IN_WAIT",
        format!("0:60:{}", folder.path().join("never").display()),
    );
    let mut running = start(&mut command);
    running.wait_for_error("the arm's first row", LIMIT, |text| line(text).map(drop));
    all_signalled(&running, Signal::TERM);
    let finished = running.finish(SOON + LIMIT);
    assert_eq!(finished.code(), Some(4), "{}", finished.told());
}

#[test]
fn what_a_contrast_cannot_do_is_refused() {
    for (options, words) in [
        (vec!["--output", "x.jsonl"], "`--output` is for one run"),
        (vec!["--backend", "host"], "give `--arm` for `host`"),
        (vec!["--arm", "a=b"], "`b` is no variable"),
        (vec!["--arm", "a", "--arm", "a"], "two arms are called `a`"),
        (vec!["--rounds", "0"], "--rounds"),
        (
            vec!["--start", "env", "--spawn", "2"],
            "`--start` starts the processes",
        ),
    ] {
        let mut command = program(&RUN);
        let finished = run(command.args(options), LIMIT).expect_code(2);
        finished.expect_said(words);
    }
}

#[test]
fn arms_are_started_by_a_command_where_one_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program(&RUN);
    command.args([
        "--backend",
        "host",
        "-g",
        "3",
        "--start",
        "env A=1",
        "--arm",
        "a",
        "--arm",
        "b",
    ]);
    command.env("TMPDIR", folder.path());
    // in a batch script there is no step, and the arms have one of their own
    command.env("SLURM_JOB_ID", "7");
    let finished = run(&mut command, LIMIT).expect_code(0);
    assert_eq!(
        finished.stderr.matches("3 ranks in 1 process").count(),
        2,
        "{}",
        finished.told()
    );
    assert_eq!(
        finished
            .stdout
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count(),
        6
    );
    let mut command = program(&RUN);
    command.args([
        "--backend",
        "host",
        "--start",
        "/nowhere/mpirun",
        "--arm",
        "a",
        "--arm",
        "b",
    ]);
    let finished = run(&mut command, LIMIT).expect_code(3);
    finished.expect_said("cannot start a process of this program");
}
