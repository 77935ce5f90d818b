//! How much memory this process may lock.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::look::bytes;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "memlock",
    what: "the limit of locked memory",
    why: "RDMA registers memory by locking it; with a limit it fails (`cannot allocate memory`) or EFA's provider offers nothing.",
    reads: "`/proc/self/limits`",
    hint: "`ulimit -l unlimited`; Slurm: `LimitMEMLOCK=infinity` in slurmd's unit and `PropagateResourceLimitsExcept=MEMLOCK`; Docker: `--ulimit memlock=-1`",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let mut look = Look::default();
    match scene.limit("Max locked memory") {
        Err(why) => return Look::unknown(why),
        Ok(None) => {
            look.share("memlock", "unlimited");
            look.ok("unlimited");
        }
        Ok(Some(limit)) => {
            look.share("memlock", limit.to_string());
            let shown = bytes(limit);
            if hardware::fabric(scene) == Fabric::None {
                look.ok(format!(
                    "{shown}; there is no RDMA device that would need more"
                ));
            } else {
                look.fail(format!("{shown}; RDMA needs `unlimited`"));
            }
        }
    }
    look
}
