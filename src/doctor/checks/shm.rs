//! Shared memory: how large `/dev/shm` is, and how much of it is free.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::look::bytes;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "shm",
    what: "size of `/dev/shm`, and how much of it is free",
    why: "NCCL's ranks of one node meet there; Docker gives a container 64 MiB, and files that dead runs left behind fill it (`No space left on device`, `nccl-…`).",
    reads: "the file system at `/dev/shm`; under a root `doctor/df` (`df -Pk`)",
    hint: "Docker: `--shm-size=16g` or `--ipc=host`; Kubernetes: an `emptyDir` of medium Memory at /dev/shm; remove what dead runs left: `rm /dev/shm/nccl-*`",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

/// Below this a node's ranks may not all find room: each pair takes some 10 MiB with default buffers.
const LEAST: u64 = 1 << 30;

fn look(scene: &Scene) -> Look {
    let (all, free) = match scene.space("/dev/shm") {
        Ok(space) => space,
        Err(why) => return Look::unknown(why),
    };
    let mut look = Look::default();
    // half of the memory where nobody chose: equal nodes differ by what the firmware keeps
    look.share("shm-gib", (all >> 30).to_string());
    let shown = format!("{}, {} of it free", bytes(all), bytes(free));
    if all < LEAST {
        look.fail(format!("{shown}: less than {}", bytes(LEAST)));
    } else if free < LEAST {
        let left = scene.list("/dev/shm");
        let left = left.iter().filter(|name| name.starts_with("nccl-")).count();
        look.fail(format!("{shown}; {left} files of NCCL are in it"));
    } else {
        look.ok(shown);
    }
    look
}
