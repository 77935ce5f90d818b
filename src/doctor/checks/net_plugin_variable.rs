//! `NCCL_NET_PLUGIN`: which plugin NCCL is told to load.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::libraries;
use super::super::settings::Settings;
use super::super::settings::unset;
use super::net_plugin;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "net-plugin-variable",
    what: "`NCCL_NET_PLUGIN`, and whether the library that it names can be found",
    why: "NVIDIA's images set it to `ofi`; a recipe that changes it, or `none` that was left over from a test, makes NCCL fall back to TCP without an error.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`; `libnccl-net-NAME.so` where the loader looks",
    hint: "`export NCCL_NET_PLUGIN=ofi` in NVIDIA's images, else `unset NCCL_NET_PLUGIN`",
    scope: Scope::Process,
    drift: Health::Failure,
    look,
};

fn look(scene: &Scene) -> Look {
    let settings = Settings::of(scene);
    let Some(setting) = settings.get("NCCL_NET_PLUGIN") else {
        return Look::default().and(
            Health::Ok,
            "not set: NCCL takes `libnccl-net.so`, and from 2.28 on the plugins that it knows",
        );
    };
    let shown = setting.shown("NCCL_NET_PLUGIN");
    let named = setting.value.trim();
    let is_fast = hardware::fabric(scene) != Fabric::None;
    let mut look = Look::default();
    look.share("NCCL_NET_PLUGIN", named);
    if named == "none" {
        let health = if is_fast {
            Health::Failure
        } else {
            Health::Warning
        };
        look.add(health, format!("{shown}: NCCL loads no plugin"));
        look.hint(unset(&["NCCL_NET_PLUGIN"]));
        return look;
    }
    let missing: Vec<&str> = named
        .split(',')
        .map(str::trim)
        .filter(|one| !is_there(scene, one))
        .collect();
    if missing.is_empty() {
        look.ok(shown.clone());
    } else {
        let health = if hardware::fabric(scene) == Fabric::Efa {
            Health::Failure
        } else {
            Health::Warning
        };
        look.add(
            health,
            format!("{shown}: the loader finds no {}", missing.join(", ")),
        );
    }
    let is_ofi = |one: &str| one.contains("ofi");
    if hardware::fabric(scene) == Fabric::Efa && !named.split(',').any(is_ofi) {
        look.fail(format!(
            "{shown}: there are EFA devices, which `ofi` serves"
        ));
    }
    look
}

/// Whether a plugin can be found: by path, by its file's name, or by the name between.
///
/// # Source
/// NCCL, `src/plugin/plugin_open.cc`: the name itself, then `libnccl-net-NAME.so`.
fn is_there(scene: &Scene, named: &str) -> bool {
    if named.starts_with('/') {
        return scene.exists(named);
    }
    let whole = format!("libnccl-net-{named}.so");
    let copies = libraries::copies(scene, &[named, &whole], None);
    let renamed = named == "ofi" || named == "aws-ofi";
    let any = renamed.then(|| libraries::copies(scene, net_plugin::NAMES, None));
    let all = copies.into_iter().chain(any.unwrap_or_default());
    all.into_iter().any(|copy| copy.is_on_path)
}
