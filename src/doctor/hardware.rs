//! Devices as the kernel lists them.

use super::Look;
use super::Scene;
use crate::probe::rdma;
use crate::probe::rdma::Device;
use crate::record::GpuHealths;

const NVIDIA: &str = "0x10de";
const AMAZON: &str = "0x1d0f";

/// A device on the PCI bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pci {
    /// `0000:18:00.0`.
    pub(super) address: String,
    pub(super) vendor: String,
    pub(super) device: String,
    /// `0x030200`.
    pub(super) class: String,
}

impl Pci {
    /// A display or 3D controller of NVIDIA.
    pub(super) fn is_gpu(&self) -> bool {
        self.vendor == NVIDIA && self.class.starts_with("0x03")
    }

    /// A bridge of NVIDIA that is no PCI bridge: an NVSwitch.
    pub(super) fn is_nvswitch(&self) -> bool {
        self.vendor == NVIDIA && self.class.starts_with("0x0680")
    }

    /// # Source
    /// Linux, `drivers/infiniband/hw/efa/efa_main.c`, its table of devices.
    pub(super) fn is_efa(&self) -> bool {
        self.vendor == AMAZON && self.device.starts_with("0xefa")
    }

    /// The device's folder.
    pub(super) fn folder(&self) -> String {
        format!("/sys/bus/pci/devices/{}", self.address)
    }
}

/// Every device on the PCI bus; none where `/sys` is hidden.
pub(super) fn pci(scene: &Scene) -> &[Pci] {
    scene.pci.get_or_init(|| on_bus(scene))
}

fn on_bus(scene: &Scene) -> Vec<Pci> {
    let all = scene.list("/sys/bus/pci/devices").into_iter();
    let read = |address: &str, file: &str| {
        let path = format!("/sys/bus/pci/devices/{address}/{file}");
        scene.text(&path).unwrap_or_default()
    };
    all.map(|address| Pci {
        vendor: read(&address, "vendor"),
        device: read(&address, "device"),
        class: read(&address, "class"),
        address,
    })
    .collect()
}

/// What carries bytes between hosts here, by the devices that the kernel lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fabric {
    Efa,
    InfiniBand,
    None,
}

/// EFA where there is any of it: beside it the others are bridges that NCCL does not use.
pub(super) fn fabric(scene: &Scene) -> Fabric {
    if !efas(scene).is_empty() || pci(scene).iter().any(Pci::is_efa) {
        Fabric::Efa
    } else if others(scene).is_empty() {
        Fabric::None
    } else {
        Fabric::InfiniBand
    }
}

/// EFA devices.
pub(super) fn efas(scene: &Scene) -> Vec<Device> {
    let is_efa = |one: &Device| one.driver.as_deref() == Some("efa");
    let all = scene.rdma().iter();
    all.filter(|one| is_efa(one)).cloned().collect()
}

/// InfiniBand and RoCE devices; none where they are bridges beside EFA.
pub(super) fn others(scene: &Scene) -> Vec<Device> {
    let all = scene.rdma();
    let is_efa = |one: &Device| one.driver.as_deref() == Some("efa");
    if all.iter().any(is_efa) {
        Vec::new()
    } else {
        all.to_vec()
    }
}

/// Whether there is any GPU of NVIDIA, by the bus, the driver or the device files.
pub(super) fn has_gpus(scene: &Scene) -> bool {
    pci(scene).iter().any(Pci::is_gpu)
        || !scene.list("/proc/driver/nvidia/gpus").is_empty()
        || scene.gpus().is_ok_and(|told| !told.gpus.is_empty())
}

/// How many GPUs the node has, as far as this process can tell.
pub(super) fn n_gpus(scene: &Scene) -> usize {
    let on_bus = pci(scene).iter().filter(|one| one.is_gpu()).count();
    let told = scene.gpus().map_or(0, |told| told.gpus.len());
    let driver = scene.list("/proc/driver/nvidia/gpus").len();
    on_bus.max(told).max(driver)
}

/// The state of the GPUs, where there are any and it is told; else what a check of them says.
pub(super) fn told(scene: &Scene) -> Result<&GpuHealths, Look> {
    match scene.gpus() {
        Ok(told) if !told.gpus.is_empty() => Ok(told),
        Err(why) if has_gpus(scene) => Err(Look::unknown(why.to_owned())),
        _ => Err(Look::none("no GPU")),
    }
}

impl Scene {
    /// Devices of `/sys/class/infiniband`.
    pub(super) fn rdma(&self) -> &[Device] {
        let look = || rdma::devices_in(&self.place("/sys/class/infiniband"));
        self.rdma.get_or_init(look)
    }
}
