//! Whether the network may reach GPU memory.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::instance;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "gpudirect",
    what: "how the network may reach GPU memory: `nvidia_peermem`, or dma-buf with an open driver and a Linux that has it",
    why: "Without either NCCL stages every byte through the host's memory; only the missing `GDRDMA` in its log shows it.",
    reads: "`/sys/module/nvidia_peermem`, `/proc/driver/nvidia/version`, `/proc/sys/kernel/osrelease`",
    hint: "`modprobe nvidia_peermem`, or use the driver's open kernel modules with Linux 5.12 or later",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    if hardware::fabric(scene) == Fabric::None || !hardware::has_gpus(scene) {
        return Look::none("no GPU with a fast network");
    }
    let peermem = scene.is_folder("/sys/module/nvidia_peermem");
    let version = scene.text("/proc/driver/nvidia/version");
    let is_open = version
        .as_deref()
        .is_some_and(|text| text.contains("Open Kernel Module"));
    let kernel = scene.text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let has_dmabuf = instance::version(&kernel).is_some_and(|version| version >= (5, 12));
    let mut look = Look::default();
    if peermem {
        look.ok("`nvidia_peermem` is loaded");
    }
    match (is_open, has_dmabuf) {
        (true, true) => look.ok(format!("dma-buf: open driver and Linux {kernel}")),
        _ if peermem => {}
        _ if hardware::fabric(scene) == Fabric::Efa => look.unclear(
            "no `nvidia_peermem` and no open driver: EFA's driver may still have its own way (`efa_nv_peermem`)",
        ),
        (false, _) if version.is_none() => look.unclear("no `nvidia_peermem`, and /proc does not say which driver it is"),
        _ => look.warn("no `nvidia_peermem`, and no dma-buf: it needs the open driver and Linux 5.12"),
    }
    look
}
