//! The GPUs: how many this process sees, and how many there should be.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::instance;
use crate::base::counted;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "gpus",
    what: "how many GPUs the driver, the PCI bus and `/dev` show, and how many this type of machine has",
    why: "A job without `--gres=gpu:N` sees none; a GPU that fell off the bus (Xid 79) is missing from the driver's list.",
    reads: "NVML, else `nvidia-smi -q`; `/sys/bus/pci/devices`, `/dev/nvidia[0-9]*`, `CUDA_VISIBLE_DEVICES`",
    hint: "give the job GPUs (`--gres=gpu:N`, Docker `--gpus all`); a GPU that is missing on the host too needs a power cycle, and a ticket if it comes back",
    scope: Scope::Process,
    drift: Health::Failure,
    look,
};

fn look(scene: &Scene) -> Look {
    let on_bus = hardware::pci(scene)
        .iter()
        .filter(|one| one.is_gpu())
        .count();
    let known = instance::known(scene).map_or(0, |one| one.gpus as usize);
    let there = on_bus.max(known);
    let files = scene
        .list("/dev")
        .iter()
        .filter(|name| is_gpu_file(name))
        .count();
    let mut look = Look::default();
    match scene.gpus() {
        Err(why) if there == 0 && files == 0 => return Look::none(format!("no GPU: {why}")),
        Err(why) => look.fail(format!(
            "{} on the PCI bus, and no driver answers: {why}",
            counted(on_bus, "GPU", "GPUs")
        )),
        Ok(told) => seen(scene, &mut look, told.gpus.len(), there),
    }
    if let Some(list) = scene.variable("CUDA_VISIBLE_DEVICES") {
        if list.trim().is_empty() || list.trim() == "-1" {
            look.fail(format!("`CUDA_VISIBLE_DEVICES={list}` hides every GPU"));
        } else {
            look.ok(format!("`CUDA_VISIBLE_DEVICES={list}`"));
        }
    }
    look
}

/// `/dev/nvidia0` and so on.
fn is_gpu_file(name: &str) -> bool {
    let number = name.strip_prefix("nvidia");
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn seen(scene: &Scene, look: &mut Look, seen: usize, there: usize) {
    look.share("gpus", seen.to_string());
    let names = scene.gpus().map(|told| {
        let mut names: Vec<String> = told.gpus.iter().map(|gpu| gpu.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        for gpu in &told.gpus {
            if let Some(uuid) = &gpu.uuid {
                look.own(format!("gpu {}", gpu.index), uuid);
            }
        }
        names
    });
    let names = names.unwrap_or_default();
    look.share("model", names.join(", "));
    let what = format!("{} ({})", counted(seen, "GPU", "GPUs"), names.join(", "));
    if names.len() > 1 {
        look.warn(format!("GPUs of different kinds: {}", names.join(", ")));
    }
    // Slurm may give a job a part of a node's GPUs, and then hides the others on purpose
    let is_part =
        scene.variable("SLURM_JOB_GPUS").is_some() || scene.variable("SLURM_STEP_GPUS").is_some();
    if seen == 0 {
        look.fail(format!("the driver shows no GPU, and there are {there}"));
    } else if seen < there && !is_part {
        look.fail(format!("{what}, and there are {there}"));
    } else if seen < there {
        look.ok(format!("{what} of {there}, as Slurm gave them"));
    } else {
        look.ok(what);
    }
}
