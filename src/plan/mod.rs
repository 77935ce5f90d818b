//! From wishes to jobs; pure, so that every rank makes the same plan.
//!
//! It asks a collective for its numbers; after it nobody does. It knows no backend: what cannot be
//! run is planned all the same and becomes a waived row later.

use crate::base::sweep::{Step, Sweep};
use crate::base::{Bytes, DataType, Fault, Placement, RedOp, World};
use crate::collective::Collective;
use crate::collective::Layout;
use crate::record::{Blocking, Case, Settings};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// More jobs than this are refused: nobody waits for them, and they would not fit in memory.
pub const MOST_JOBS: u64 = 1_000_000;

/// What is wished for.
#[derive(Debug, Clone)]
pub struct PlanSpec {
    /// What to measure.
    pub collective: &'static dyn Collective,
    /// Element types, in the order in which they are measured.
    pub dtypes: Vec<DataType>,
    /// Reduction operators; a collective that does not reduce ignores them.
    pub redops: Vec<RedOp>,
    /// The sizes.
    pub sweep: Sweep,
    /// Iterations of the timed loop.
    pub iterations: u32,
    /// Operations enqueued in one group for each iteration.
    pub ops_per_batch: u32,
    /// Untimed operations for each warm-up size.
    pub warmup: u32,
    /// Rounds of checking for each measurement.
    pub checks: u32,
    /// When the ranks wait.
    pub blocking: Blocking,
    /// How often the sweep is run; 0 is for ever.
    pub cycles: u32,
}

/// What is done with a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Run `case.iterations` operations, untimed and unchecked.
    WarmUp,
    /// Time and check.
    Measure,
}

/// One step of the engine.
#[derive(Debug, Clone)]
pub struct Job {
    /// Who knows how to launch it.
    pub what: &'static dyn Collective,
    /// Its counts.
    pub layout: Layout,
    /// Everything about it as plain data.
    pub case: Case,
    /// What to do with it.
    pub work: Work,
}

/// The jobs of repetition `cycle` of the sweep, in nccl-tests' order: for each datatype and operator
/// the warm-up, then each size out-of-place and in-place. Only the first repetition warms up.
///
/// nccl-tests repeats inside each datatype and operator; here the repetitions are outermost.
///
/// # Errors
/// `Usage` if there would be more than [`MOST_JOBS`].
///
/// # Source
/// nccl-tests 2.19.6, `src/common.cu`, `TimeTest`.
pub fn jobs(spec: &PlanSpec, world: World, cycle: u32) -> Result<Vec<Job>, Fault> {
    let redops = redops(spec);
    require_few(spec, redops.len())?;
    let mut jobs = Vec::new();
    for &dtype in &spec.dtypes {
        for &redop in &redops {
            let maker = Maker {
                spec,
                world,
                cycle,
                dtype,
                redop,
            };
            if cycle == 0 && spec.warmup > 0 {
                jobs.extend(spec.sweep.warmup_sizes().map(|size| maker.warm_up(size)));
            }
            jobs.extend(
                spec.sweep.sizes().flat_map(|size| {
                    Placement::ALL.map(|placement| maker.measure(size, placement))
                }),
            );
        }
    }
    Ok(jobs)
}

/// What identifies the plan: equal on ranks that will do the same, 16 hexadecimal digits.
pub fn digest(spec: &PlanSpec, world: World) -> String {
    let text = format!(
        "{} {:?} {:?} {:?} n{} m{} w{} c{} z{:?} N{} ranks{}",
        spec.collective.name(),
        spec.dtypes,
        redops(spec),
        spec.sweep,
        spec.iterations,
        spec.ops_per_batch,
        spec.warmup,
        spec.checks,
        spec.blocking,
        spec.cycles,
        world,
    );
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Bytes that the send buffer and the receive buffer of a rank each need, whatever the job.
pub fn max_bytes(spec: &PlanSpec) -> Bytes {
    spec.sweep.max
}

/// The plan's side of a run's header.
pub fn settings(spec: &PlanSpec, timestamps: bool) -> Settings {
    Settings {
        program: format!("{}_perf", spec.collective.nccl_tests_name()),
        min_bytes: spec.sweep.min,
        max_bytes: spec.sweep.max,
        step: spec.sweep.step,
        warmup: spec.warmup,
        iterations: spec.iterations,
        ops_per_batch: spec.ops_per_batch,
        checks: spec.checks,
        blocking: spec.blocking,
        cycles: spec.cycles,
        timestamps,
    }
}

/// The measurements among `jobs` as lines of text, for `--dry-run`.
pub fn listing(jobs: &[Job]) -> String {
    let mut text = format!(
        "{:>14} {:>14} {:>14} {:>9} {:>7}  placement\n{:>14} {:>14} {:>14}\n",
        "requested", "size", "count", "type", "redop", "(B)", "(B)", "(elements)"
    );
    for job in jobs.iter().filter(|job| job.work == Work::Measure) {
        let case = &job.case;
        let redop = case.redop.map_or("none", RedOp::name);
        let _ = writeln!(
            text,
            "{:>14} {:>14} {:>14} {:>9} {redop:>7}  {}",
            case.requested.0, case.size.0, case.count, case.dtype, case.placement
        );
    }
    text
}

/// A collective without an operator runs once, with none.
fn redops(spec: &PlanSpec) -> Vec<Option<RedOp>> {
    if spec.collective.uses().redop {
        spec.redops.iter().copied().map(Some).collect()
    } else {
        vec![None]
    }
}

fn require_few(spec: &PlanSpec, n_redops: usize) -> Result<(), Fault> {
    let sizes = match spec.sweep.step {
        Step::Bytes(step) => (spec.sweep.max.0 - spec.sweep.min.0) / step.max(1) + 1,
        Step::Factor(_) => 64,
    };
    let kinds = (spec.dtypes.len() * n_redops) as u64;
    let jobs = sizes.saturating_mul(2).saturating_mul(kinds);
    if jobs <= MOST_JOBS {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "the sweep has {jobs} measurements; at most {MOST_JOBS} are accepted"
    ))
    .hint("take a larger step with `-i`, or a factor with `-f`"))
}

/// Makes the cases of one datatype and operator.
struct Maker<'a> {
    spec: &'a PlanSpec,
    world: World,
    cycle: u32,
    dtype: DataType,
    redop: Option<RedOp>,
}

impl Maker<'_> {
    fn measure(&self, size: Bytes, placement: Placement) -> Job {
        let what = self.spec.collective;
        let layout = what.layout(size, self.dtype, self.world);
        let case = Case {
            collective: what.name().to_owned(),
            dtype: self.dtype,
            redop: self.redop,
            root: None,
            placement,
            requested: size,
            size: layout.size,
            count: layout.count,
            send_count: layout.send,
            recv_count: layout.recv,
            in_place: layout.in_place,
            checkable: what.uses().in_place,
            algo_bytes: layout.algo_bytes,
            bus_factor: what.bus_factor(self.world),
            iterations: self.spec.iterations,
            ops_per_batch: self.spec.ops_per_batch,
            checks: self.spec.checks,
            cycle: self.cycle,
        };
        Job {
            what,
            layout,
            case,
            work: Work::Measure,
        }
    }

    fn warm_up(&self, size: Bytes) -> Job {
        let mut job = self.measure(size, Placement::OutOfPlace);
        job.work = Work::WarmUp;
        job.case.iterations = self.spec.warmup;
        job.case.ops_per_batch = 1;
        job.case.checks = 0;
        job
    }
}

#[cfg(test)]
mod tests;
