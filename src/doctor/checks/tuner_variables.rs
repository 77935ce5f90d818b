//! The tuner, and the plugin's protocol.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::settings;
use super::super::settings::Harm;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "tuner-variables",
    what: "`NCCL_TUNER_PLUGIN`, `OFI_NCCL_PROTOCOL`",
    why: "Another tuner than the plugin's own, or a protocol that was forced, chooses other algorithms than those that were tuned for the platform.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`",
    hint: "unset them",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

const HARMS: &[Harm] = &[
    Harm {
        name: "NCCL_TUNER_PLUGIN",
        when: |value| !value.contains("ofi"),
        health: Health::Warning,
        effect: "not the tuner of the plugin for EFA",
    },
    Harm {
        name: "OFI_NCCL_PROTOCOL",
        when: settings::any,
        health: Health::Warning,
        effect: "the protocol is forced; the platform's own is SENDRECV or RDMA by type of instance",
    },
];

fn look(scene: &Scene) -> Look {
    settings::harms(scene, HARMS, "tuner and protocol")
}
