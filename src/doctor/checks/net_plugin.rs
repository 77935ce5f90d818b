//! Copies of NCCL's network plugin for Libfabric, and whether NCCL would find one.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::instance;
use super::super::libraries;
use super::super::libraries::Found;
use crate::record::Health;
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    name: "net-plugin",
    what: "every copy of NCCL's plugin for EFA (aws-ofi-nccl), its version, and whether NCCL would find one",
    why: "Without the plugin NCCL says `Using network Socket`, gives no error and is several times slower; a stale copy of an old image is found before the installer's.",
    reads: "`libnccl-net*.so` where the loader looks and in `/opt/amazon/ofi-nccl`, `/opt/amazon/aws-ofi-nccl`, `/opt/aws-ofi-nccl`; versions from the files' own text",
    hint: "`export LD_LIBRARY_PATH=/opt/amazon/ofi-nccl/lib:/opt/amazon/efa/lib:$LD_LIBRARY_PATH` (some installers use `lib64` or `lib/x86_64-linux-gnu`); install in the image what the host has, and do not mount host libraries in",
    scope: Scope::Process,
    drift: Health::Failure,
    look,
};

/// Names under which the plugin was shipped; `libnccl-net-ofi.so` from 1.15 on.
pub(super) const NAMES: &[&str] = &[
    "libnccl-net-ofi.so",
    "libnccl-net-aws-ofi.so",
    "libnccl-net.so",
];

fn look(scene: &Scene) -> Look {
    let copies = libraries::copies(scene, NAMES, None);
    let is_efa = hardware::fabric(scene) == Fabric::Efa;
    if copies.is_empty() && !is_efa {
        return Look::none("no EFA device and no plugin");
    }
    let mut look = Look::default();
    let mut versions = BTreeSet::new();
    for copy in &copies {
        let version = version(scene, copy);
        let shown = version.as_deref().map_or_else(
            || "of unknown kind".to_owned(),
            |version| format!("aws-ofi-nccl {version}"),
        );
        let aside = if copy.is_on_path {
            ""
        } else {
            ", where the loader does not look"
        };
        look.ok(format!("{shown} at {}{aside}", copy.real));
        versions.extend(version);
    }
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        look.warn(format!(
            "copies of different versions: {}",
            versions.join(", ")
        ));
    }
    let found = copies.iter().find(|copy| copy.is_on_path);
    look.share(
        "plugin",
        found
            .and_then(|copy| version(scene, copy))
            .unwrap_or_else(|| "none".to_owned()),
    );
    match found {
        None if is_efa => {
            look.fail("there are EFA devices, and the loader finds no plugin: NCCL would use TCP");
        }
        None => {}
        Some(copy) => old(scene, &mut look, copy),
    }
    look
}

pub(super) fn version(scene: &Scene, copy: &Found) -> Option<String> {
    libraries::version_inside(scene, &copy.real, "aws-ofi-nccl ")
}

/// Against the first version that serves this type of instance.
fn old(scene: &Scene, look: &mut Look, copy: &Found) {
    let (Some(instance), Some(told)) = (instance::known(scene), version(scene, copy)) else {
        return;
    };
    if let (Some(first), Some(ours)) = (instance.plugin, instance::version(&told))
        && ours < first
    {
        look.fail(format!(
            "{told} is older than {}.{}, the first for {}",
            first.0, first.1, instance.name
        ));
    }
}
