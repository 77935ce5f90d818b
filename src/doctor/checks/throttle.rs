//! What holds the GPUs' clocks down.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::base::counted;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "throttle",
    what: "why clocks are below their highest: power cap, heat, the hardware's own slowdown",
    why: "One GPU that is held down slows all that wait for it.",
    reads: "NVML, else `nvidia-smi -q`",
    hint: "hardware slowdown and power brake: power supply and cooling of the node; thermal: fans and inlet; clocks setting: `nvidia-smi -rac`",
    scope: Scope::Host,
    drift: Health::NotApplicable,
    look,
};

fn look(scene: &Scene) -> Look {
    let told = match hardware::told(scene) {
        Ok(told) => told,
        Err(look) => return look,
    };
    let mut look = Look::default();
    for gpu in &told.gpus {
        let Some(reasons) = &gpu.throttle else {
            look.unclear(format!("GPU {}: not told", gpu.index));
            continue;
        };
        if reasons.is_empty() {
            continue;
        }
        let heat = gpu
            .temperature_c
            .map_or_else(String::new, |heat| format!(", {heat} °C"));
        let clock = gpu
            .sm_clock_mhz
            .map_or_else(String::new, |(now, most)| format!(", {now} of {most} MHz"));
        let line = format!("GPU {}: {}{clock}{heat}", gpu.index, reasons.join(", "));
        let is_hard = reasons
            .iter()
            .any(|reason| reason.starts_with("hardware") || reason.starts_with("power brake"));
        look.add(
            if is_hard {
                Health::Failure
            } else {
                Health::Warning
            },
            line,
        );
    }
    if look.is_silent() {
        look.ok(format!(
            "{}: nothing holds the clocks down",
            counted(told.gpus.len(), "GPU", "GPUs")
        ));
    }
    look
}
