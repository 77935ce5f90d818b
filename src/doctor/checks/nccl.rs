//! Every copy of NCCL, and which one would load.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::libraries;
use super::super::libraries::Found;
use crate::probe;
use crate::probe::library::Found as Loaded;
use crate::record::Health;
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    name: "nccl",
    what: "every copy of NCCL that is installed, its version, and which one would load",
    why: "Ranks with different versions of NCCL do not start or hang; with two copies on a machine the benchmark may measure one and the training use the other, such as the one in PyTorch's wheel.",
    reads: "`libnccl.so.2` where the loader looks (`LD_LIBRARY_PATH`, `/etc/ld.so.conf`), in vendors' folders and in Python's packages; versions from file names, else from the files' own text",
    hint: "name the one that is meant: `--nccl-lib PATH` or `NCCLBENCH_NCCL`; install one version on all nodes",
    scope: Scope::Process,
    drift: Health::Failure,
    look,
};

fn look(scene: &Scene) -> Look {
    let copies = libraries::copies(
        scene,
        &["libnccl.so.2", "libnccl.so"],
        Some("nvidia/nccl/lib"),
    );
    let copies: Vec<(String, Option<String>)> =
        copies.iter().map(|copy| described(scene, copy)).collect();
    let mut look = Look::default();
    let loaded = if scene.is_live() {
        live(scene, &mut look)
    } else {
        stored(scene, &mut look)
    };
    if loaded.is_none() && copies.is_empty() && !hardware::has_gpus(scene) {
        return Look::none("no GPU and no NCCL");
    }
    let versions: BTreeSet<&String> = copies
        .iter()
        .filter_map(|(_, version)| version.as_ref())
        .collect();
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().map(String::as_str).collect();
        look.warn(format!(
            "copies of different versions: {}",
            versions.join(", ")
        ));
    }
    for (text, _) in &copies {
        look.ok(format!("a copy: {text}"));
    }
    look
}

/// A copy as people read it, and its version.
fn described(scene: &Scene, copy: &Found) -> (String, Option<String>) {
    let version = version(scene, &copy.real);
    let shown = version.as_deref().unwrap_or("of unknown version");
    let aside = if copy.is_on_path {
        ""
    } else {
        ", where the loader does not look"
    };
    (format!("{shown} at {}{aside}", copy.real), version)
}

/// A runtime package carries the version in its name, a wheel only inside.
fn version(scene: &Scene, path: &str) -> Option<String> {
    let inside = || libraries::version_inside(scene, path, "NCCL version ");
    let told = libraries::version_in_name(path).or_else(inside)?;
    Some(told.split('+').next().unwrap_or_default().to_owned())
}

/// What the loader really gives.
fn live(scene: &Scene, look: &mut Look) -> Option<String> {
    match probe::library::nccl(scene.nccl_lib()) {
        Loaded::Loaded(record) => {
            look.ok(format!(
                "{} would load, from {}",
                record.version, record.path
            ));
            look.share("nccl", &record.version);
            Some(record.version)
        }
        Loaded::Absent { why, .. } => {
            absent(scene, look, &why);
            None
        }
    }
}

/// What the loader would give under a root.
fn stored(scene: &Scene, look: &mut Look) -> Option<String> {
    let found = match scene.nccl_lib() {
        Some(path) => scene.exists(path).then(|| path.to_owned()),
        None => libraries::copies(scene, &["libnccl.so.2", "libnccl.so"], None)
            .into_iter()
            .find(|copy| copy.is_on_path)
            .map(|copy| copy.real),
    };
    let Some(path) = found else {
        let what = scene.nccl_lib().unwrap_or("libnccl.so.2");
        absent(scene, look, &format!("the loader would not find `{what}`"));
        return None;
    };
    let version = version(scene, &path).unwrap_or_else(|| "of unknown version".to_owned());
    look.ok(format!("{version} would load, from {path}"));
    look.share("nccl", &version);
    Some(version)
}

fn absent(scene: &Scene, look: &mut Look, why: &str) {
    look.share("nccl", "none");
    if hardware::has_gpus(scene) || scene.nccl_lib().is_some() {
        look.fail(format!("none would load: {why}"));
    } else {
        look.ok(format!("none would load, and there is no GPU: {why}"));
    }
}
