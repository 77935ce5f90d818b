//! GDRCopy: its device, module and library.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::libraries;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "gdrcopy",
    what: "`/dev/gdrdrv`, the module `gdrdrv` and `libgdrapi.so.2`",
    why: "EFA's plugin and NCCL use GDRCopy to write small things into GPU memory; without it small messages are slower and some set-ups stage through the host.",
    reads: "`/dev/gdrdrv`, `/sys/module/gdrdrv/version`, `libgdrapi.so.2` where the loader looks",
    hint: "`modprobe gdrdrv` on the host, and show the container `/dev/gdrdrv` (Docker: `--device /dev/gdrdrv`; Enroot: `ENROOT_RESTRICT_DEV n`)",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let module = scene.is_folder("/sys/module/gdrdrv");
    let device = scene.exists("/dev/gdrdrv");
    let is_wanted = hardware::fabric(scene) != Fabric::None && hardware::has_gpus(scene);
    if !is_wanted && !module && !device {
        return Look::none("no GPU with a fast network, and no GDRCopy");
    }
    let mut look = Look::default();
    if module {
        let version = scene
            .text("/sys/module/gdrdrv/version")
            .unwrap_or_else(|| "unknown".to_owned());
        look.share("gdrdrv", &version);
        look.ok(format!("module {version}"));
    } else {
        look.share("gdrdrv", "none");
    }
    match (device, scene.may_use("/dev/gdrdrv")) {
        (true, Ok(())) => look.ok("/dev/gdrdrv is usable"),
        (true, Err(why)) => look.warn(format!("/dev/gdrdrv: {why}")),
        (false, _) if module => look.warn("the module is loaded, but there is no /dev/gdrdrv here"),
        (false, _) => look.warn("neither the module `gdrdrv` nor /dev/gdrdrv is here"),
    }
    let library = libraries::copies(scene, &["libgdrapi.so.2"], None);
    match library.iter().find(|copy| copy.is_on_path) {
        Some(copy) => look.ok(format!("library at {}", copy.real)),
        None => look.warn("the loader finds no `libgdrapi.so.2`"),
    }
    look
}
