//! What kind of machine this is.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::instance;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "machine",
    what: "the machine's model, its kernel, and whether this is a container",
    why: "It says what the other checks hold the machine against; nodes of different kinds in one job are as fast as the slowest.",
    reads: "`/sys/class/dmi/id/{sys_vendor,product_name,board_asset_tag}`, `/proc/sys/kernel/osrelease`, `/.dockerenv`, `/run/.containerenv`, `ENROOT_ROOTFS`",
    hint: "use nodes of one kind",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let mut look = Look::default();
    match instance::name(scene) {
        None => look.ok("the firmware does not name the model, or `/sys` does not show it"),
        Some(model) => {
            look.share("model", &model);
            let vendor = scene
                .text("/sys/class/dmi/id/sys_vendor")
                .unwrap_or_default();
            look.ok(format!("{vendor} {model}").trim().to_owned());
        }
    }
    if instance::is_ec2(scene)
        && let Some(id) = scene.text("/sys/class/dmi/id/board_asset_tag")
    {
        look.own("instance-id", &id);
        look.ok(format!("instance {id}"));
    }
    if let Some(kernel) = scene.text("/proc/sys/kernel/osrelease") {
        look.share("kernel", &kernel);
        look.ok(format!("Linux {kernel}"));
    }
    if let Some(kind) = container(scene) {
        look.ok(format!("in a container ({kind})"));
    }
    look
}

fn container(scene: &Scene) -> Option<&'static str> {
    let signs: [(&str, bool); 4] = [
        ("Docker", scene.exists("/.dockerenv")),
        ("Podman", scene.exists("/run/.containerenv")),
        ("Enroot", scene.variable("ENROOT_ROOTFS").is_some()),
        (
            "Kubernetes",
            scene.variable("KUBERNETES_SERVICE_HOST").is_some(),
        ),
    ];
    signs
        .into_iter()
        .find(|(_, is_there)| *is_there)
        .map(|(name, _)| name)
}
