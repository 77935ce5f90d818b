//! The kernel's EFA driver.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Pci;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "efa-driver",
    what: "the kernel's EFA driver: loaded where there are EFA devices, and its version",
    why: "Without it `fi_info -p efa` shows nothing and NCCL uses TCP; after installing it a reboot is needed.",
    reads: "`/sys/module/efa/version`, `/sys/bus/pci/devices/*/{vendor,device}`",
    hint: "`modprobe efa`; if there is no such module, run the EFA installer on the host and reboot",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let on_bus = hardware::pci(scene)
        .iter()
        .filter(|one| Pci::is_efa(one))
        .count();
    let is_loaded = scene.is_folder("/sys/module/efa");
    let mut look = Look::default();
    match (on_bus, is_loaded) {
        (0, false) => return Look::none("no EFA device on the PCI bus and no driver"),
        (count, false) => {
            look.share("efa-driver", "none");
            look.fail(format!("{count} EFA devices on the PCI bus and no driver"));
        }
        (_, true) => {
            let version = scene.text("/sys/module/efa/version");
            let version = version.unwrap_or_else(|| "of the kernel's own version".to_owned());
            look.share("efa-driver", &version);
            look.ok(version);
        }
    }
    look
}
