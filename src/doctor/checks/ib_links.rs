//! Ports of InfiniBand and RoCE devices.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "ib-links",
    what: "state and rate of each InfiniBand or RoCE port",
    why: "A cable or transceiver that came up at a lower rate, or not at all, drags every job on the node.",
    reads: "`/sys/class/infiniband/*/ports/1/{state,phys_state,rate,link_layer}`",
    hint: "look at `ibstat` and `mlxlink -d DEVICE`; reseat or exchange the cable or transceiver",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let devices = hardware::others(scene);
    if devices.is_empty() {
        return Look::none("no InfiniBand or RoCE device");
    }
    let mut look = Look::default();
    let rates: Vec<(u32, &str, &str)> = devices
        .iter()
        .filter_map(|one| {
            let rate = one.rate.as_deref()?;
            let number = rate.split_whitespace().next()?.split('.').next()?;
            Some((number.parse().ok()?, one.name.as_str(), rate))
        })
        .collect();
    let most = rates.iter().map(|(rate, ..)| *rate).max().unwrap_or(0);
    for one in &devices {
        let state = one.state.as_deref().unwrap_or("of unknown state");
        let rate = rates.iter().find(|(_, name, _)| *name == one.name);
        let shown = format!(
            "{}: {state}, {}",
            one.name,
            one.rate.as_deref().unwrap_or("rate unknown")
        );
        match rate {
            _ if state != "ACTIVE" => look.warn(shown),
            Some((rate, ..)) if *rate < most => {
                look.warn(format!("{shown}: others have {most} Gb/s"));
            }
            _ => look.ok(shown),
        }
    }
    let active = devices
        .iter()
        .filter(|one| one.state.as_deref() == Some("ACTIVE"))
        .count();
    look.share(
        "active",
        format!("{active} of {} at {most} Gb/s", devices.len()),
    );
    if active == 0 {
        look.fail("no port is active");
    }
    look
}
