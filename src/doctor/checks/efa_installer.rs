//! The EFA installer's version.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::instance;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "efa-installer",
    what: "version of the EFA installer, and whether it serves this type of instance",
    why: "An image with another EFA version than its host, or an installer older than the instance type, loses devices or the plugin.",
    reads: "`/opt/amazon/efa_installed_packages`, the firmware's product name",
    hint: "install the same version on hosts and in the image: `efa_installer.sh -y` on the host, `-y -g --skip-kmod --skip-limit-conf --no-verify` in the image, after `apt-get update` in the same layer",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

const FILE: &str = "/opt/amazon/efa_installed_packages";

fn look(scene: &Scene) -> Look {
    let Some(text) = scene.text(FILE) else {
        return if hardware::fabric(scene) == Fabric::Efa {
            Look::unknown(format!(
                "there are EFA devices, but no {FILE} that says what was installed"
            ))
        } else {
            Look::none("no EFA device and no EFA installation")
        };
    };
    let mark = "EFA installer version:";
    let version = text.lines().find_map(|line| line.split_once(mark));
    let Some(version) = version.map(|(_, version)| version.trim().to_owned()) else {
        return Look::unknown(format!("{FILE} names no installer version"));
    };
    let mut look = Look::default();
    look.share("efa-installer", &version);
    let first = instance::known(scene).and_then(|one| Some((one.name, one.installer?)));
    match (first, instance::version(&version)) {
        (Some((name, first)), Some(ours)) if ours < first => {
            look.fail(format!(
                "{version} is older than {}.{}, the first for {name}",
                first.0, first.1
            ));
        }
        _ => look.ok(version),
    }
    look
}
