//! `ncclbench where`: one report of all processes, with and without GPUs, met and unmet.

use super::harness::{Finished, run, run_together, told_by_all};
use super::{LIMIT, by_hand, free_address, program, stand_ins};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What `--json` printed, which is one object.
pub(crate) fn report(finished: &Finished) -> Value {
    let text = &finished.stdout;
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {}", finished.told()))
}

/// The lines of what is odd, together.
fn odd(report: &Value) -> String {
    report["odd"].to_string()
}

fn on_stand_ins(args: &[&str]) -> Command {
    let library = stand_ins::library("libcuda.so.1");
    let mut command = program(args);
    command.env("LD_LIBRARY_PATH", Path::new(&library).parent().unwrap());
    command
}

fn without_a_driver(args: &[&str]) -> Command {
    let mut command = program(args);
    command.env("NCCLBENCH_CUDA", "/nowhere/libcuda.so.1");
    command
}

#[test]
fn where_is_one_report_of_all_processes_from_the_first() {
    let address = free_address();
    let commands = (0..3).map(|rank| {
        let mut command = by_hand(rank, 3, &address, &["where", "--json", "-g", "2"]);
        command.env("NCCLBENCH_CUDA", "/nowhere/libcuda.so.1");
        command
    });
    let finished = run_together(commands.collect(), LIMIT);
    for (index, one) in finished.iter().enumerate() {
        let told = told_by_all(&finished);
        assert_eq!(one.code(), Some(0), "{told}");
        assert_eq!(one.stdout.is_empty(), index != 0, "{told}");
    }
    let report = report(&finished[0]);
    assert_eq!(
        (&report["world"], &report["processes"]),
        (&6.into(), &3.into())
    );
    assert_eq!(report["rendezvous"], address.as_str());
    for (rank, one) in report["ranks"].as_array().unwrap().iter().enumerate() {
        assert_eq!(
            (&one["rank"], &one["local_rank"]),
            (&rank.into(), &rank.into())
        );
        assert_eq!(
            (&one["launcher"], &one["process"]),
            (&"flags".into(), &(rank / 2).into())
        );
        assert!(one["n_cpus"].as_u64() > Some(0));
    }
    let machine = &report["hosts"][0]["machine"];
    assert!(
        machine["interfaces"]["found"]
            .to_string()
            .contains("127.0.0.1")
    );
}

#[test]
fn where_without_a_driver_says_so_and_is_refused_only_for_a_backend_that_needs_one() {
    let finished = run(&mut without_a_driver(&["where"]), LIMIT).expect_code(0);
    assert!(
        finished.stdout.contains("no cuda driver: "),
        "{}",
        finished.told()
    );
    assert!(finished.stdout.contains("needs `--backend host`"));
    let mut command = without_a_driver(&["where", "--backend", "nccl", "--spawn", "3"]);
    let refused = run(&mut command, LIMIT).expect_code(3);
    assert!(
        refused.stdout.contains("a run would be refused: "),
        "{}",
        refused.told()
    );
}

#[test]
fn where_and_a_run_refuse_a_host_with_fewer_gpus_than_ranks_alike() {
    for args in [
        &["where", "--spawn", "3"][..],
        &["allreduce", "-b8", "-e8", "--spawn", "3"],
    ] {
        let mut command = on_stand_ins(args);
        command.env("STAND_IN_CUDA_DEVICES", "2");
        let told = run(&mut command, LIMIT).expect_code(3).told();
        assert!(told.contains(" has 2 visible GPUs for 3 ranks"), "{told}");
    }
}

/// The one GPU that a process is shown by a list of visible devices.
fn shown(list: &str) -> Value {
    let mut command = on_stand_ins(&["where", "--json"]);
    command.env("CUDA_VISIBLE_DEVICES", list);
    let report = report(&run(&mut command, LIMIT).expect_code(0));
    assert_eq!(report["ranks"][0]["visible_gpus"], 1, "{list}");
    report["ranks"][0]["gpu"].clone()
}

#[test]
fn a_gpu_is_the_same_by_index_by_uuid_and_by_the_uuids_start() {
    let by_index = shown("5");
    assert_eq!(
        (&by_index["ordinal"], &by_index["bus_id"]),
        (&0.into(), &"0000:1f:00".into())
    );
    let uuid = by_index["uuid"].as_str().unwrap();
    assert!(uuid.starts_with("GPU-"), "{uuid}");
    assert_eq!(shown(uuid), by_index);
    // the stand-ins' ids differ in the last place only, so that all of it is the shortest start
    let start = uuid.trim_end_matches('5');
    let mut command = on_stand_ins(&["where", "--json"]);
    command.env("CUDA_VISIBLE_DEVICES", start);
    let report = report(&run(&mut command, LIMIT).expect_code(0));
    assert_eq!(report["ranks"][0]["gpu"]["bus_id"], "0000:1a:00");
}

#[test]
fn two_slices_of_a_gpu_are_two_devices_with_ids_of_their_own() {
    let whole = shown("3");
    let id = whole["uuid"].as_str().unwrap().replace("GPU-", "MIG-");
    let slice = |n: &str| id.replacen("-0000-", &format!("-{n}00-"), 1);
    let list = [slice("81"), slice("82")].join(",");
    let mut command = on_stand_ins(&["where", "--json", "--spawn", "2"]);
    command.env("CUDA_VISIBLE_DEVICES", &list);
    let report = report(&run(&mut command, LIMIT).expect_code(0));
    for (rank, n) in ["81", "82"].iter().enumerate() {
        let gpu = &report["ranks"][rank]["gpu"];
        assert_eq!(gpu["uuid"], slice(n), "{gpu}");
        assert_eq!(gpu["bus_id"], whole["bus_id"]);
    }
    assert!(
        report["notes"].to_string().contains("MIG slices"),
        "{}",
        report["notes"]
    );
}

#[test]
fn a_gpu_that_two_processes_are_shown_is_refused_with_both_places() {
    let address = free_address();
    let commands = ["6,7", "7,6"].into_iter().enumerate().map(|(rank, list)| {
        let mut command = on_stand_ins(&["allreduce", "-b8", "-e8"]);
        command.args(["--rank", &rank.to_string(), "--world", "2"]);
        command.args(["--rendezvous", &address]);
        command.env("CUDA_VISIBLE_DEVICES", list);
        command
    });
    let finished = run_together(commands.collect(), LIMIT);
    assert!(
        finished.iter().all(|one| one.code() == Some(3)),
        "{}",
        told_by_all(&finished)
    );
    let places = finished[0].stderr.matches(", 0000:20:00)").count();
    assert_eq!(places, 2, "{}", finished[0].told());
    finished[0].expect_said("would share one GPU");
}

#[test]
fn a_process_that_meets_nobody_reports_on_itself_and_only_the_first_of_many_does() {
    for (rank, is_told) in [("0", true), ("1", false)] {
        let mut command = without_a_driver(&["where"]);
        command
            .env("PMIX_RANK", rank)
            .env("PMIX_NAMESPACE", "prterun-1");
        command.env("NCCLBENCH_PMIX", "/nowhere/libpmix.so");
        let finished = run(&mut command, LIMIT).expect_code(3);
        finished.expect_said("it would be a world of one");
        let told = finished.stdout.contains("this process alone");
        assert_eq!(told, is_told, "{}", finished.told());
    }
}

#[test]
fn where_in_a_batch_script_says_that_it_is_a_world_of_one() {
    let mut command = without_a_driver(&["where", "--json"]);
    command
        .env("SLURM_JOB_ID", "7")
        .env("SLURM_PROCID", "0")
        .env("SLURM_NTASKS", "5");
    let report = report(&run(&mut command, LIMIT).expect_code(0));
    assert!(
        odd(&report).contains("although `SLURM_NTASKS` is 5"),
        "{}",
        odd(&report)
    );
}

#[test]
fn variables_of_two_launchers_are_told_with_the_one_that_won() {
    let mut command = without_a_driver(&["where", "--json"]);
    command
        .env("SLURM_JOB_ID", "7")
        .env("SLURM_STEP_ID", "0")
        .env("SLURM_PROCID", "0");
    command.env("SLURM_STEP_NUM_TASKS", "1");
    for (name, value) in [
        ("RANK", "0"),
        ("WORLD_SIZE", "1"),
        ("MASTER_ADDR", "localhost"),
        ("MASTER_PORT", "29500"),
    ] {
        command.env(name, value);
    }
    let report = report(&run(&mut command, LIMIT).expect_code(0));
    let said = "variables of `slurm` are set too; `torchrun` was taken";
    assert!(odd(&report).contains(said), "{}", odd(&report));
}
