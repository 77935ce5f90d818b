//! Whether the world that MPI made is the one that was started.
//!
//! Under a launcher of another family every process is rank 0 of a world of one, and says so without
//! an error; under one that offers MPI nothing, some libraries end the process.

use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;

/// What each launcher calls the number of its processes, and the rank that shows it is at work.
/// Slurm's comes last: inside an allocation it is that of another launcher's daemons.
const SIZES: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"),
];

/// How many processes the launcher says that there are, and in which variable.
fn said(env: &Env) -> Result<Option<(&'static str, u32)>, Fault> {
    let found = SIZES
        .iter()
        .find(|(rank, size)| env.has(rank) && env.has(size));
    let Some((_, name)) = found else {
        return Ok(None);
    };
    let text = env.get(name).unwrap_or_default();
    let wrong = |_| {
        let text = format!("invalid value `{text}` of `{name}`; expected a number");
        Fault::new(Kind::Launch, text)
    };
    text.trim()
        .parse()
        .map(|size| Some((*name, size)))
        .map_err(wrong)
}

/// Refuses what MPI's own start would end the process for: a step of several tasks in which no
/// process manager speaks to this library.
///
/// # Errors
/// `Launch`, saying how to start it.
pub(super) fn expect_manager(env: &Env, library: &str) -> Result<(), Fault> {
    let managers = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
    // the last one is foreign to Open MPI, which in a step does not start without its own
    let known = if is_open_mpi(library) { 2 } else { 3 };
    let managers = managers.iter().take(known);
    match said(env)? {
        Some((name, size)) if size > 1 && env.has("SLURM_STEP_ID") => {
            if managers.into_iter().any(|one| env.has(one)) {
                return Ok(());
            }
            let text = format!("`{name}={size}`, but no process manager speaks to MPI here");
            Err(Fault::new(Kind::Launch, text)
                .detail(format!("this program is linked to {library}"))
                .hint(format!("start it by {}", fitting(library))))
        }
        _ => Ok(()),
    }
}

/// Refuses a process manager's only line for two who speak: another launcher has it already.
///
/// # Errors
/// `Launch`, naming the launcher to ask for.
pub(super) fn expect_free_line(env: &Env) -> Result<(), Fault> {
    match said(env)? {
        Some((_, size)) if size > 1 && env.has("PMI_FD") => {
            let text = "MPI must speak to the process manager itself, and `PMI_FD` is taken";
            Err(Fault::new(Kind::Launch, text).hint("give `--launcher mpi`"))
        }
        _ => Ok(()),
    }
}

fn is_open_mpi(library: &str) -> bool {
    library.starts_with("Open MPI")
}

fn fitting(library: &str) -> &'static str {
    if is_open_mpi(library) {
        "Open MPI's `mpirun` or `srun --mpi=pmix`"
    } else {
        "MPICH's `mpiexec` or `srun --mpi=pmi2`"
    }
}

/// Refuses a world whose size is not what the launcher says.
///
/// # Errors
/// `Launch`, naming both sizes and the library.
pub(super) fn expect_size(env: &Env, size: u32, library: &str) -> Result<(), Fault> {
    match said(env)? {
        Some((name, said)) if said != size => {
            let text = format!(
                "MPI made a world of {size}, but `{name}={said}`: launcher and library do not fit"
            );
            Err(Fault::new(Kind::Launch, text)
                .detail(format!("this program is linked to {library}"))
                .hint(format!("start it by {}", fitting(library))))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: [(&str, &str); 2] = [("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "4")];

    #[test]
    fn n_worlds_of_one_are_refused_with_the_launcher_that_fits() {
        let hydra = Env::from_iter([("PMI_RANK", "3"), ("PMI_SIZE", "4")]);
        let fault = expect_size(&hydra, 1, "Open MPI v4.1.4").unwrap_err();
        assert!(fault.message.contains("`PMI_SIZE=4`"), "{fault}");
        assert!(fault.hints[0].contains("Open MPI's"), "{fault}");
        let step: Env = STEP.into_iter().chain([("PMIX_RANK", "0")]).collect();
        let fault = expect_size(&step, 1, "MPICH Version: 4.0.2").unwrap_err();
        assert!(fault.hints[0].contains("pmi2"), "{fault}");
        assert_eq!(expect_size(&hydra, 4, "MPICH"), Ok(()));
        assert_eq!(expect_size(&Env::default(), 1, "MPICH"), Ok(()));
    }

    #[test]
    fn the_daemons_step_inside_an_allocation_does_not_count() {
        let mpirun = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "7")];
        let env: Env = STEP.into_iter().chain(mpirun).collect();
        assert_eq!(expect_size(&env, 7, "Open MPI"), Ok(()));
        assert!(expect_size(&env, 4, "Open MPI").is_err());
    }

    #[test]
    fn a_step_without_a_process_manager_is_refused_before_mpi_is_started() {
        let with = |more: &[(&'static str, &'static str)]| -> Env {
            STEP.into_iter().chain(more.iter().copied()).collect()
        };
        let pmi = [("PMI_RANK", "0"), ("PMI_SIZE", "4"), ("PMI_FD", "7")];
        for (library, more, fits) in [
            ("Open MPI v4.1.4", &[][..], false),
            ("Open MPI v4.1.4", &[("PMIX_RANK", "0")][..], true),
            ("Open MPI v4.1.4", &pmi[..], false),
            ("MPICH Version: 4.0.2", &[][..], false),
            ("MPICH Version: 4.0.2", &pmi[..], true),
        ] {
            let outcome = expect_manager(&with(more), library);
            assert_eq!(outcome.is_ok(), fits, "{library} {more:?}: {outcome:?}");
        }
        assert!(expect_free_line(&with(&pmi)).is_err());
        assert_eq!(expect_free_line(&with(&[("PMIX_RANK", "0")])), Ok(()));
        let wrong = Env::from_iter([("PMI_RANK", "3"), ("PMI_SIZE", "many")]);
        assert!(expect_manager(&wrong, "MPICH").is_err());
    }
}
