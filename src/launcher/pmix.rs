//! PMIx, as `srun --mpi=pmix` and Open MPI's mpirun serve it: by its client library, without MPI.

use super::Launcher;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::exchange::Registration;
use super::slurm;
use super::variables;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;

/// See the module.
#[derive(Debug)]
pub(super) struct PmixServer;

impl Launcher for PmixServer {
    fn name(&self) -> &'static str {
        "pmix"
    }

    fn summary(&self) -> &'static str {
        "PMIx by its client library: `srun --mpi=pmix`"
    }

    fn is_announced(&self, _wish: &Wish, env: &Env) -> bool {
        env.has("PMIX_RANK") && env.has("PMIX_NAMESPACE")
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let (registration, world) = register(setting)?;
        let env = setting.env;
        let pmix = registration.pmix();
        let (process, job) = (pmix.rank(), format!("pmix {}", pmix.namespace()));
        if slurm::is_slurms(env) {
            let said = variables::optional_number(env, "SLURM_STEP_NUM_TASKS")?;
            expect_world(world, said, "SLURM_STEP_NUM_TASKS")?;
        }
        let seat = ProcessSeat {
            process,
            processes: world,
            local_process: None,
            launcher: self.name(),
            reason: format!("rank {process} of {world} in {}", describe(&registration)),
        };
        Ok(Taken {
            seat,
            job,
            way: way(registration, world)?,
            notes: Vec::new(),
        })
    }
}

/// Registers with the server and asks for the size of the world.
pub(super) fn register(setting: &Setting<'_>) -> Result<(Registration, u32), Fault> {
    let path = setting.wish.pmix_lib.as_deref();
    let path = path.or_else(|| setting.env.get("NCCLBENCH_PMIX"));
    let registration = Registration::new(path)?;
    let world = registration.pmix().job_size()?;
    Ok((registration, world))
}

/// `PMIx job slurm.pmix.3.0 (OpenPMIx 4.2.2, /usr/lib/libpmix.so.2)`.
pub(super) fn describe(registration: &Registration) -> String {
    let pmix = registration.pmix();
    let version = pmix.version().split('(').next().unwrap_or_default().trim();
    format!(
        "PMIx job {} ({version}, {})",
        pmix.namespace(),
        pmix.library()
    )
}

/// How the processes of a registration meet.
pub(super) fn way(registration: Registration, world: u32) -> Result<Way, Fault> {
    let one_host = world == 1 || registration.pmix().num_nodes()? == 1;
    Ok(Way::Carried {
        meeting: Box::new(registration),
        one_host,
    })
}

/// Refuses a world that is not as large as another source says: it would be one of several runs.
pub(super) fn expect_world(world: u32, said: Option<u32>, by: &str) -> Result<(), Fault> {
    match said {
        Some(said) if said != world => {
            let text =
                format!("PMIx says that the world has {world} processes, `{by}` says {said}");
            Err(Fault::new(Kind::Launch, text)
                .hint("start all processes by one launcher; `--launcher` chooses whom to believe"))
        }
        _ => Ok(()),
    }
}
