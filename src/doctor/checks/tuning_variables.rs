//! Settings of NCCL's tuning that are copied from old recipes.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::settings;
use super::super::settings::Harm;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "tuning-variables",
    what: "`NCCL_TOPO_FILE`, `NCCL_PROTO`, `NCCL_ALGO`, `NCCL_BUFFSIZE`, numbers of channels and threads",
    why: "Values of an old recipe override what NCCL and the plugin choose for the platform, and may switch off NVLS and its tree.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`",
    hint: "unset them, measure, and set one again only where it wins",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

const fn forced(name: &'static str, effect: &'static str) -> Harm {
    Harm {
        name,
        when: settings::any,
        health: Health::Warning,
        effect,
    }
}

const HARMS: &[Harm] = &[
    forced(
        "NCCL_TOPO_FILE",
        "overrides the topology that NCCL or the plugin finds",
    ),
    forced(
        "NCCL_GRAPH_FILE",
        "overrides the graph that NCCL would search",
    ),
    forced("NCCL_PROTO", "one protocol for all sizes"),
    forced(
        "NCCL_ALGO",
        "one algorithm for all sizes; may switch off NVLS",
    ),
    forced("NCCL_BUFFSIZE", "overrides the platform's buffer size"),
    forced("NCCL_MIN_NCHANNELS", "overrides the number of channels"),
    forced("NCCL_MAX_NCHANNELS", "limits the number of channels"),
    forced("NCCL_MIN_CTAS", "overrides the number of channels"),
    forced("NCCL_MAX_CTAS", "limits the number of channels"),
    forced("NCCL_NTHREADS", "overrides the number of threads"),
    forced(
        "NCCL_P2P_NET_CHUNKSIZE",
        "overrides the platform's chunk size",
    ),
    forced("NCCL_NVLS_CHUNKSIZE", "overrides the platform's chunk size"),
    forced(
        "NCCL_CROSS_NIC",
        "overrides how rings use the network cards",
    ),
];

fn look(scene: &Scene) -> Look {
    settings::harms(scene, HARMS, "settings of NCCL's tuning")
}
