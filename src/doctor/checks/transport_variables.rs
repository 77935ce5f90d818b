//! Transports that a test has switched off.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::settings;
use super::super::settings::Harm;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "transport-variables",
    what: "`NCCL_NVLS_ENABLE=0`, `NCCL_P2P_DISABLE=1`, `NCCL_SHM_DISABLE=1` and their like",
    why: "Left over from a test they cost bandwidth inside the node, which looks like trouble of the network.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`",
    hint: "unset them",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

const fn switched(name: &'static str, when: fn(&str) -> bool, effect: &'static str) -> Harm {
    Harm {
        name,
        when,
        health: Health::Warning,
        effect,
    }
}

const HARMS: &[Harm] = &[
    switched(
        "NCCL_NVLS_ENABLE",
        settings::off,
        "no reductions in the NVSwitch",
    ),
    switched(
        "NCCL_P2P_DISABLE",
        settings::on,
        "GPUs do not reach each other by NVLink or PCIe",
    ),
    switched(
        "NCCL_SHM_DISABLE",
        settings::on,
        "no shared memory inside the node",
    ),
    switched(
        "NCCL_P2P_LEVEL",
        settings::any,
        "limits which GPUs reach each other",
    ),
    switched(
        "NCCL_CUMEM_ENABLE",
        settings::off,
        "no memory that NVLS and registration need",
    ),
    switched(
        "NCCL_MNNVL_ENABLE",
        settings::off,
        "no NVLink between nodes",
    ),
    switched(
        "CUDA_LAUNCH_BLOCKING",
        settings::on,
        "each launch waits for its kernel",
    ),
];

fn look(scene: &Scene) -> Look {
    settings::harms(scene, HARMS, "transports")
}
