//! How the processors choose their clocks.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    name: "cpu-governor",
    what: "the processors' frequency governor",
    why: "Anything but `performance` lets the clocks fall between messages, and small messages wait for them to rise.",
    reads: "`/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor`",
    hint: "`cpupower frequency-set -g performance`",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let cpus = scene.list("/sys/devices/system/cpu").into_iter();
    let cpus = cpus.filter(|name| {
        name.strip_prefix("cpu")
            .is_some_and(|rest| rest.parse::<u32>().is_ok())
    });
    let governors: BTreeSet<String> = cpus
        .filter_map(|cpu| {
            scene.text(&format!(
                "/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"
            ))
        })
        .collect();
    if governors.is_empty() {
        return Look::none("no governor is shown, as in most virtual machines");
    }
    let shown = governors.iter().cloned().collect::<Vec<_>>().join(", ");
    let mut look = Look::default();
    look.share("governor", &shown);
    if governors.iter().all(|one| one == "performance") {
        look.ok(shown);
    } else {
        look.warn(shown);
    }
    look
}
