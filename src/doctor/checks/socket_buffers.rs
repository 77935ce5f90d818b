//! The most that a socket may hold.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::look::bytes;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "socket-buffers",
    what: "`net.core.rmem_max` and `wmem_max`",
    why: "Low limits hold TCP back on fast networks: NCCL's fall-back, and everything that is not RDMA.",
    reads: "`/proc/sys/net/core/{rmem_max,wmem_max}`",
    hint: "`sysctl -w net.core.rmem_max=16777216 net.core.wmem_max=16777216`",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

/// A round trip of 100 µs at 100 Gb/s has 1.25 MB on the way.
const LEAST: u64 = 1 << 20;

fn look(scene: &Scene) -> Look {
    let mut look = Look::default();
    for name in ["rmem_max", "wmem_max"] {
        // a network namespace of its own does not show them
        let Some(limit) = scene.number::<u64>(&format!("/proc/sys/net/core/{name}")) else {
            look.unclear(format!("`{name}` is not shown here"));
            continue;
        };
        look.share(name, limit.to_string());
        let shown = format!("`{name}` {}", bytes(limit));
        if limit < LEAST {
            look.warn(format!("{shown}: less than {}", bytes(LEAST)));
        } else {
            look.ok(shown);
        }
    }
    look
}
