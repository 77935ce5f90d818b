//! Slurm's number of CPUs for each task, against the mask.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::base::counted;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "cpus-per-task",
    what: "`SLURM_CPUS_PER_TASK` against the mask",
    why: "Since Slurm 22.05 srun does not take `--cpus-per-task` from sbatch; the variable may say 24 while the task has one core. The mask counts.",
    reads: "`SLURM_CPUS_PER_TASK`, the mask",
    hint: "say `--cpus-per-task=N` to srun itself, or `export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK` in the batch script",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let Some(text) = scene.variable("SLURM_CPUS_PER_TASK") else {
        return Look::none("`SLURM_CPUS_PER_TASK` is not set");
    };
    let cpus = match scene.cpus() {
        Ok(cpus) => cpus.len(),
        Err(why) => return Look::unknown(why),
    };
    let mut look = Look::default();
    look.share("SLURM_CPUS_PER_TASK", text.trim());
    let shown = format!(
        "`SLURM_CPUS_PER_TASK={text}`, and the mask has {}",
        counted(cpus, "CPU", "CPUs")
    );
    match text.trim().parse::<usize>() {
        Ok(said) if said > cpus => look.fail(shown),
        Ok(_) => look.ok(shown),
        Err(_) => look.warn(format!("{shown}: the variable is no number")),
    }
    look
}
