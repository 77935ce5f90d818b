//! Launches by real launchers: Slurm with and without PMIx, Open MPI, MPICH; and the same over the
//! stand-in libraries.
//!
//! They need what `tests/all.sh` installs, builds and starts; it runs them with `--ignored`.

use super::harness::{Finished, run, signal};
use super::table::Table;
use super::trouble::{BOUND, DEADLINE, LONG, one_error, rows_are_kept, under_way};
use super::{LIMIT, PROGRAM, SMALL, clean, one_table, small_sizes, stand_ins, told};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The small run on the stand-ins: a library like NCCL over a driver that has no GPU.
const ON_STAND_INS: &[&str] = &["allreduce", "--backend", "nccl", "-b", "8", "-e", "1M"];

/// `srun`, pointed at the tests' cluster, with an allocation's worth of options before the program.
pub(crate) fn slurm(program: &str, options: &[&str]) -> Command {
    let mut command = clean(program);
    let cluster = told("SLURM_CONF").expect("`SLURM_CONF` names a cluster: run tests/all.sh");
    command.env("SLURM_CONF", cluster);
    command.args(options);
    command
}

pub(crate) fn open_mpi() -> Command {
    let mut command = clean("mpirun.openmpi");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.args(["-n", "4", "--oversubscribe"]);
    command
}

/// MPICH's process manager; the program is linked to no MPI.
pub(crate) fn mpich() -> Command {
    let mut command = clean("mpirun.mpich");
    command.args(["-n", "4"]);
    command
}

/// Runs the program under a launcher's command line.
pub(crate) fn launch(mut launcher: Command, args: &[&str]) -> Finished {
    run(launcher.arg(PROGRAM).args(args), LIMIT)
}

/// The same, with the libraries that a test built for itself.
pub(crate) fn launch_on_stand_ins(mut launcher: Command) -> Finished {
    let library = stand_ins::library("libcuda.so.1");
    launcher.env("LD_LIBRARY_PATH", Path::new(&library).parent().unwrap());
    launch(launcher, ON_STAND_INS)
}

/// Fails unless there is one good table of four ranks on `hosts`.
pub(crate) fn four_ranks(finished: Finished, hosts: Option<&[&str]>) -> Table {
    let table = one_table(&[finished]);
    assert_eq!((table.seats.len(), table.sizes()), (4, small_sizes()));
    if let Some(hosts) = hosts {
        assert_eq!(table.hosts(), hosts);
    }
    table
}

pub(crate) const BOTH: Option<&[&str]> = Some(&["node1", "node2"]);
pub(crate) const PMIX: &[&str] = &["--mpi=pmix", "-N2", "--ntasks-per-node=2"];
pub(crate) const PMI2: &[&str] = &["--mpi=pmi2", "-N2", "--ntasks-per-node=2"];
pub(crate) const VARIABLES: &[&str] = &["--mpi=none", "-N2", "--ntasks-per-node=2"];

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_with_pmix_over_two_nodes_is_one_world() {
    let finished = launch(slurm("srun", PMIX), SMALL);
    four_ranks(finished, BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_without_any_process_manager_over_two_nodes_is_one_world() {
    let finished = launch(slurm("srun", VARIABLES), SMALL);
    four_ranks(finished, BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_that_places_three_ranks_on_one_node_and_one_on_the_other_is_one_world() {
    let uneven = ["--mpi=pmix", "-N2", "-n4", "--distribution=plane=3"];
    four_ranks(launch(slurm("srun", &uneven), SMALL), BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpirun_of_open_mpi_is_one_world() {
    four_ranks(launch(open_mpi(), SMALL), None);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpirun_inside_an_allocation_believes_open_mpi_and_not_slurm() {
    let mut command = slurm("salloc", &["-N2", "--ntasks-per-node=2"]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.args(["mpirun.openmpi", "-n", "4"]);
    four_ranks(launch(command, SMALL), BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpiexec_of_mpich_is_one_world_and_not_four_worlds_of_one() {
    four_ranks(launch(mpich(), SMALL), None);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpiexec_of_mpich_in_an_allocation_believes_mpich_and_not_slurm() {
    let mut command = slurm("salloc", &["-N2", "--ntasks-per-node=2"]);
    // the nodes do not know this machine by its name
    command.args(["mpirun.mpich", "-localhost", "127.0.0.1"]);
    command.args(["-n", "4", "-ppn", "2"]);
    four_ranks(launch(command, SMALL), BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_with_pmi2_over_two_nodes_is_one_world() {
    four_ranks(launch(slurm("srun", PMI2), SMALL), BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_meets_in_a_shared_folder_where_a_flag_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("file://{}", folder.path().display());
    let args = [SMALL, &["--rendezvous", &place]].concat();
    for launcher in [VARIABLES, PMI2, PMIX] {
        four_ranks(launch(slurm("srun", launcher), &args), BOTH);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
#[ignore = "needs tests/all.sh"]
fn sbatch_runs_a_step_that_is_one_world() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let mut command = slurm("sbatch", &["--wait", "-N2", "--ntasks-per-node=2"]);
    command.arg("--output").arg(&output);
    command.args(["--error", "/dev/null", "--wrap"]);
    command.arg(format!("srun --mpi=pmi2 {PROGRAM} {}", SMALL.join(" ")));
    run(&mut command, LIMIT).expect_code(0);
    let table = Table::read(&fs::read_to_string(&output).unwrap());
    table.expect_right();
    assert_eq!((table.seats.len(), table.hosts().len()), (4, 2));
}

#[test]
#[ignore = "needs tests/all.sh"]
fn a_fault_over_pmi_1_is_told_once_and_ends_all_processes() {
    for command in [mpich(), slurm("srun", PMI2)] {
        let finished = launch(command, &["allreduce", "--backend", "nccl"]);
        assert_ne!(finished.code(), Some(0), "{}", finished.told());
        let said = finished.stderr.matches("error: rank").count();
        assert_eq!(said, 1, "{}", finished.told());
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn a_killed_process_of_mpiexec_ends_the_others() {
    let mut command = mpich();
    command.arg(PROGRAM).args(LONG);
    let (running, pids) = under_way(vec![command]);
    signal(pids[2], Signal::KILL);
    for one in running {
        let finished = one.finish(Duration::from_secs(20));
        assert_ne!(finished.code(), Some(0), "{}", finished.told());
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn a_killed_task_of_a_step_is_named_and_the_step_ends() {
    let mut command = slurm("srun", PMIX);
    command.arg(PROGRAM).args(LONG);
    let (running, pids) = under_way(vec![command]);
    signal(pids[2], Signal::KILL);
    for one in running {
        let finished = one.finish(Duration::from_secs(20));
        assert_ne!(finished.code(), Some(0), "{}", finished.told());
        finished.expect_said("rank 2");
    }
}

/// A long run of a step of four tasks that one task's death or stop must end; gives what it left.
fn step_with(options: &[&str], args: &[&str], sent: Signal) -> Finished {
    let mut command = slurm("srun", options);
    command.arg(PROGRAM).args(LONG).args(args);
    let (mut running, pids) = under_way(vec![command]);
    signal(pids[2], sent);
    running.remove(0).finish(BOUND)
}

#[test]
#[ignore = "needs tests/all.sh"]
fn a_stopped_task_of_a_pmix_step_is_named_and_the_step_is_ended_by_its_server() {
    let deadline = DEADLINE.to_string();
    let finished = step_with(PMIX, &["--timeout-op", &deadline], Signal::STOP);
    assert_ne!(finished.code(), Some(0), "{}", finished.told());
    finished.expect_said("error: rank 2 (node2): did not go on and gives no answer");
}

#[test]
#[ignore = "needs tests/all.sh"]
fn a_killed_task_of_a_step_without_a_process_manager_is_named_and_the_others_leave_with_4() {
    let finished = step_with(VARIABLES, &[], Signal::KILL);
    assert_ne!(finished.code(), Some(0), "{}", finished.told());
    finished.expect_said("error: rank 2 (node2, pid ");
    for task in [0, 1, 3] {
        let left =
            |line: &str| line.contains(&format!("task {task}:")) || line.contains("tasks 0-1:");
        let four = |line: &&str| line.contains("Exited with exit code 4") && left(line);
        assert!(
            finished.stderr.lines().any(|line| four(&line)),
            "{}",
            finished.told()
        );
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn a_killed_process_of_mpirun_is_named_and_mpirun_ends() {
    let mut command = open_mpi();
    command.arg(PROGRAM).args(LONG);
    let (mut running, pids) = under_way(vec![command]);
    signal(pids[2], Signal::KILL);
    let finished = running.remove(0).finish(BOUND);
    assert_ne!(finished.code(), Some(0), "{}", finished.told());
    finished.expect_said("rank 2");
}

/// What `srun --signal` sends before the time limit, without waiting for one.
#[test]
#[ignore = "needs tests/all.sh"]
fn a_signal_from_slurm_to_a_step_ends_it_with_4_and_keeps_the_rows() {
    for options in [PMIX, VARIABLES] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let output = folder.path().join("run.jsonl");
        let name = output.to_str().unwrap();
        let mut command = slurm("srun", options);
        command.args(["--job-name", name, PROGRAM]).args(LONG);
        command.args(["--output", name]);
        let (mut running, _) = under_way(vec![command]);
        run(
            &mut slurm("scancel", &["--signal=USR1", "--name", name]),
            LIMIT,
        )
        .expect_code(0);
        let finished = running.remove(0).finish(BOUND).expect_code(4);
        one_error(std::slice::from_ref(&finished));
        finished.expect_said("error: SIGUSR1 cut the run short\n  on all ranks");
        rows_are_kept(&finished.stdout, &output, "\"interrupted\":true");
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_with_pmix_runs_the_nccl_backend_on_the_stand_ins() {
    four_ranks(launch_on_stand_ins(slurm("srun", PMIX)), BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_with_variables_alone_runs_the_nccl_backend_on_the_stand_ins() {
    four_ranks(launch_on_stand_ins(slurm("srun", VARIABLES)), BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpirun_of_open_mpi_runs_the_nccl_backend_on_the_stand_ins() {
    four_ranks(launch_on_stand_ins(open_mpi()), None);
}
