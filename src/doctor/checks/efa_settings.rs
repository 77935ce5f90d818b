//! Settings of EFA and RDMA that older recipes carry.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::instance;
use super::super::settings;
use super::super::settings::Harm;
use super::super::settings::Settings;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "efa-settings",
    what: "`FI_EFA_USE_DEVICE_RDMA`, `RDMAV_FORK_SAFE`, `FI_EFA_FORK_SAFE`, `FI_EFA_USE_HUGE_PAGE`",
    why: "`FI_EFA_USE_DEVICE_RDMA=1` is needless since libfabric 1.18 and ends runs on g5; safety of forks together with huge pages ends in memory errors.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`",
    hint: "unset them: libfabric 1.18 and later decide for themselves",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

const HARMS: &[Harm] = &[
    Harm {
        name: "FI_EFA_USE_DEVICE_RDMA",
        when: settings::on,
        health: Health::Warning,
        effect: "needless since libfabric 1.18",
    },
    Harm {
        name: "FI_EFA_USE_DEVICE_RDMA",
        when: settings::off,
        health: Health::Warning,
        effect: "no RDMA by the device, which is slower",
    },
    Harm {
        name: "RDMAV_FORK_SAFE",
        when: settings::on,
        health: Health::Warning,
        effect: "copies pages at each registration, and conflicts with huge pages",
    },
    Harm {
        name: "FI_EFA_FORK_SAFE",
        when: settings::on,
        health: Health::Warning,
        effect: "copies pages at each registration, and conflicts with huge pages",
    },
];

fn look(scene: &Scene) -> Look {
    let mut look = settings::harms(scene, HARMS, "settings of EFA");
    let settings = Settings::of(scene);
    let is_on = |name: &str| settings.value(name).is_some_and(settings::on);
    let is_fork_safe = settings.get("RDMAV_FORK_SAFE").is_some() || is_on("FI_EFA_FORK_SAFE");
    if is_fork_safe && is_on("FI_EFA_USE_HUGE_PAGE") {
        look.fail("safety of forks together with `FI_EFA_USE_HUGE_PAGE`: memory errors");
    }
    let is_g5 = instance::name(scene).is_some_and(|name| name.starts_with("g5."));
    if is_g5 && is_on("FI_EFA_USE_DEVICE_RDMA") && hardware::fabric(scene) == Fabric::Efa {
        look.fail("`FI_EFA_USE_DEVICE_RDMA=1` ends runs on g5, whose devices have no RDMA");
    }
    look
}
