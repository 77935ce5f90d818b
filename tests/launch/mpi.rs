//! Launches of a build with the feature `mpi`, under the MPI that it is linked to and under the other.
//!
//! `tests/all.sh` builds and runs them once for Open MPI and once for MPICH, and says by `MPICC`
//! which it was.

use super::cluster::{BOTH, PMI2, PMIX, VARIABLES, four_ranks, launch, mpich, open_mpi, slurm};
use super::harness::{Finished, run};
use super::table::Table;
use super::{LIMIT, clean, program, told};
use std::process::Command;

/// A run in which MPI makes the world and runs the collective. Its ranks poll, and there may be more
/// of them than processors: small sizes only.
const BY_MPI: &[&str] = &[
    "allreduce",
    "--launcher",
    "mpi",
    "--backend",
    "mpi",
    "-b",
    "8",
    "-e",
    "1K",
    "-n",
    "5",
];

fn is_mpich() -> bool {
    let compiler = told("MPICC").unwrap_or_default();
    compiler.to_string_lossy().contains("mpich")
}

/// Every way to start this build's MPI: on this machine, and over two nodes.
fn fitting() -> [(Command, Option<&'static [&'static str]>); 2] {
    if is_mpich() {
        [(mpich(), None), (slurm("srun", PMI2), BOTH)]
    } else {
        [(open_mpi(), None), (slurm("srun", PMIX), BOTH)]
    }
}

/// Launchers of the other family, under which every process is a world of one.
fn foreign() -> [Command; 2] {
    if is_mpich() {
        [open_mpi(), slurm("srun", PMIX)]
    } else {
        [mpich(), slurm("srun", PMI2)]
    }
}

fn with(args: &[&str], more: &[&str]) -> Vec<String> {
    args.iter().chain(more).map(|&arg| arg.to_owned()).collect()
}

fn four(finished: Finished, hosts: Option<&[&str]>) -> Table {
    let table = Table::read(&finished.expect_code(0).stdout);
    assert_eq!(table.seats.len(), 4);
    if let Some(hosts) = hosts {
        assert_eq!(table.hosts(), hosts);
    }
    table
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_makes_the_world_and_reduces_rightly() {
    for (command, hosts) in fitting() {
        let table = four(launch(command, BY_MPI), hosts);
        table.expect_right();
        assert_eq!(table.sizes().len(), 8);
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_exchanges_rightly_what_it_has_no_type_for() {
    for (command, hosts) in fitting() {
        let mut args = with(BY_MPI, &["-d", "bfloat16"]);
        args[0] = "alltoall".to_owned();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let table = four(launch(command, &args), hosts);
        assert!(
            table.lines.iter().all(|line| line.wrong[0] == "0"),
            "{:?}",
            table.lines
        );
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_gathers_scatters_and_broadcasts_rightly() {
    for collective in ["allgather", "reducescatter", "broadcast"] {
        let mut args = with(BY_MPI, &[]);
        args[0] = collective.to_owned();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let [(command, _), _] = fitting();
        let finished = launch(command, &args);
        assert_eq!(finished.code(), Some(0), "{}", finished.told());
        assert!(
            finished.stdout.contains("# Out of bounds values : 0 OK"),
            "{}",
            finished.told()
        );
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_waives_types_and_operators_that_it_does_not_have() {
    for option in [["-d", "half"], ["-o", "avg"]] {
        let args = with(BY_MPI, &option);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let [(command, _), _] = fitting();
        let finished = launch(command, &args);
        assert_ne!(finished.code(), Some(0), "{}", finished.told());
        finished.expect_said("MPI has no ");
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_as_launcher_alone_joins_the_host_backend() {
    for (command, hosts) in fitting() {
        four(
            launch(
                command,
                &[
                    "allreduce",
                    "--launcher",
                    "mpi",
                    "--backend",
                    "host",
                    "-b",
                    "8",
                    "-e",
                    "1K",
                ],
            ),
            hosts,
        )
        .expect_right();
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_as_backend_alone_joins_pmix_and_is_refused_a_line_that_is_taken() {
    for (command, hosts) in fitting() {
        let args = [
            "allreduce",
            "--backend",
            "mpi",
            "-b",
            "8",
            "-e",
            "1K",
            "-n",
            "5",
        ];
        let finished = launch(command, &args);
        if is_mpich() {
            assert_ne!(finished.code(), Some(0), "{}", finished.told());
            finished.expect_said("hint: give `--launcher mpi`");
        } else {
            four(finished, hosts).expect_right();
        }
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_carries_the_messages_of_a_pair_rightly() {
    let mut command = clean(if is_mpich() {
        "mpirun.mpich"
    } else {
        "mpirun.openmpi"
    });
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.args(["-n", "2"]);
    let args = [
        "pingpong",
        "--launcher",
        "mpi",
        "-n",
        "20",
        "-w",
        "2",
        "-e",
        "64K",
    ];
    let finished = launch(command, &args).expect_code(0);
    let rows = finished
        .stdout
        .lines()
        .filter(|line| !line.starts_with('#'));
    let rows: Vec<&str> = rows.filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(rows.len(), 17, "{}", finished.told());
    assert!(rows.iter().all(|row| row.ends_with(" 0")), "{rows:?}");
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_of_the_wrong_family_is_refused_and_not_four_worlds_of_one() {
    for command in foreign() {
        let finished = launch(command, BY_MPI);
        assert_ne!(finished.code(), Some(0), "{}", finished.told());
        assert!(!finished.stdout.contains("#wrong"), "{}", finished.told());
        finished.expect_said("this program is linked to");
    }
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_without_a_process_manager_is_refused_in_words_of_ours() {
    let finished = launch(slurm("srun", VARIABLES), BY_MPI);
    assert_ne!(finished.code(), Some(0), "{}", finished.told());
    finished.expect_said("no process manager speaks to MPI here");
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_started_by_nobody_is_a_world_of_one() {
    let finished = run(&mut program(BY_MPI), LIMIT).expect_code(0);
    assert_eq!(Table::read(&finished.stdout).seats.len(), 1);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_takes_one_rank_in_each_process() {
    let mut command = program(BY_MPI);
    let finished = run(command.args(["-g", "3"]), LIMIT);
    assert_ne!(finished.code(), Some(0), "{}", finished.told());
    finished.expect_said("`-t 1 -g 1`");
}

#[test]
#[ignore = "needs tests/all.sh"]
fn mpi_that_is_linked_and_not_used_does_no_harm() {
    let args = ["allreduce", "--backend", "host", "-b", "8", "-e", "1M"];
    four_ranks(launch(slurm("srun", VARIABLES), &args), BOTH);
}

#[test]
#[ignore = "needs tests/all.sh"]
fn a_contrast_has_the_launcher_start_each_arm() {
    let launcher = if is_mpich() { mpich() } else { open_mpi() };
    let words = std::iter::once(launcher.get_program()).chain(launcher.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let mut command = program(&["contrast"]);
    command.args(BY_MPI).args(["--start", &words.join(" ")]);
    let variables = launcher.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let finished = run(&mut command, 2 * LIMIT).expect_code(0);
    let said = "4 ranks in 4 processes on 1 host";
    assert_eq!(
        finished.stderr.matches(said).count(),
        2,
        "{}",
        finished.told()
    );
    let rows = finished
        .stdout
        .lines()
        .filter(|line| !line.starts_with('#'));
    assert_eq!(rows.count(), 16, "{}", finished.told());
}
