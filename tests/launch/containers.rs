//! Launches into containers, which share nothing but the network, and on GPUs that Slurm hands out.
//!
//! They need what `tests/all.sh` installs, builds and starts; it runs them with `--ignored`.

use super::cluster::{BOTH, PMIX, VARIABLES, four_ranks, launch_on_stand_ins, slurm};
use super::harness::{Finished, run};
use super::whereabouts::report;
use super::{LIMIT, PROGRAM, SMALL};
use std::path::Path;

/// Runs the program in one container for each process; see the script.
fn launch_in_containers(options: &[&str], args: &[&str]) -> Finished {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/container.sh");
    let mut command = slurm("srun", options);
    run(command.arg(script).arg(PROGRAM).args(args), LIMIT)
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_with_pmix_into_images_without_its_library_is_one_world_by_slurms_variables() {
    let finished = launch_in_containers(PMIX, SMALL);
    finished.expect_said("launcher slurm");
    finished.expect_said("note: PMIx is announced but was not used: cannot load PMIx");
    four_ranks(finished, BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_into_images_that_carry_settings_of_an_mpi_is_one_world() {
    let finished = launch_in_containers(VARIABLES, SMALL);
    finished.expect_said("launcher slurm");
    four_ranks(finished, BOTH);
}

/// The library is there, and registers with nobody.
#[test]
#[ignore = "needs tests/all.sh"]
fn srun_that_announces_pmix_without_a_server_is_one_world_by_slurms_variables() {
    let script = "PMIX_RANK=$SLURM_PROCID PMIX_NAMESPACE=slurm.pmix.9.9 exec \"$@\"";
    let mut command = slurm("srun", VARIABLES);
    command.env("OMPI_MCA_pml", "nonsense");
    command.env("OPAL_PREFIX", "/nowhere");
    command
        .args(["sh", "-c", script, "sh", PROGRAM])
        .args(SMALL);
    let finished = run(&mut command, LIMIT);
    finished.expect_said("launcher slurm");
    finished.expect_said("note: PMIx is announced but was not used: PMIx_Init failed");
    four_ranks(finished, BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_where_in_containers_tells_both_hosts_and_the_missing_library() {
    let finished = launch_in_containers(PMIX, &["where", "--json"]).expect_code(0);
    let report = report(&finished);
    assert_eq!(report["hosts"].as_array().unwrap().len(), 2);
    let libraries = report["hosts"][1]["libraries"].to_string();
    assert!(
        libraries.contains("libpmix.so.2: cannot open"),
        "{libraries}"
    );
    for rank in report["ranks"].as_array().unwrap() {
        assert_eq!(rank["launcher"], "slurm");
        assert_eq!(rank["also_announced"].to_string(), "[\"pmix\"]");
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_that_shows_each_task_one_gpu_gives_each_rank_its_own() {
    let options = [PMIX, &["--gpus-per-task=1"]].concat();
    let finished = launch_on_stand_ins(slurm("srun", &options));
    let seats: Vec<&str> = finished
        .stdout
        .lines()
        .filter(|line| line.contains(" Rank "))
        .filter_map(|line| line.split(" device ").nth(1))
        .collect();
    // each is device 0 of its own task, and another GPU of its node
    let gpus = ["0000:1a:00", "0000:1b:00", "0000:1a:00", "0000:1b:00"];
    for (seat, gpu) in seats.iter().zip(gpus) {
        assert!(seat.trim().starts_with(&format!("0 [{gpu}]")), "{seats:?}");
    }
    four_ranks(finished, BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_that_shows_all_gpus_of_a_node_gives_them_out_in_order() {
    let options = [VARIABLES, &["--gpus-per-node=4"]].concat();
    four_ranks(launch_on_stand_ins(slurm("srun", &options)), BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_with_more_tasks_than_gpus_on_a_node_names_the_node_before_nccl_starts() {
    let options = [
        "--mpi=pmix",
        "-N2",
        "--ntasks-per-node=5",
        "--gpus-per-node=4",
    ];
    let mut command = slurm("srun", &options);
    command.env("STAND_IN_INIT", "0:hang"); // what NCCL would do if it were asked
    let finished = launch_on_stand_ins(command).expect_code(3);
    finished.expect_said("node1 has 4 visible GPUs for 5 ranks");
    finished.expect_said("node2 has 4 visible GPUs for 5 ranks");
    assert!(!finished.stdout.contains("#wrong"), "{}", finished.told());
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_where_says_that_the_mask_is_not_what_was_asked_for() {
    let options = [VARIABLES, &["--cpus-per-task=3"]].concat();
    let mut command = slurm("srun", &options);
    let finished = run(command.args([PROGRAM, "where"]), LIMIT).expect_code(0);
    let said = "odd: ranks 0–3: `SLURM_CPUS_PER_TASK` is 3, but the mask has ";
    assert!(finished.stdout.contains(said), "{}", finished.told());
}
