//! Nobody started this process but a person: a world of one.

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
pub(super) struct Alone;

impl Launcher for Alone {
    fn name(&self) -> &'static str {
        super::ALONE
    }

    fn summary(&self) -> &'static str {
        "one process, started by hand"
    }

    fn is_announced(&self, _wish: &Wish, _env: &Env) -> bool {
        true
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let Setting { wish, env, .. } = *setting;
        if wish.launcher.is_none() {
            refuse_one_of_many(env)?;
        }
        if wish.rendezvous.is_some() {
            return Err(Fault::usage(
                "`--rendezvous` is given, but nothing says which process this is",
            )
            .hint("give `--rank` and `--world` too, or start the processes by a launcher"));
        }
        Ok(Taken {
            seat: ProcessSeat {
                process: 0,
                processes: 1,
                local_process: Some(0),
                launcher: self.name(),
                reason: match wish.launcher {
                    Some(_) => "`--launcher alone`".to_owned(),
                    None => "no launcher's variables are set".to_owned(),
                },
            },
            job: "alone".to_owned(),
            way: Way::Alone,
            notes: batch_note(env)?.into_iter().collect(),
        })
    }
}

/// A launcher that could not be used may have started others too; each would be a world of one.
fn refuse_one_of_many(env: &Env) -> Result<(), Fault> {
    let Some(rank) = env.get("PMIX_RANK") else {
        return Ok(());
    };
    let text = format!(
        "`PMIX_RANK={rank}` says that a launcher started this process, but the others cannot be found: \
         it would be a world of one"
    );
    Err(Fault::new(Kind::Launch, text)
        .hint("install libpmix or set `NCCLBENCH_PMIX`; or give `--rank`, `--world` and `--rendezvous`")
        .hint("if one process is meant, say `--launcher alone`"))
}

/// A batch script that forgot `srun` measures one process of many, which it should know.
fn batch_note(env: &Env) -> Result<Option<String>, Fault> {
    let in_batch_script = env.has("SLURM_PROCID") && !env.has("SLURM_STEP_ID");
    if !in_batch_script {
        return Ok(None);
    }
    let tasks = variables::optional_number(env, "SLURM_NTASKS")?.unwrap_or(1);
    Ok((tasks > 1).then(|| {
        format!(
            "this is a world of one although the allocation has {tasks} tasks: a batch script starts them by `srun`"
        )
    }))
}
