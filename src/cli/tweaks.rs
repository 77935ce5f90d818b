//! nccl-tests' options beyond the loop itself, as [`Tweaks`]: what goes together and what does not.

use super::options::{LoopOptions, Options, ResultOptions};
use crate::base::Fault;
use crate::record::{CtaPolicy, Registration, Tweaks};

/// # Errors
/// `Usage` for options that exclude each other, `Unsupported` for what is not built in.
pub(super) fn tweaks(options: &Options) -> Result<Tweaks, Fault> {
    let (loops, results) = (&options.loops, &options.results);
    refuse_device_implementation(loops)?;
    refuse_graph_with_waits(loops, results)?;
    Ok(Tweaks {
        graph_launches: loops.cudagraph,
        registration: Registration::ALL[loops.local_register as usize],
        cta_policy: loops
            .cta_policy
            .map(|policy| CtaPolicy::ALL[policy as usize]),
        null_stream: loops.stream_null,
        parallel_init: options.world.parallel_init,
        unalign_count: loops.unalign,
        per_iteration: per_iteration(loops, results)?,
        issue_time: results.report_cputime,
        memory_report: results.memory,
    })
}

/// nccl-tests' own kernels are demonstrations of the device API and no baseline is made with them.
fn refuse_device_implementation(loops: &LoopOptions) -> Result<(), Fault> {
    match (loops.device_implementation, loops.device_cta_count) {
        (0, None) => Ok(()),
        (0, Some(_)) => Err(Fault::usage(
            "`-V` is for the device implementations of `-D`, which are not built in",
        )
        .hint("leave `-V` out")),
        (number, _) => Err(Fault::unsupported(format!(
            "device implementation {number} (`-D`) is not built in: nccl-tests' kernels on NCCL's device API have no counterpart here"
        ))
        .hint("leave `-D` out to measure the library's own collective")),
    }
}

/// A graph has no place for the host to wait between its operations, and nothing to time them with.
fn refuse_graph_with_waits(loops: &LoopOptions, results: &ResultOptions) -> Result<(), Fault> {
    let other = match (loops.blocking, results.per_iter_timing) {
        _ if loops.cudagraph == 0 => return Ok(()),
        (0, false) => return Ok(()),
        (0, true) => "-I",
        _ => "-z",
    };
    Err(Fault::usage(format!(
        "`-G` and `{other}` exclude each other: a graph runs without the host between its operations"
    )))
}

fn per_iteration(loops: &LoopOptions, results: &ResultOptions) -> Result<Option<u32>, Fault> {
    let skip = results.per_iter_skip;
    if !results.per_iter_timing {
        return match skip {
            0 => Ok(None),
            _ => Err(Fault::usage(
                "`-K` leaves out iterations of `-I 1`, which is not given",
            )),
        };
    }
    if loops.iters > 0 && skip >= loops.iters {
        let iters = loops.iters;
        return Err(Fault::usage(format!(
            "`-K {skip}` leaves none of `-n {iters}` iterations; expected less than {iters}"
        )));
    }
    Ok(Some(skip))
}
