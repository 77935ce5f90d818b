//! The PCIe links of GPUs and network cards.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "pcie",
    what: "width and generation of the PCIe links of GPUs and RDMA devices, now against the most",
    why: "A link that trained at half of its lanes makes one GPU or one network card slow; the generation of an idle GPU may be lower than under load.",
    reads: "NVML, else `nvidia-smi -q`; `/sys/class/infiniband/*/device/{current,max}_link_{width,speed}`",
    hint: "look again under load (`nvidia-smi -q -d PERFORMANCE`); if the width stays below the most, reseat the card or exchange the node",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let mut look = Look::default();
    if let Ok(told) = scene.gpus() {
        for gpu in &told.gpus {
            gpu_link(&mut look, gpu);
        }
        if told.gpus.iter().all(|gpu| gpu.pcie_width.is_none()) && !told.gpus.is_empty() {
            look.unclear("the driver does not tell the GPUs' PCIe links");
        }
    }
    for device in scene.rdma() {
        card_link(scene, &mut look, &device.name);
    }
    if look.is_silent() {
        return if hardware::has_gpus(scene) {
            Look::unknown("neither the driver nor `/sys` tells PCIe links")
        } else {
            Look::none("no GPU and no RDMA device with a PCIe link")
        };
    }
    look
}

fn gpu_link(look: &mut Look, gpu: &crate::record::GpuHealth) {
    let (Some((width, most)), generation) = (gpu.pcie_width, gpu.pcie_gen) else {
        return;
    };
    let (now, best) = generation.unwrap_or_default();
    let shown = format!(
        "GPU {}: {width} of {most} lanes, generation {now} of {best}",
        gpu.index
    );
    if let Some(replays) = gpu.pcie_replays.filter(|replays| *replays > 0) {
        look.warn(format!(
            "GPU {}: {replays} PCIe replays since the driver was loaded",
            gpu.index
        ));
    }
    if width < most {
        look.fail(shown);
    } else if now < best {
        look.ok(format!("{shown}, which an idle GPU may have"));
    } else {
        look.ok(shown);
    }
}

/// Virtual machines have `Unknown` or 255 where the hypervisor hides the link.
fn card_link(scene: &Scene, look: &mut Look, name: &str) {
    let folder = format!("/sys/class/infiniband/{name}/device");
    let width = |file: &str| {
        let width: u32 = scene.number(&format!("{folder}/{file}"))?;
        (1..=32).contains(&width).then_some(width)
    };
    let speed = |file: &str| {
        scene
            .text(&format!("{folder}/{file}"))
            .filter(|text| text.contains("GT/s"))
    };
    let (Some(now), Some(most)) = (width("current_link_width"), width("max_link_width")) else {
        return;
    };
    let speeds = (speed("current_link_speed"), speed("max_link_speed"));
    let shown = format!(
        "{name}: {now} of {most} lanes, {}",
        speeds.0.as_deref().unwrap_or("speed unknown")
    );
    match speeds {
        _ if now < most => look.fail(shown),
        (Some(now), Some(most)) if now != most => look.fail(format!("{shown}, of {most}")),
        _ => look.ok(shown),
    }
}
