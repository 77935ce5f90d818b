//! Copies of libfabric.

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

pub(super) const CHECK: Check = Check {
    name: "libfabric",
    what: "every copy of libfabric, its version, and which one comes first",
    why: "NCCL's plugin for EFA needs libfabric 1.22 at least (`EFA provider requires at least libfabric version 1.22.0`), and the distribution's own copy, which knows no EFA, may be found before Amazon's.",
    reads: "`libfabric.so.1` where the loader looks and in `/opt/amazon/efa`; versions from `pkgconfig/libfabric.pc` beside it and from the package database",
    hint: "`export LD_LIBRARY_PATH=/opt/amazon/efa/lib:$LD_LIBRARY_PATH`; install the host's EFA version in the image (`efa_installer.sh -y -g --skip-kmod --skip-limit-conf --no-verify`)",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

/// What NCCL's plugin asks for.
const LEAST: (u32, u32) = (1, 22);

fn look(scene: &Scene) -> Look {
    let copies = libraries::copies(scene, &["libfabric.so.1"], None);
    let is_efa = hardware::fabric(scene) == Fabric::Efa;
    if copies.is_empty() {
        return if is_efa {
            Look::default().and(Health::Failure, "there are EFA devices and no libfabric")
        } else {
            Look::none("no EFA device and no libfabric")
        };
    }
    let mut look = Look::default();
    for copy in &copies {
        let version = version(scene, copy);
        let shown = version.as_deref().unwrap_or("of unknown version");
        let aside = if copy.is_on_path {
            ""
        } else {
            ", where the loader does not look"
        };
        look.ok(format!("{shown} at {}{aside}", copy.real));
    }
    let first = copies.iter().find(|copy| copy.is_on_path);
    let told = first.and_then(|copy| version(scene, copy));
    look.share(
        "libfabric",
        told.clone().unwrap_or_else(|| "unknown".to_owned()),
    );
    match (first, told) {
        (None, _) if is_efa => look.warn(
            "the loader does not look where libfabric is; the plugin needs a path of its own to it",
        ),
        (Some(copy), Some(told))
            if is_efa && instance::version(&told).is_some_and(|version| version < LEAST) =>
        {
            look.fail(format!(
                "{told} at {} comes first; EFA's provider needs {}.{} at least",
                copy.real, LEAST.0, LEAST.1
            ));
        }
        _ => {}
    }
    look
}

fn version(scene: &Scene, copy: &Found) -> Option<String> {
    let (folder, _) = copy.real.rsplit_once('/')?;
    let text = scene.text(&format!("{folder}/pkgconfig/libfabric.pc"));
    let line = text.as_deref().and_then(|text| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix("Version:"))
    });
    line.map(|version| version.trim().to_owned())
        .or_else(|| packaged(scene, &copy.real))
}

/// The version of the distribution's package, for a file in the distribution's folders.
fn packaged(scene: &Scene, real: &str) -> Option<String> {
    let is_own = real.starts_with("/usr/lib") || real.starts_with("/lib");
    is_own.then_some(())?;
    let status = scene.text("/var/lib/dpkg/status")?;
    let entry = status
        .split("\n\n")
        .find(|entry| entry.starts_with("Package: libfabric1\n"))?;
    let line = entry
        .lines()
        .find_map(|line| line.strip_prefix("Version: "))?;
    Some(line.trim().to_owned())
}
