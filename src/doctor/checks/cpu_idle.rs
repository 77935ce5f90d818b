//! How deeply the processors sleep.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "cpu-idle",
    what: "deep idle states of the processors that are enabled",
    why: "A processor that sleeps deeply takes tens to hundreds of microseconds to wake: more than a small message takes.",
    reads: "`/sys/devices/system/cpu/cpu0/cpuidle/state*/{name,latency,disable}`",
    hint: "`cpupower idle-set -D 10` (no state that takes more than 10 µs to leave), or `intel_idle.max_cstate=1` on the kernel's command line",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

/// States that take longer to leave than this, in microseconds, are deep: C1E takes about 10.
const DEEP_US: u64 = 20;

fn look(scene: &Scene) -> Look {
    const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cpuidle";
    let states = scene.list(FOLDER);
    if states.is_empty() {
        return Look::none("no idle state is shown, as in most virtual machines");
    }
    let deep: Vec<String> = states
        .iter()
        .filter_map(|state| {
            let read = |file: &str| scene.text(&format!("{FOLDER}/{state}/{file}"));
            let latency: u64 = read("latency")?.parse().ok()?;
            let is_on = read("disable").is_none_or(|text| text == "0");
            (latency > DEEP_US && is_on)
                .then(|| format!("{} ({latency} µs)", read("name").unwrap_or_default()))
        })
        .collect();
    let mut look = Look::default();
    look.share("deep-states", deep.len().to_string());
    if deep.is_empty() {
        look.ok(format!(
            "no enabled state takes more than {DEEP_US} µs to leave"
        ));
    } else {
        look.warn(format!("enabled: {}", deep.join(", ")));
    }
    look
}
