//! GPUs, network cards and processors: which are near to each other.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::look::spans;
use super::super::scene::parse_list;
use crate::record::Health;
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    name: "numa",
    what: "whether this process may run on the NUMA nodes of the GPUs and of the network devices",
    why: "A rank whose cores are in another socket than its GPU and network card sends everything across the sockets.",
    reads: "`numa_node` of GPUs and RDMA devices in `/sys`, `/sys/devices/system/node/node*/cpulist`, the mask",
    hint: "bind near the device: `srun --gpu-bind=closest --cpu-bind=cores`, or `--cpus-per-task=N` with whole sockets",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let nodes = nodes(scene);
    if nodes.len() < 2 {
        return Look::none("one NUMA node, or none is named");
    }
    let mask = match scene.cpus() {
        Ok(cpus) => cpus,
        Err(why) => return Look::unknown(why),
    };
    let reached = |cpus: &Vec<u32>| cpus.iter().any(|cpu| mask.contains(cpu));
    let mine: BTreeSet<u32> = nodes
        .iter()
        .filter(|(_, cpus)| reached(cpus))
        .map(|(node, _)| *node)
        .collect();
    let gpus = homes(scene);
    let mut look = Look::default();
    look.share("numa-nodes", nodes.len().to_string());
    let shown = spans(&mine.iter().copied().collect::<Vec<_>>());
    let away: Vec<String> = gpus
        .iter()
        .filter(|(_, node)| !mine.contains(node))
        .map(|(name, node)| format!("{name} (node {node})"))
        .collect();
    // one process of several on a node needs its own GPU near, which it alone knows
    if gpus.is_empty() {
        look.ok(format!(
            "CPUs of NUMA node {shown}; no device names its node"
        ));
    } else if away.len() == gpus.len() {
        look.warn(format!(
            "CPUs of NUMA node {shown}, and every device is elsewhere: {}",
            away.join(", ")
        ));
    } else {
        look.ok(format!(
            "CPUs of NUMA node {shown}; {} of {} devices are near",
            gpus.len() - away.len(),
            gpus.len()
        ));
    }
    look
}

/// NUMA nodes with processors.
fn nodes(scene: &Scene) -> Vec<(u32, Vec<u32>)> {
    let names = scene.list("/sys/devices/system/node").into_iter();
    names
        .filter_map(|name| {
            let node = name.strip_prefix("node")?.parse().ok()?;
            let list = scene.text(&format!("/sys/devices/system/node/{name}/cpulist"))?;
            Some((node, parse_list(&list)?))
        })
        .collect()
}

/// GPUs and RDMA devices with the NUMA node that each names; the kernel has -1 for none.
fn homes(scene: &Scene) -> Vec<(String, u32)> {
    let gpus = hardware::pci(scene).iter().filter(|one| one.is_gpu());
    let gpus = gpus.filter_map(|gpu| {
        let node = scene.number(&format!("{}/numa_node", gpu.folder()))?;
        Some((format!("GPU {}", gpu.address), node))
    });
    let cards = scene
        .rdma()
        .iter()
        .filter_map(|one| Some((one.name.clone(), one.numa?)));
    gpus.chain(cards).collect()
}
