//! Variables that are left over from an InfiniBand cluster.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::settings::Settings;
use super::super::settings::unset;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "infiniband-variables",
    what: "`NCCL_IB_*` and others for InfiniBand, on a machine with EFA or without any such device",
    why: "Recipes for InfiniBand carry them; on EFA they push NCCL off the plugin or do nothing, and the best network setting there is none.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`",
    hint: "unset all `NCCL_IB_*`",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let settings = Settings::of(scene);
    let all: Vec<_> = ["NCCL_IB_", "UCX_NET_DEVICES"]
        .iter()
        .flat_map(|start| settings.starting(start))
        .collect();
    if all.is_empty() {
        return Look::default().and(Health::Ok, "none is set");
    }
    let mut look = Look::default();
    let fabric = hardware::fabric(scene);
    for (name, setting) in &all {
        let shown = setting.shown(name);
        look.share(*name, setting.value.trim());
        match fabric {
            Fabric::Efa => look.warn(format!("{shown}: this machine has EFA")),
            Fabric::None => look.warn(format!("{shown}: this machine has no InfiniBand device")),
            Fabric::InfiniBand => adapter(scene, &mut look, name, &setting.value, &shown),
        }
    }
    if fabric != Fabric::InfiniBand {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        look.hint(unset(&names));
    }
    look
}

/// Settings that are right on InfiniBand, as long as they name what is there.
fn adapter(scene: &Scene, look: &mut Look, name: &str, value: &str, shown: &str) {
    match name {
        "NCCL_IB_DISABLE" if value.trim() == "1" => {
            look.fail(format!("{shown}: InfiniBand is not used"));
        }
        "NCCL_IB_HCA" if !names_a_device(scene, value.trim()) => {
            look.fail(format!("{shown}: there is no such device"));
        }
        _ => look.ok(shown),
    }
}

/// Whether any device is left by the list: names by their start, `=` for all of a name, `^` for all
/// but these, `:PORT` behind.
///
/// # Source
/// NCCL's guide, `NCCL_IB_HCA`.
fn names_a_device(scene: &Scene, list: &str) -> bool {
    let (but, list) = match list.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    let (exact, list) = match list.strip_prefix('=') {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    let devices = hardware::others(scene);
    let is_named = |device: &str| {
        let mut names = list.split(',').filter_map(|one| one.split(':').next());
        names.any(|name| {
            if exact {
                device == name
            } else {
                device.starts_with(name)
            }
        })
    };
    devices.iter().any(|device| is_named(&device.name) != but)
}
