//! What the job was given: its search path, and whether this is a step of it.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "launch-environment",
    what: "`PATH`, `SLURM_EXPORT_ENV`, and whether a batch script runs the program without `srun`",
    why: "`--export=VAR=…` without `ALL` empties `PATH` (`execve(): bash: No such file or directory`); a program that a batch script starts without `srun` is one process however many tasks there are.",
    reads: "the environment: `PATH`, `SLURM_EXPORT_ENV`, `SLURM_NTASKS`, `SLURM_STEP_ID`",
    hint: "`--export=ALL,NAME=VALUE` (values with commas must be exported beforehand); start the program with `srun`",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let mut look = Look::default();
    let path = scene.variable("PATH").unwrap_or_default();
    if path.trim().is_empty() {
        look.fail("`PATH` is empty or not set");
    } else {
        look.ok("`PATH` is set");
    }
    if let Some(exported) = scene.variable("SLURM_EXPORT_ENV") {
        let mut words = exported.split(',').map(str::trim);
        if words.any(|word| matches!(word, "ALL" | "NONE" | "NIL")) {
            look.ok(format!("`SLURM_EXPORT_ENV={exported}`"));
        } else {
            look.warn(format!(
                "`SLURM_EXPORT_ENV={exported}` has no `ALL`: nothing else of the environment is passed on"
            ));
        }
    }
    let tasks = scene
        .variable("SLURM_NTASKS")
        .and_then(|text| text.trim().parse::<u32>().ok());
    let other = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK"];
    let is_launched = scene.variable("SLURM_STEP_ID").is_some()
        || other.iter().any(|name| scene.variable(name).is_some());
    match tasks {
        Some(tasks) if tasks > 1 && !is_launched => look.warn(format!(
            "`SLURM_NTASKS={tasks}` and no `SLURM_STEP_ID`: this is the batch script's own shell, one process of {tasks}"
        )),
        _ => {}
    }
    look
}
