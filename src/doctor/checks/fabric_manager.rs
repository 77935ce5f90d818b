//! The manager of the NVSwitches.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "fabric-manager",
    what: "whether the fabric manager runs on a machine with NVSwitches",
    why: "Without it nothing starts on NVSwitch machines (`system not yet initialized`, CUDA error 802), or links are half up.",
    reads: "`/sys/bus/pci/devices`, `/dev/nvidia-nvswitch*`; `nvidia-smi -q` (Fabric); `/proc/*/comm`",
    hint: "`systemctl enable --now nvidia-fabricmanager`, of exactly the driver's version",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let switches = hardware::pci(scene)
        .iter()
        .filter(|one| one.is_nvswitch())
        .count();
    let files = scene
        .list("/dev")
        .iter()
        .filter(|name| name.starts_with("nvidia-nvswitch"))
        .count();
    if switches.max(files) == 0 {
        return Look::none("no NVSwitch is visible");
    }
    let states = scene.gpus().map(|told| {
        let states = told
            .gpus
            .iter()
            .filter_map(|gpu| Some((gpu.index, gpu.fabric.clone()?)));
        states.collect::<Vec<_>>()
    });
    let mut look = Look::default();
    for (gpu, state) in states.unwrap_or_default() {
        if state != "Completed" {
            look.fail(format!(
                "GPU {gpu}: its registration with the fabric is `{state}`"
            ));
        } else if gpu == 0 {
            look.ok("GPU 0: its registration with the fabric is complete");
        }
    }
    if !look.is_silent() {
        return look;
    }
    let runs = |id: &String| {
        let comm = scene.text(&format!("/proc/{id}/comm"));
        comm.is_some_and(|comm| comm.starts_with("nv-fabricmanage"))
    };
    let processes: Vec<String> = scene
        .list("/proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    if processes.iter().any(runs) {
        look.ok("`nv-fabricmanager` runs");
    } else {
        look.unclear("`nv-fabricmanager` is not among the processes that are visible here, which may be a container's own");
    }
    look
}
