//! The kernel's moving of pages between NUMA nodes.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "numa-balancing",
    what: "automatic NUMA balancing",
    why: "It unmaps pages to see who uses them, which shows as jitter, most where buffers are pinned.",
    reads: "`/proc/sys/kernel/numa_balancing`",
    hint: "`sysctl -w kernel.numa_balancing=0`",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let Some(text) = scene.text("/proc/sys/kernel/numa_balancing") else {
        return Look::none("this kernel has none");
    };
    let mut look = Look::default();
    look.share("numa-balancing", &text);
    match text.as_str() {
        "0" => look.ok("off"),
        _ => look.warn(format!("on ({text})")),
    }
    look
}
