//! What a backend is told: what the command line and the environment say that concerns it.

use crate::backend::CommWish;
use crate::backend::Wish;
use crate::base::Env;
use crate::cli::Args;

/// Everything.
pub(super) fn backend(args: &Args, env: &Env, seed: u64) -> Wish {
    let variable = env.get("NCCLBENCH_NCCL").map(str::to_owned);
    Wish {
        nccl_lib: args.nccl_lib.clone().or(variable),
        env: env.clone(),
        seed,
        comm: comm(args),
        kernel: args.kernel.clone(),
    }
}

/// What the communicator is told beside the defaults.
pub(super) fn comm(args: &Args) -> CommWish {
    let plan = &args.plan;
    CommWish {
        cta_policy: plan.tweaks.cta_policy,
        p2p_peers: plan.collective.p2p_peers(),
        null_stream: plan.tweaks.null_stream,
    }
}
