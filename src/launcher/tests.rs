//! Which launcher is believed, with the variables that each really leaves.

use super::*;
use crate::base::Kind;

/// What `srun --mpi=none` leaves in a step of 2 nodes.
const STEP: &[(&str, &str)] = &[
    ("SLURM_JOB_ID", "7"),
    ("SLURM_STEP_ID", "0"),
    ("SLURM_PROCID", "3"),
    ("SLURM_NTASKS", "4"),
    ("SLURM_STEP_NUM_TASKS", "4"),
    ("SLURM_LOCALID", "1"),
    ("SLURM_STEP_NODELIST", "node[1-2]"),
    ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
];

/// What `srun --mpi=pmix` adds.
const SRUN_PMIX: &[(&str, &str)] = &[
    ("PMIX_RANK", "3"),
    ("PMIX_NAMESPACE", "slurm.pmix.7.0"),
    ("PMIX_SERVER_URI41", "slurm.pmix.7.0.0;tcp4://127.0.0.1:1"),
    ("SLURM_MPI_TYPE", "pmix"),
];

/// What `srun --mpi=pmi2` adds.
const SRUN_PMI2: &[(&str, &str)] = &[
    ("PMI_FD", "12"),
    ("PMI_RANK", "3"),
    ("PMI_SIZE", "4"),
    ("PMI_JOBID", "7.0"),
];

/// What Open MPI 4's mpirun leaves.
const MPIRUN: &[(&str, &str)] = &[
    ("OMPI_COMM_WORLD_RANK", "3"),
    ("OMPI_COMM_WORLD_SIZE", "4"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "3"),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
    ("OMPI_COMM_WORLD_NODE_RANK", "3"),
    ("PMIX_RANK", "3"),
    ("PMIX_NAMESPACE", "1836646401"),
    ("PMIX_ID", "1836646401.3"),
];

/// What mpirun's daemons have in an allocation: these describe the daemons.
const DAEMONS_STEP: &[(&str, &str)] = &[
    ("SLURM_JOB_ID", "7"),
    ("SLURM_STEP_ID", "0"),
    ("SLURM_PROCID", "1"),
    ("SLURM_NTASKS", "2"),
    ("SLURM_STEP_NUM_TASKS", "2"),
];

/// What MPICH's Hydra leaves.
const HYDRA: &[(&str, &str)] = &[
    ("PMI_FD", "7"),
    ("PMI_RANK", "1"),
    ("PMI_SIZE", "4"),
    ("MPI_LOCALRANKID", "1"),
    ("MPI_LOCALNRANKS", "4"),
];

const TORCHRUN: &[(&str, &str)] = &[
    ("RANK", "2"),
    ("WORLD_SIZE", "4"),
    ("LOCAL_RANK", "0"),
    ("MASTER_ADDR", "node1"),
    ("MASTER_PORT", "29500"),
];

/// What a batch script has outside any step.
const BATCH: &[(&str, &str)] = &[
    ("SLURM_JOB_ID", "7"),
    ("SLURM_PROCID", "0"),
    ("SLURM_NTASKS", "4"),
    ("SLURM_LOCALID", "0"),
];

/// What Kubernetes sets in a pod of an indexed job.
const POD: &[(&str, &str)] = &[("JOB_COMPLETION_INDEX", "2"), ("HOSTNAME", "bench-2")];

/// What the job's description adds.
const POD_WORLD: &[(&str, &str)] = &[
    ("NCCLBENCH_WORLD", "3"),
    ("NCCLBENCH_RENDEZVOUS", "bench-0.bench:29500"),
];

/// What images carry for good.
const IMAGE: &[(&str, &str)] = &[
    ("OMPI_MCA_btl", "^openib"),
    ("PMIX_MCA_gds", "hash"),
    ("OPAL_PREFIX", "/opt/amazon/openmpi"),
];

fn env(parts: &[&[(&str, &str)]]) -> Env {
    parts.iter().copied().flatten().copied().collect()
}

/// No wishes but a libpmix that is not there.
fn wish() -> Wish {
    Wish {
        launcher: None,
        spawn: None,
        rank: None,
        world: None,
        rendezvous: None,
        secret_file: None,
        timeout_init: Duration::from_secs(30),
        pmix_lib: Some("/nowhere/libpmix.so".to_owned()),
        ranks_per_process: 1,
    }
}

fn announced(parts: &[&[(&str, &str)]]) -> &'static str {
    let env = env(parts);
    let first = ALL.iter().find(|one| one.is_announced(&wish(), &env));
    first.unwrap().name()
}

fn choose(wish: &Wish, parts: &[&[(&str, &str)]]) -> Result<Taken, Fault> {
    let env = env(parts);
    compose::choose(&Setting { wish, env: &env })
}

#[test]
fn each_launcher_is_known_by_what_it_leaves() {
    assert_eq!(announced(&[STEP]), "slurm");
    assert_eq!(announced(&[STEP, SRUN_PMIX]), "pmix");
    assert_eq!(announced(&[STEP, SRUN_PMI2]), "pmi1");
    assert_eq!(announced(&[MPIRUN]), "openmpi");
    assert_eq!(announced(&[MPIRUN, DAEMONS_STEP]), "openmpi");
    assert_eq!(announced(&[HYDRA]), "pmi1");
    assert_eq!(announced(&[HYDRA, DAEMONS_STEP]), "pmi1");
    assert_eq!(announced(&[TORCHRUN]), "torchrun");
    assert_eq!(announced(&[TORCHRUN, STEP]), "torchrun");
    assert_eq!(announced(&[POD]), "kubernetes");
    assert_eq!(announced(&[POD, TORCHRUN]), "torchrun");
    assert_eq!(announced(&[POD, MPIRUN]), "openmpi");
    assert_eq!(announced(&[BATCH]), "alone");
    assert_eq!(announced(&[IMAGE]), "alone");
    assert_eq!(announced(&[IMAGE, STEP]), "slurm");
    assert_eq!(announced(&[]), "alone");
}

#[test]
fn flags_win_over_all_variables() {
    let flags = Wish {
        rank: Some(1),
        world: Some(3),
        rendezvous: Some("10.0.1.7:29500".to_owned()),
        ..wish()
    };
    let taken = choose(&flags, &[STEP, SRUN_PMIX, TORCHRUN]).unwrap();
    assert_eq!((taken.seat.launcher, taken.seat.process), ("flags", 1));
    assert!(matches!(taken.way, Way::At(place) if place.to_string() == "10.0.1.7:29500"));
    for incomplete in [
        Wish {
            world: None,
            ..flags.clone()
        },
        Wish {
            rank: Some(3),
            ..flags.clone()
        },
        Wish {
            rendezvous: None,
            ..flags.clone()
        },
    ] {
        assert_eq!(choose(&incomplete, &[]).unwrap_err().kind, Kind::Usage);
    }
}

#[test]
fn slurms_variables_alone_say_who_and_where() {
    let taken = choose(&wish(), &[STEP]).unwrap();
    let seat = &taken.seat;
    assert_eq!(
        (seat.process, seat.processes, seat.local_process),
        (3, 4, Some(1))
    );
    let Way::At(place) = taken.way else {
        panic!("{:?}", taken.way)
    };
    assert_eq!((place.host.as_str(), place.ports.len()), ("node1", 8));
    let master: &[(&str, &str)] = &[("MASTER_ADDR", "10.0.1.7"), ("MASTER_PORT", "29500")];
    let taken = choose(&wish(), &[STEP, master]).unwrap();
    assert!(
        matches!(&taken.way, Way::At(place) if place.host == "10.0.1.7" && place.ports[0] == 29_500)
    );
}

#[test]
fn pmix_without_a_library_is_passed_over_with_a_note_unless_it_was_asked_for() {
    let taken = choose(&wish(), &[STEP, SRUN_PMIX]).unwrap();
    assert_eq!((taken.seat.launcher, taken.seat.process), ("slurm", 3));
    assert!(taken.notes[0].starts_with("PMIx is announced but was not used"));
    let forced = Wish {
        launcher: Some("pmix".to_owned()),
        ..wish()
    };
    let fault = choose(&forced, &[STEP, SRUN_PMIX]).unwrap_err();
    assert_eq!(fault.kind, Kind::Missing);
}

#[test]
fn a_pmix_that_nobody_else_can_speak_for_is_no_world_of_one() {
    let fault = choose(&wish(), &[&[("PMIX_RANK", "0"), ("PMIX_NAMESPACE", "123")]]);
    let fault = fault.unwrap_err();
    assert_eq!(fault.kind, Kind::Launch);
    assert!(fault.message.contains("world of one"), "{fault}");
}

#[test]
fn mpirun_without_pmix_meets_on_this_host_if_all_are_here_and_else_needs_an_address() {
    let taken = choose(&wish(), &[MPIRUN]).unwrap();
    assert!(matches!(&taken.way, Way::At(place) if place.host == "127.0.0.1"));
    let spread: &[(&str, &str)] = &[("OMPI_COMM_WORLD_LOCAL_SIZE", "2")];
    let fault = choose(&wish(), &[MPIRUN, spread]).unwrap_err();
    assert!(fault.message.contains("does not say where"), "{fault}");
    let named: &[(&str, &str)] = &[("MASTER_ADDR", "node1"), ("MASTER_PORT", "29500")];
    let taken = choose(&wish(), &[MPIRUN, spread, named]).unwrap();
    assert!(matches!(&taken.way, Way::At(place) if place.host == "node1"));
}

#[test]
fn several_processes_over_pmi_1_need_its_descriptor() {
    let without: &[(&str, &str)] = &[("PMI_RANK", "0"), ("PMI_SIZE", "2")];
    let fault = choose(&wish(), &[without]).unwrap_err();
    assert!(fault.message.contains("`PMI_FD` is not set"), "{fault}");
    let fault = choose(&wish(), &[STEP, without]).unwrap_err();
    assert!(fault.hints[0].contains("srun --mpi=pmi2"), "{fault}");
    let closed: &[(&str, &str)] = &[("PMI_FD", "1000000")];
    let fault = choose(&wish(), &[HYDRA, closed]).unwrap_err();
    assert!(fault.message.contains("no open file"), "{fault}");
    let one: &[(&str, &str)] = &[("PMI_RANK", "0"), ("PMI_SIZE", "1")];
    assert_eq!(choose(&wish(), &[one]).unwrap().seat.processes, 1);
}

#[test]
fn a_pod_of_an_indexed_job_is_one_of_the_world_that_the_job_describes() {
    let taken = choose(&wish(), &[POD, POD_WORLD]).unwrap();
    assert_eq!((taken.seat.process, taken.seat.processes), (2, 3));
    assert!(
        matches!(&taken.way, Way::Awaited(place) if place.to_string() == "bench-0.bench:29500")
    );
    let shared: &[(&str, &str)] = &[("NCCLBENCH_RENDEZVOUS", "file:///shared")];
    let taken = choose(&wish(), &[POD, POD_WORLD, shared]).unwrap();
    assert!(matches!(taken.way, Way::Folder(_)));
    let flags = Wish {
        world: Some(5),
        rendezvous: Some("bench-0:1".to_owned()),
        ..wish()
    };
    let taken = choose(&flags, &[POD]).unwrap();
    assert_eq!(
        (taken.seat.launcher, taken.seat.processes),
        ("kubernetes", 5)
    );
}

#[test]
fn a_pod_is_told_what_its_job_does_not_say() {
    let says = |parts: &[&[(&str, &str)]], what: &str| {
        let fault = choose(&wish(), parts).unwrap_err();
        assert_eq!(fault.kind, Kind::Launch, "{fault}");
        assert!(fault.message.contains(what), "{fault}");
    };
    says(&[POD], "`NCCLBENCH_WORLD`");
    says(
        &[POD, &[("NCCLBENCH_WORLD", "3")]],
        "`NCCLBENCH_RENDEZVOUS`",
    );
    says(
        &[POD, POD_WORLD, &[("NCCLBENCH_WORLD", "2")]],
        "is not below",
    );
    let one: &[(&str, &str)] = &[("JOB_COMPLETION_INDEX", "0"), ("NCCLBENCH_WORLD", "1")];
    assert!(matches!(choose(&wish(), &[one]).unwrap().way, Way::Alone));
}

#[test]
fn a_place_without_a_rank_is_refused_where_no_launcher_says_which() {
    let place = Wish {
        rendezvous: Some("node1:29500".to_owned()),
        ..wish()
    };
    assert_eq!(choose(&place, &[]).unwrap_err().kind, Kind::Usage);
    assert_eq!(choose(&place, &[STEP]).unwrap().seat.launcher, "slurm");
}

#[test]
fn torchruns_own_store_is_not_met_by_us() {
    let place = |parts: &[&[(&str, &str)]]| match choose(&wish(), parts).unwrap().way {
        Way::At(place) => place,
        other => panic!("{other:?}"),
    };
    assert_eq!(place(&[TORCHRUN]).ports[0], 29_500);
    let store: &[(&str, &str)] = &[("TORCHELASTIC_USE_AGENT_STORE", "True")];
    assert_eq!(place(&[TORCHRUN, store]).ports[0], 29_501);
}

#[test]
fn a_batch_script_that_forgot_srun_is_told() {
    let taken = choose(&wish(), &[BATCH]).unwrap();
    assert_eq!((taken.seat.launcher, taken.seat.processes), ("alone", 1));
    assert!(taken.notes[0].contains("4 tasks"), "{:?}", taken.notes);
}

#[test]
fn a_launcher_that_was_asked_for_is_taken_whatever_else_is_announced() {
    let forced = |name: &str| Wish {
        launcher: Some(name.to_owned()),
        ..wish()
    };
    let taken = choose(&forced("slurm"), &[STEP, SRUN_PMI2]).unwrap();
    assert_eq!(taken.seat.launcher, "slurm");
    let taken = choose(&forced("alone"), &[STEP]).unwrap();
    assert_eq!(taken.seat.processes, 1);
    assert_eq!(
        choose(&forced("slurm"), &[BATCH]).unwrap_err().kind,
        Kind::Launch
    );
    let fault = choose(&forced("mpi"), &[]).unwrap_err();
    assert!(
        fault.message.contains("`flags`, `openmpi`, `pmix`"),
        "{fault}"
    );
}

#[test]
fn values_that_cannot_be_read_are_errors() {
    for wrong in [
        &[("SLURM_PROCID", "x")],
        &[("SLURM_PROCID", "4")],
        &[("SLURM_STEP_NUM_TASKS", "")],
        &[("SLURM_STEP_NODELIST", "node[1-")],
        &[("MASTER_PORT", "0")],
    ] {
        let fault = choose(&wish(), &[STEP, wrong]).unwrap_err();
        assert_eq!(fault.kind, Kind::Launch, "{wrong:?}: {fault}");
    }
}

#[test]
fn names_of_launchers_are_unique_and_have_a_summary() {
    let mut names: Vec<&str> = ALL.iter().map(|one| one.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ALL.len());
    assert!(ALL.iter().all(|one| !one.summary().is_empty()));
    assert!(by_name("pmix").is_ok());
}
