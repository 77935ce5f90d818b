//! From options to `Args`: names looked up, combinations checked.

use super::args::Args;
use super::effort;
use super::guise::Guise;
use super::kernel;
use super::nccl_tests;
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
use crate::plan::PlanSpec;
use crate::record::{Blocking, Tweaks};
use std::time::Duration;

/// The most ranks that one process holds.
const MOST_RANKS_EACH: u64 = 4096;

/// The most ranks in a world: more than any machine has, and far below what a rank's number can hold.
const MOST_RANKS: u64 = 1 << 20;

pub(super) fn resolve(
    mut options: Options,
    guise: &Guise,
    argv: Vec<String>,
    env: &Env,
) -> Result<Args, Fault> {
    let what = what(options.collective.as_deref(), guise)?;
    let remarks = if guise.is_nccl_tests() {
        nccl_tests::settle(&mut options)
    } else {
        Vec::new()
    };
    nccl_tests::refuse_endless(&options, guise)?;
    let tweaks = tweaks::tweaks(&options)?;
    let step = step(&options.sizes, guise);
    let results = options.results;
    let timeout_init = positive("--timeout-init", results.timeout_init)?;
    let backend = registry::backend_of(options.world.backend.as_deref(), env)?;
    Ok(Args {
        path: options.path.wish(backend.name())?,
        guise: guise.clone(),
        plan: plan(what, (&options.sizes, step), &options.loops, tweaks, env)?,
        split: nccl_tests::split(env)?,
        min_bw_gbps: nccl_tests::min_bw(env)?,
        threads: options.world.nthreads,
        gpus: options.world.ngpus,
        average: Average::ALL[options.loops.average as usize],
        table_release: results.compat,
        timestamps: results.report_timestamps,
        kernel: kernel::wish(&options.kernel, backend, env)?,
        backend,
        no_clamp: options.sizes.no_clamp,
        allow_shared_gpu: options.world.allow_shared_gpu,
        nccl_lib: options.world.nccl_lib.clone(),
        host_label: options.world.host_label.clone(),
        launch: launch(options.world, timeout_init)?,
        output: results.output,
        json: results.output_file,
        timeout_init,
        timeout_op: op_limit(results.timeout, results.timeout_op, guise),
        timeout_batch: batch_limit(results.timeout, guise),
        seed: options.loops.seed,
        dry_run: options.dry_run,
        sweep: None,
        remarks,
        argv,
    })
}

/// What is measured; under a name of nccl-tests it says so itself, and there is no word for it.
fn what(word: Option<&str>, guise: &Guise) -> Result<&'static dyn Collective, Fault> {
    match (guise, word) {
        (Guise::NcclTests { what, .. }, None) => Ok(*what),
        (Guise::NcclTests { .. }, Some(word)) => Err(Fault::usage(format!(
            "extra word `{word}`; nccl-tests would ignore it, whatever was meant by it"
        ))),
        (Guise::Own, None) => Err(no_collective()),
        (Guise::Own, Some(word)) => collective::by_name(word)
            .map_err(|fault| fault.hint("run `ncclbench --help` for the whole command line")),
    }
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
    (sizes, step): (&SizeOptions, Step),
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
        sweep: Sweep::new(sizes.minbytes, sizes.maxbytes, step)?,
        list: Vec::new(),
        placements: Placement::ALL.to_vec(),
        effort: effort::effort(loops, &tweaks)?,
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
fn step(sizes: &SizeOptions, guise: &Guise) -> Step {
    let added = sizes.stepbytes.unwrap_or(Bytes(1 << 20));
    match sizes.stepfactor {
        Some(0 | 1) => Step::Bytes(added.0),
        Some(factor) => Step::Factor(factor.into()),
        None if sizes.stepbytes.is_some() || guise.is_nccl_tests() => Step::Bytes(added.0),
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

/// nccl-tests' `-T`, where it is on, else `--timeout-op`; 0 is for ever. Under nccl-tests' names `-T`
/// is a limit of its own.
pub(super) fn op_limit(timeout: u32, timeout_op: Duration, guise: &Guise) -> Option<Duration> {
    if timeout > 0 && !guise.is_nccl_tests() {
        return Some(Duration::from_secs(timeout.into()));
    }
    (!timeout_op.is_zero()).then_some(timeout_op)
}

/// What nccl-tests bounds with `-T`: the time until all that was enqueued at a go is complete.
fn batch_limit(timeout: u32, guise: &Guise) -> Option<Duration> {
    let is_on = timeout > 0 && guise.is_nccl_tests();
    is_on.then(|| Duration::from_secs(timeout.into()))
}

pub(super) fn positive(option: &str, duration: Duration) -> Result<Duration, Fault> {
    if duration.is_zero() {
        return Err(Fault::usage(format!(
            "`{option}` is 0; expected more than 0 seconds"
        )));
    }
    Ok(duration)
}
