//! PMI-1, as MPICH's Hydra and `srun --mpi=pmi2` speak it: recognised, so that its processes are not
//! taken for worlds of one, and refused with what to use instead.

use super::Launcher;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::variables;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;

/// See the module.
#[derive(Debug)]
pub(super) struct Pmi;

impl Launcher for Pmi {
    fn name(&self) -> &'static str {
        "pmi"
    }

    fn summary(&self) -> &'static str {
        "PMI-1, as MPICH's mpiexec sets it: one process only, more are refused"
    }

    fn is_announced(&self, _wish: &Wish, env: &Env) -> bool {
        env.has("PMI_RANK") && (env.has("PMI_FD") || env.has("PMI_SIZE"))
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let (process, processes) = variables::index_of(setting.env, "PMI_RANK", "PMI_SIZE")?;
        if processes > 1 {
            return Err(refusal(setting.env, processes));
        }
        Ok(Taken {
            seat: ProcessSeat {
                process,
                processes,
                local_process: None,
                launcher: self.name(),
                reason: "PMI_RANK=0 PMI_SIZE=1".to_owned(),
            },
            job: "pmi".to_owned(),
            way: Way::Alone,
            notes: Vec::new(),
        })
    }
}

fn refusal(env: &Env, processes: u32) -> Fault {
    let text =
        format!("these {processes} processes were started over PMI-1, which is not spoken here");
    let fault = Fault::new(Kind::Launch, text);
    if env.has("SLURM_STEP_ID") {
        fault.hint("start them by `srun --mpi=pmix` or `srun --mpi=none`")
    } else {
        fault.hint(
            "start them by `srun`, by Open MPI's `mpirun`, or with `--rank`, `--world` and `--rendezvous`",
        )
    }
}
