//! Settings that keep the network away from GPU memory.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::settings;
use super::super::settings::Harm;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "gpudirect-variables",
    what: "`OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK`, `NCCL_NET_GDR_LEVEL`, `NCCL_NET_GDR_READ`, `NCCL_DMABUF_ENABLE`",
    why: "Without GPUDirect every byte is staged through the host's memory, a large loss that only the missing `GDRDMA` in NCCL's log shows.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`",
    hint: "unset them",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

const HARMS: &[Harm] = &[
    Harm {
        name: "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK",
        when: settings::on,
        health: Health::Warning,
        effect: "the plugin goes on without GPUDirect where it would have ended",
    },
    Harm {
        name: "NCCL_NET_GDR_LEVEL",
        when: |value| matches!(value, "LOC" | "0"),
        health: Health::Failure,
        effect: "no GPUDirect at all",
    },
    Harm {
        name: "NCCL_NET_GDR_READ",
        when: settings::off,
        health: Health::Warning,
        effect: "sends are staged through the host's memory",
    },
    Harm {
        name: "NCCL_DMABUF_ENABLE",
        when: settings::off,
        health: Health::Warning,
        effect: "GPUDirect needs `nvidia_peermem` then",
    },
];

fn look(scene: &Scene) -> Look {
    settings::harms(scene, HARMS, "settings of GPUDirect")
}
