//! Whether this process sees the kernel's view of the devices.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "sysfs",
    what: "whether `/sys` shows the PCI bus, the network and RDMA devices",
    why: "NCCL reads the topology there; without it GPUs and network cards are paired by chance, and counters cannot prove which way the bytes went.",
    reads: "`/sys/bus/pci/devices`, `/sys/class/net`, `/sys/class/infiniband`, `/dev/infiniband`",
    hint: "mount `/sys` into the container (Docker does unless `--tmpfs /sys`; Enroot: `/sys` in the fstab of its configuration)",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let mut look = Look::default();
    let gpus = scene
        .gpus()
        .map_or(0, |told| told.gpus.len())
        .max(scene.list("/proc/driver/nvidia/gpus").len());
    let pci = hardware::pci(scene);
    if pci.is_empty() && gpus > 0 {
        look.fail("`/sys/bus/pci/devices` shows nothing, although there are GPUs");
    } else if pci.iter().filter(|one| one.is_gpu()).count() < gpus {
        look.warn(format!(
            "`/sys/bus/pci/devices` shows fewer GPUs than the driver's {gpus}"
        ));
    }
    if scene.list("/sys/class/net").is_empty() {
        look.fail("`/sys/class/net` shows nothing");
    }
    let has_files = scene
        .list("/dev/infiniband")
        .iter()
        .any(|name| name.starts_with("uverbs"));
    if has_files && scene.rdma().is_empty() {
        look.fail("there are files in /dev/infiniband, and `/sys/class/infiniband` shows nothing");
    }
    if look.is_silent() {
        look.ok(format!(
            "{} PCI devices, {} RDMA devices",
            pci.len(),
            scene.rdma().len()
        ));
    }
    look
}
