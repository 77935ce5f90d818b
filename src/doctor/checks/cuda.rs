//! Copies of the CUDA runtime, and the libraries for newer CUDA on an older driver.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::instance;
use super::super::libraries;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "cuda",
    what: "copies of the CUDA runtime, and whether an image's CUDA is newer than the driver",
    why: "An image whose CUDA is newer than the driver works through forward compatibility only (`CUDA Forward Compatibility mode ENABLED`), which is normal where its libraries are there and `CUDA driver version is insufficient` where they are not.",
    reads: "`libcudart.so.*` where the loader looks and vendors install; `/usr/local/cuda/version.json`, `/usr/local/cuda/compat`",
    hint: "use an image for the driver's CUDA or a newer driver; with a data-centre GPU the package `cuda-compat` serves a newer CUDA too",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let copies = libraries::copies(
        scene,
        &["libcudart.so.13", "libcudart.so.12", "libcudart.so"],
        Some("nvidia/cuda_runtime/lib"),
    );
    let served = scene.gpus().ok().and_then(|told| told.cuda.clone());
    let toolkit = toolkit(scene);
    if copies.is_empty() && toolkit.is_none() {
        return if hardware::has_gpus(scene) {
            Look::default().and(Health::Ok, "no CUDA runtime here; NCCL brings its own")
        } else {
            Look::none("no GPU and no CUDA runtime")
        };
    }
    let mut look = Look::default();
    for copy in &copies {
        let version = libraries::version_in_name(&copy.real);
        look.ok(format!(
            "runtime {} at {}",
            version.as_deref().unwrap_or("of unknown version"),
            copy.real
        ));
    }
    if let Some(toolkit) = &toolkit {
        look.share("toolkit", toolkit);
        look.ok(format!("toolkit {toolkit} in /usr/local/cuda"));
        compare(scene, &mut look, toolkit, served.as_deref());
    }
    look
}

/// The image's CUDA against what the driver serves.
fn compare(scene: &Scene, look: &mut Look, toolkit: &str, served: Option<&str>) {
    let (Some(ours), Some(drivers)) = (
        instance::version(toolkit),
        served.and_then(instance::version),
    ) else {
        return;
    };
    if ours <= drivers {
        return;
    }
    let compat = scene.list("/usr/local/cuda/compat");
    let has_compat = compat.iter().any(|name| name.starts_with("libcuda.so"));
    let line = format!(
        "CUDA {toolkit} is newer than the driver's {}",
        served.unwrap_or_default()
    );
    if has_compat || ours.0 == drivers.0 {
        look.ok(format!(
            "{line}: forward or minor-version compatibility is in use"
        ));
    } else {
        look.fail(format!(
            "{line}, and /usr/local/cuda/compat has no `libcuda.so`"
        ));
    }
}

/// `{"cuda": {"name": "CUDA SDK", "version": "13.0.1"}, …}`.
fn toolkit(scene: &Scene) -> Option<String> {
    let text = scene.text("/usr/local/cuda/version.json")?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    json["cuda"]["version"].as_str().map(str::to_owned)
}
