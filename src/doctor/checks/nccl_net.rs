//! `NCCL_NET`: the network that NCCL is told to use.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::instance;
use super::super::libraries;
use super::super::settings::Settings;
use super::super::settings::unset;
use crate::record::Health;

use super::net_plugin;

pub(super) const CHECK: Check = Check {
    name: "nccl-net",
    what: "`NCCL_NET`, against the devices and the plugin's generation",
    why: "`NCCL_NET=IB` on EFA, or the plugin's old name (`AWS Libfabric`) with a new plugin, ends the initialisation; `NCCL_NET=Socket` is TCP.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`; the plugin's version",
    hint: "`unset NCCL_NET`: without it NCCL takes the fastest network that it finds",
    scope: Scope::Process,
    drift: Health::Failure,
    look,
};

/// From this version on the plugin calls itself `Libfabric`.
///
/// # Source
/// aws-ofi-nccl, release notes of 1.13.0.
const RENAMED: (u32, u32) = (1, 13);

fn look(scene: &Scene) -> Look {
    let settings = Settings::of(scene);
    let Some(setting) = settings.get("NCCL_NET") else {
        return Look::default().and(Health::Ok, "not set, which is best");
    };
    let shown = setting.shown("NCCL_NET");
    let mut look = Look::default();
    look.share("NCCL_NET", setting.value.trim());
    let name = setting.value.trim().to_ascii_lowercase();
    match (name.as_str(), hardware::fabric(scene)) {
        ("socket", Fabric::None) => look.ok(format!("{shown}: there is nothing faster here")),
        ("socket", _) => look.fail(format!("{shown}: TCP, although there are faster devices")),
        ("ib", Fabric::Efa) => look.fail(format!(
            "{shown}: EFA is not InfiniBand; NCCL will not start"
        )),
        ("ib", Fabric::None) => look.fail(format!(
            "{shown}: there is no InfiniBand device; NCCL will not start"
        )),
        ("ib", Fabric::InfiniBand) => look.ok(shown),
        ("aws libfabric" | "libfabric", _) => generation(scene, &mut look, &name, &shown),
        _ => look.warn(format!(
            "{shown}: NCCL will not start unless a plugin has this name"
        )),
    }
    look.hint(unset(&["NCCL_NET"]));
    look
}

/// The name of the other generation.
fn generation(scene: &Scene, look: &mut Look, name: &str, shown: &str) {
    let copies = libraries::copies(scene, net_plugin::NAMES, None);
    let first = copies.iter().find(|copy| copy.is_on_path);
    let told = first.and_then(|copy| net_plugin::version(scene, copy));
    let version = told.as_deref().and_then(instance::version);
    let is_old_name = name == "aws libfabric";
    match (version, told) {
        (Some(version), Some(told)) if is_old_name == (version < RENAMED) => {
            look.ok(format!("{shown}, as aws-ofi-nccl {told} is called"));
        }
        (Some(_), Some(told)) => {
            look.fail(format!("{shown}: aws-ofi-nccl {told} has the other name"));
        }
        _ => look.warn(format!(
            "{shown}: whether the plugin has this name is not known"
        )),
    }
}
