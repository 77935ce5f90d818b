//! From options to `Args`: names looked up, combinations checked.

use super::args::Args;
use super::options::{LoopOptions, Options, SizeOptions, WorldOptions};
use super::registry;
use super::tweaks;
use super::uneven;
use crate::base::sweep::{Step, Sweep};
use crate::base::{Bytes, DataType, Env, Fault, Placement, RedOp};
use crate::collective;
use crate::collective::Collective;
use crate::digest::Average;
use crate::launcher;
use crate::plan::{Effort, PlanSpec};
use crate::record::{Blocking, Tweaks};
use std::time::Duration;

/// The most ranks that one process holds.
const MOST_RANKS_EACH: u64 = 4096;

/// The most ranks in a world: more than any machine has, and far below what a rank's number can hold.
const MOST_RANKS: u64 = 1 << 20;

pub(super) fn resolve(options: Options, argv: Vec<String>, env: &Env) -> Result<Args, Fault> {
    let Some(word) = &options.collective else {
        return Err(no_collective());
    };
    let what = collective::by_name(word)
        .map_err(|fault| fault.hint("run `ncclbench --help` for the whole command line"))?;
    let tweaks = tweaks::tweaks(&options)?;
    let results = options.results;
    let timeout_init = positive("--timeout-init", results.timeout_init)?;
    Ok(Args {
        plan: plan(what, &options.sizes, &options.loops, tweaks, env)?,
        threads: options.world.nthreads,
        gpus: options.world.ngpus,
        average: Average::ALL[options.loops.average as usize],
        timestamps: results.report_timestamps,
        backend: registry::backend(options.world.backend.as_deref())?,
        allow_shared_gpu: options.world.allow_shared_gpu,
        nccl_lib: options.world.nccl_lib.clone(),
        host_label: options.world.host_label.clone(),
        launch: launch(options.world, timeout_init)?,
        output: results.output,
        json: results.output_file,
        timeout_init,
        timeout_op: op_limit(results.timeout, results.timeout_op),
        seed: options.loops.seed,
        dry_run: options.dry_run,
        argv,
    })
}

fn no_collective() -> Fault {
    let names: Vec<_> = collective::ALL.iter().map(|one| one.name()).collect();
    Fault::usage(format!(
        "nothing to measure was named; expected one of: {}",
        names.join(", ")
    ))
    .hint("run `ncclbench --help` for the whole command line")
}

fn plan(
    what: &'static dyn Collective,
    sizes: &SizeOptions,
    loops: &LoopOptions,
    tweaks: Tweaks,
    env: &Env,
) -> Result<PlanSpec, Fault> {
    let (uneven, rank_bytes) = if what.uses().uneven {
        (uneven::uneven(env)?, uneven::rank_bytes(env)?)
    } else {
        Default::default()
    };
    Ok(PlanSpec {
        collective: what,
        dtypes: one_or_all(&sizes.datatype, DataType::ALL)?,
        redops: one_or_all(&sizes.op, RedOp::ALL)?,
        roots: sizes.root,
        uneven,
        rank_bytes,
        sweep: Sweep::new(sizes.minbytes, sizes.maxbytes, step(sizes))?,
        list: Vec::new(),
        placements: Placement::ALL.to_vec(),
        effort: Effort::default(),
        iterations: loops.iters,
        ops_per_batch: loops.agg_iters,
        warmup: loops.warmup_iters,
        checks: loops.check,
        blocking: Blocking::ALL[loops.blocking as usize],
        cycles: loops.run_cycles,
        tweaks,
    })
}

/// As in nccl-tests a factor above 1 wins over a step; unlike there the default is a factor of 2.
fn step(sizes: &SizeOptions) -> Step {
    let added = sizes.stepbytes.unwrap_or(Bytes(1 << 20));
    match sizes.stepfactor {
        Some(0 | 1) => Step::Bytes(added.0),
        Some(factor) => Step::Factor(factor.into()),
        None if sizes.stepbytes.is_some() => Step::Bytes(added.0),
        None => Step::Factor(2),
    }
}

fn one_or_all<T>(text: &str, all: &[T]) -> Result<Vec<T>, Fault>
where
    T: Copy + std::str::FromStr<Err = Fault>,
{
    if text.eq_ignore_ascii_case("all") {
        Ok(all.to_vec())
    } else {
        Ok(vec![text.parse()?])
    }
}

/// Which launchers there are is known to the launchers.
pub(super) fn launch(world: WorldOptions, timeout_init: Duration) -> Result<launcher::Wish, Fault> {
    let ranks_per_process = few_ranks(&world)?;
    if let (Some(rank), Some(world)) = (world.rank, world.world) {
        require_below(rank, world)?;
    }
    Ok(launcher::Wish {
        launcher: world.launcher,
        spawn: world.spawn,
        rank: world.rank,
        world: world.world,
        rendezvous: world.rendezvous,
        secret_file: world.secret_file,
        timeout_init,
        pmix_lib: world.pmix_lib,
        ranks_per_process,
    })
}

/// The ranks of a process, if they and those of all processes stay within reason.
fn few_ranks(world: &WorldOptions) -> Result<u32, Fault> {
    let each = u64::from(world.nthreads) * u64::from(world.ngpus);
    let processes = u64::from(world.spawn.or(world.world).unwrap_or(1));
    if each > MOST_RANKS_EACH {
        return Err(Fault::usage(format!(
            "`-t {}` times `-g {}` makes {each} ranks for each process; at most {MOST_RANKS_EACH} are accepted",
            world.nthreads, world.ngpus
        )));
    }
    if each * processes > MOST_RANKS {
        return Err(Fault::usage(format!(
            "{processes} processes of {each} ranks make {} ranks; at most {MOST_RANKS} are accepted",
            each * processes
        )));
    }
    Ok(world.nthreads * world.ngpus)
}

fn require_below(rank: u32, world: u32) -> Result<(), Fault> {
    if rank < world {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "`--rank {rank}` is not below `--world {world}`; ranks count from 0"
    )))
}

/// nccl-tests' `-T`, where it is on, else `--timeout-op`; 0 is for ever.
fn op_limit(timeout: u32, timeout_op: Duration) -> Option<Duration> {
    if timeout > 0 {
        return Some(Duration::from_secs(timeout.into()));
    }
    (!timeout_op.is_zero()).then_some(timeout_op)
}

pub(super) fn positive(option: &str, duration: Duration) -> Result<Duration, Fault> {
    if duration.is_zero() {
        return Err(Fault::usage(format!(
            "`{option}` is 0; expected more than 0 seconds"
        )));
    }
    Ok(duration)
}
