//! EFA devices: how many there are, whether they are up, and how many there should be.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::instance;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "efa-devices",
    what: "EFA devices: how many there are and should be on this type of instance, and whether each is up",
    why: "A launch template with fewer EFA interfaces gives 1/N of the bandwidth while all else looks right; other RDMA devices beside them are bridges and are ignored.",
    reads: "`/sys/class/infiniband/*` whose driver is `efa`, the firmware's product name",
    hint: "attach all interfaces as EFA (`InterfaceType=efa`, or `efa-only`, one for each network card) in the launch template, and reboot",
    scope: Scope::Host,
    drift: Health::Failure,
    look,
};

fn look(scene: &Scene) -> Look {
    let devices = hardware::efas(scene);
    let known = instance::known(scene);
    let on_bus = hardware::pci(scene)
        .iter()
        .filter(|one| one.is_efa())
        .count();
    if devices.is_empty() && on_bus == 0 && known.is_none() {
        return Look::none("no EFA device, and no instance type that is known to have any");
    }
    let mut look = Look::default();
    look.share("efa-devices", devices.len().to_string());
    let down = devices
        .iter()
        .filter(|one| one.state.as_deref().is_some_and(|state| state != "ACTIVE"));
    for one in down {
        look.fail(format!(
            "{} is {}",
            one.name,
            one.state.as_deref().unwrap_or_default()
        ));
    }
    let found = devices.len();
    match known {
        Some(one) if found == one.efas as usize => look.ok(format!("{found}, as {} has", one.name)),
        Some(one) if found < one.efas as usize => {
            look.fail(format!(
                "{found} of the {} that {} has, each of {} Gb/s",
                one.efas, one.name, one.gbit
            ));
        }
        Some(one) => look.warn(format!(
            "{found}, more than the {} that {} has",
            one.efas, one.name
        )),
        None if found < on_bus => look.fail(format!("{found} of the {on_bus} on the PCI bus")),
        None => look.ok(format!(
            "{found}; how many there should be is not known for this machine"
        )),
    }
    let bridges = scene.rdma().len() - found;
    if bridges > 0 {
        look.ok(format!(
            "{bridges} other RDMA devices beside them are ignored"
        ));
    }
    look
}
