//! Slurm's variables alone: `srun --mpi=none`, and images without a process manager's library.
//!
//! `SLURM_PROCID` is believed in a step only: a batch script has it too, and under mpirun inside an
//! allocation it is that of mpirun's daemons.

use super::Launcher;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::nodelist;
use super::variables;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap::tcp::listen::Place;

/// See the module.
#[derive(Debug)]
pub(super) struct Slurm;

impl Launcher for Slurm {
    fn name(&self) -> &'static str {
        "slurm"
    }

    fn summary(&self) -> &'static str {
        "Slurm's variables alone: `srun --mpi=none`"
    }

    fn is_announced(&self, _wish: &Wish, env: &Env) -> bool {
        let others = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"];
        is_step(env) && !others.iter().any(|name| env.has(name)) && steps_own_pmix(env)
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let env = setting.env;
        if !is_step(env) {
            return Err(Fault::new(
                Kind::Launch,
                "`SLURM_STEP_ID` and `SLURM_PROCID` are not both set",
            )
            .hint("start the processes by `srun`"));
        }
        let size = if env.has("SLURM_STEP_NUM_TASKS") {
            "SLURM_STEP_NUM_TASKS"
        } else {
            "SLURM_NTASKS"
        };
        let (process, processes) = variables::index_of(env, "SLURM_PROCID", size)?;
        let job = job_name(env);
        Ok(Taken {
            seat: ProcessSeat {
                process,
                processes,
                local_process: variables::optional_number(env, "SLURM_LOCALID")?,
                launcher: self.name(),
                reason: format!("SLURM_PROCID={process} {size}={processes} in {job}"),
            },
            way: if processes == 1 {
                Way::Alone
            } else {
                Way::At(place(env, &job)?)
            },
            job,
            notes: Vec::new(),
        })
    }
}

fn is_step(env: &Env) -> bool {
    env.has("SLURM_STEP_ID") && env.has("SLURM_PROCID")
}

/// True unless PMIx variables are those of another launcher inside the step.
fn steps_own_pmix(env: &Env) -> bool {
    match env.get("PMIX_RANK") {
        None => true,
        Some(rank) => is_slurms(env) && env.get("SLURM_PROCID") == Some(rank),
    }
}

/// Whether PMIx's variables come from srun.
pub(super) fn is_slurms(env: &Env) -> bool {
    let namespace = env.get("PMIX_NAMESPACE").unwrap_or_default();
    namespace.starts_with("slurm.pmix.")
}

fn job_name(env: &Env) -> String {
    let first = |names: [&str; 2]| names.iter().find_map(|name| env.get(name)).unwrap_or("?");
    let job = first(["SLURM_JOB_ID", "SLURM_JOBID"]);
    let step = first(["SLURM_STEP_ID", "SLURM_STEPID"]);
    format!("slurm step {job}.{step}")
}

/// `MASTER_ADDR` and `MASTER_PORT` where they are set, else the step's first host and ports that
/// all derive alike.
fn place(env: &Env, job: &str) -> Result<Place, Fault> {
    let host = match env.get("MASTER_ADDR") {
        Some(host) => host.to_owned(),
        None => first_host(env)?,
    };
    let ports = if env.has("MASTER_PORT") {
        variables::ports_from(variables::port(env, "MASTER_PORT")?)
    } else {
        variables::derived_ports(job)
    };
    Ok(Place { host, ports })
}

fn first_host(env: &Env) -> Result<String, Fault> {
    let names = [
        "SLURM_STEP_NODELIST",
        "SLURM_NODELIST",
        "SLURM_JOB_NODELIST",
    ];
    let list = names.iter().find_map(|name| env.get(name));
    let list = list.ok_or_else(|| {
        Fault::new(Kind::Launch, "`SLURM_STEP_NODELIST` is not set")
            .hint("set `MASTER_ADDR`, or give `--rendezvous`")
    })?;
    Ok(nodelist::expand(list)?.swap_remove(0))
}
