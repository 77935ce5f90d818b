//! Libfabric's own ping-pong between two processes: of one machine, and of two nodes with addresses
//! of their own. It needs what `tests/all.sh` installs.

use super::cluster::{launch, slurm};
use super::harness::{Finished, run};
use super::{LIMIT, program};

/// Fails unless there is one good row.
fn one_row(finished: &Finished, size: &str) {
    assert_eq!(finished.code(), Some(0), "{}", finished.told());
    let rows = finished
        .stdout
        .lines()
        .filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
    let [row] = &rows[..] else {
        panic!("{}", finished.told());
    };
    assert_eq!((row[0], row[1]), (size, "20"), "{}", finished.told());
    assert!(row[2].parse::<f64>().unwrap() > 0.0, "{}", finished.told());
}

const ONE_SIZE: &[&str] = &[
    "pingpong",
    "--provider",
    "tcp",
    "-b",
    "4K",
    "-e",
    "4K",
    "-n",
    "20",
];

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_drives_libfabrics_program_between_two_nodes() {
    let finished = launch(slurm("srun", &["--mpi=none", "-N2", "-n2"]), ONE_SIZE);
    one_row(&finished, "4096");
}

#[test]
#[ignore = "needs tests/all.sh"]
fn libfabrics_program_runs_between_two_processes_and_its_refusal_is_told() {
    let mut command = program(ONE_SIZE);
    one_row(&run(command.args(["--spawn", "2"]), LIMIT), "4096");
    let mut command = program(&[
        "pingpong",
        "--provider",
        "efa",
        "--spawn",
        "2",
        "--timeout-fabric",
        "5",
    ]);
    let refused = run(&mut command, LIMIT).expect_code(3);
    refused.expect_said("`fi_pingpong` ended with");
    refused.expect_said("hint: look at `ncclbench doctor --only efa-provider");
}
