//! How many cores this process may use for each of its ranks.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::base::counted;
use crate::probe::cpu;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "cpu-mask",
    what: "the CPU cores that a rank may use, against its share of the node's",
    why: "A rank with one CPU core runs at a quarter to a tenth of the speed (8 GiB all-reduce 92 instead of 368 GB/s) although the path is right: NCCL's own threads need cores too.",
    reads: "the mask (`sched_getaffinity`; under a root `/proc/self/status`), `/sys/devices/system/cpu`",
    hint: "`--cpus-per-task=N` for srun itself, with N the node's CPUs divided by its GPUs (192 ÷ 8 = 24)",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let cpus = match scene.cpus() {
        Ok(cpus) if cpus.is_empty() => return Look::unknown("the mask is empty"),
        Ok(cpus) => cpus,
        Err(why) => return Look::unknown(why),
    };
    let cores = scene.cores(&cpus).unwrap_or(cpus.len());
    let ranks = scene.ranks().max(1) as usize;
    let whose = if ranks == 1 {
        "a rank".to_owned()
    } else {
        format!("{ranks} ranks")
    };
    let mask = format!(
        "{} for {whose} (CPUs {})",
        counted(cores, "core", "cores"),
        cpu::list(&cpus)
    );
    let mut look = Look::default();
    look.share("cores", cores.to_string());
    let gpus = hardware::n_gpus(scene);
    let share = scene
        .n_online()
        .filter(|_| gpus > 0)
        .map(|online| online / gpus);
    let fair = share.unwrap_or(0) * ranks;
    if let (Some(share), Some(online)) = (share, scene.n_online())
        && cores < 2 * ranks
    {
        look.hint(format!(
            "`srun --cpus-per-task={share} …`: {online} CPUs ÷ {gpus} GPUs"
        ));
    }
    if cores < 2 * ranks {
        look.fail(format!("{mask}: NCCL's threads want them too"));
    } else if cpus.len() * 2 < fair {
        look.warn(format!(
            "{mask}: less than half of its share of the node, which is {fair} CPUs"
        ));
        look.hint(format!("`srun --cpus-per-task={} …`", fair / ranks));
    } else {
        look.ok(mask);
    }
    look
}
