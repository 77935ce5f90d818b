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
/// process manager speaks.
///
/// # Errors
/// `Launch`, saying how to start it.
pub(super) fn expect_manager(env: &Env) -> Result<(), Fault> {
    let managers = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
    match said(env)? {
        Some((name, size)) if size > 1 && !managers.iter().any(|one| env.has(one)) => {
            let text = format!("`{name}={size}`, but no process manager speaks to MPI here");
            Err(Fault::new(Kind::Launch, text).hint(
                "start an Open MPI build by `srun --mpi=pmix`, an MPICH build by `srun --mpi=pmi2`",
            ))
        }
        _ => Ok(()),
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
            let other = if library.starts_with("Open MPI") {
                "Open MPI's `mpirun` or `srun --mpi=pmix`"
            } else {
                "MPICH's `mpiexec` or `srun --mpi=pmi2`"
            };
            Err(Fault::new(Kind::Launch, text)
                .detail(format!("this program is linked to {library}"))
                .hint(format!("start it by {other}")))
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
        let step = Env::from_iter(STEP.into_iter().chain([("PMIX_RANK", "0")]));
        let fault = expect_size(&step, 1, "MPICH Version: 4.0.2").unwrap_err();
        assert!(fault.hints[0].contains("pmi2"), "{fault}");
        assert_eq!(expect_size(&hydra, 4, "MPICH"), Ok(()));
        assert_eq!(expect_size(&Env::default(), 1, "MPICH"), Ok(()));
    }

    #[test]
    fn the_daemons_step_inside_an_allocation_does_not_count() {
        let mpirun = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "7")];
        let env = Env::from_iter(STEP.into_iter().chain(mpirun));
        assert_eq!(expect_size(&env, 7, "Open MPI"), Ok(()));
        assert!(expect_size(&env, 4, "Open MPI").is_err());
    }

    #[test]
    fn a_step_without_a_process_manager_is_refused_before_mpi_is_started() {
        let env = Env::from_iter(STEP);
        assert!(expect_manager(&env).unwrap_err().hints[0].contains("srun --mpi=pmix"));
        let env = Env::from_iter(STEP.into_iter().chain([("PMIX_RANK", "0")]));
        assert_eq!(expect_manager(&env), Ok(()));
        let wrong = Env::from_iter([("PMI_RANK", "3"), ("PMI_SIZE", "many")]);
        assert!(expect_manager(&wrong).is_err());
    }
}
