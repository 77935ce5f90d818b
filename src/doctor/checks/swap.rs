//! Memory that was moved to disk.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::look::bytes;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "swap",
    what: "whether swap is in use",
    why: "A page that must come back from disk takes milliseconds, in the middle of anything.",
    reads: "`/proc/swaps`",
    hint: "`swapoff -a`, or find out who needs more memory than there is",
    scope: Scope::Host,
    drift: Health::NotApplicable,
    look,
};

fn look(scene: &Scene) -> Look {
    let table = match scene.read("/proc/swaps") {
        Ok(table) => table,
        Err(why) => return Look::unknown(why),
    };
    let used = |line: &str| line.split_whitespace().nth(3)?.parse::<u64>().ok();
    let used: Vec<u64> = table.lines().skip(1).filter_map(used).collect();
    let in_use = used.iter().sum::<u64>() * 1024;
    let mut look = Look::default();
    match (used.len(), in_use) {
        (0, _) => look.ok("none"),
        (_, 0) => look.ok("there is some, and none of it is in use"),
        // a few forgotten pages are no trouble
        (_, some) if some < 64 << 20 => look.ok(format!("{} in use", bytes(some))),
        (_, some) => look.warn(format!("{} in use", bytes(some))),
    }
    look
}
