//! From wishes to jobs; pure, so that every rank makes the same plan.
//!
//! It asks a collective for its numbers; after it nobody does. It knows no backend: what cannot be
//! run is planned all the same and becomes a waived row later.

pub mod effort;
mod parts;

pub use effort::{Effort, Precision};
pub use parts::{Pass, check_all, digest_of, is_row, max_bytes_of, names_of, passes, settings_of};

use crate::base::sweep::{Step, Sweep};
use crate::base::{Bytes, DataType, Fault, Placement, Rank, RedOp, Uneven, World};
use crate::collective::Collective;
use crate::collective::Layout;
use crate::collective::Operator;
use crate::record::{Blocking, Case, Settings, Tweaks};
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
    /// Roots; a collective without one ignores them.
    pub roots: Roots,
    /// The sizes of parts, where they differ.
    pub uneven: Uneven,
    /// Whether rows tell what each rank sends and receives, where that differs.
    pub rank_bytes: bool,
    /// The sizes.
    pub sweep: Sweep,
    /// Single sizes within the sweep's bounds, ascending, instead of its steps; empty for the steps.
    pub list: Vec<Bytes>,
    /// Placements, in the order in which they are measured.
    pub placements: Vec<Placement>,
    /// How much is done for a size besides the headline's iterations.
    pub effort: Effort,
    /// Iterations of the timed loop; 0 where `effort` decides.
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
    /// How operations are launched and what is told besides.
    pub tweaks: Tweaks,
}

/// Which ranks are the root, one after the other (nccl-tests' `-r`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots {
    /// Every rank.
    All,
    /// This one.
    One(Rank),
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
    /// How much is done for it.
    pub effort: Effort,
}

impl Job {
    /// Whether the case's operator is applied, and not only named.
    pub fn reduces(&self) -> bool {
        self.what.uses().redop == Operator::Applied
    }
}

/// The jobs of repetition `cycle` of the sweep, in nccl-tests' order: for each datatype, operator and
/// root the warm-up, then each size out-of-place and in-place. Only the first repetition warms up.
///
/// nccl-tests repeats inside each datatype, operator and root; here the repetitions are outermost.
///
/// # Errors
/// `Usage` if there would be more than [`MOST_JOBS`], for a root that is no rank, and for sizes of
/// parts that cannot be had.
///
/// # Source
/// nccl-tests 2.19.6, `src/common.cu`, `TimeTest`.
pub fn jobs(spec: &PlanSpec, world: World, cycle: u32) -> Result<Vec<Job>, Fault> {
    check(spec, world)?;
    let (redops, roots) = (redops(spec), roots(spec, world)?);
    let mut jobs = Vec::new();
    for &dtype in &spec.dtypes {
        for &redop in &redops {
            for &root in &roots {
                let maker = Maker {
                    spec,
                    world,
                    cycle,
                    dtype,
                    redop,
                    root,
                };
                maker.sweep(&mut jobs);
            }
        }
    }
    Ok(jobs)
}

/// Whether a world can have what is wished.
///
/// # Errors
/// As [`jobs`].
pub fn check(spec: &PlanSpec, world: World) -> Result<(), Fault> {
    require_few(spec, redops(spec).len() * roots(spec, world)?.len())?;
    if spec.collective.uses().uneven {
        let (min, max) = (spec.sweep.min, spec.sweep.max);
        return spec.uneven.check(world, min, max);
    }
    Ok(())
}

/// What identifies the plan: equal on ranks that will do the same, 16 hexadecimal digits.
pub fn digest(spec: &PlanSpec, world: World) -> String {
    let mut text = format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} n{} m{} w{} c{} z{:?} N{} ranks{}",
        spec.collective.name(),
        spec.dtypes,
        redops(spec),
        spec.roots,
        spec.uneven,
        spec.sweep,
        spec.list,
        spec.placements,
        spec.effort,
        spec.iterations,
        spec.ops_per_batch,
        spec.warmup,
        spec.checks,
        spec.blocking,
        spec.cycles,
        world,
    );
    if !spec.tweaks.is_none() {
        let _ = write!(text, " {:?}", spec.tweaks);
    }
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
        placement: match spec.placements.as_slice() {
            [only] => Some(*only),
            _ => None,
        },
        timestamps,
        table_release: None,
        tweaks: spec.tweaks,
    }
}

/// The measurements among `jobs` as lines of text, for `--dry-run`.
pub fn listing(jobs: &[Job]) -> String {
    let mut text = format!(
        "{:>14} {:>14} {:>14} {:>9} {:>7} {:>6}  placement\n{:>14} {:>14} {:>14}\n",
        "requested", "size", "count", "type", "redop", "root", "(B)", "(B)", "(elements)"
    );
    for job in jobs.iter().filter(|job| job.work == Work::Measure) {
        let case = &job.case;
        let redop = case.redop.map_or("none", RedOp::name);
        let root = case.root.map_or(-1, i64::from);
        let _ = writeln!(
            text,
            "{:>14} {:>14} {:>14} {:>9} {redop:>7} {root:>6}  {}",
            case.requested.0, case.size.0, case.count, case.dtype, case.placement
        );
    }
    text
}

/// A collective without an operator runs once, with none.
fn redops(spec: &PlanSpec) -> Vec<Option<RedOp>> {
    match spec.collective.uses().redop {
        Operator::None => vec![None],
        Operator::Named | Operator::Applied => spec.redops.iter().copied().map(Some).collect(),
    }
}

/// A collective without a root runs once, with none.
fn roots(spec: &PlanSpec, world: World) -> Result<Vec<Option<Rank>>, Fault> {
    match spec.roots {
        _ if !spec.collective.uses().root => Ok(vec![None]),
        Roots::All => Ok(world.ranks().map(Some).collect()),
        Roots::One(root) if root.0 < world.0 => Ok(vec![Some(root)]),
        Roots::One(root) => Err(Fault::usage(format!(
            "root {root} is not a rank: accepted are 0 to {}, and -1 for all",
            world.0 - 1
        ))),
    }
}

/// The sizes to measure, ascending.
pub fn sizes(spec: &PlanSpec) -> Box<dyn Iterator<Item = Bytes> + '_> {
    if spec.list.is_empty() {
        return Box::new(spec.sweep.sizes());
    }
    let within = |size: &Bytes| (spec.sweep.min..=spec.sweep.max).contains(size);
    Box::new(spec.list.iter().copied().filter(within))
}

/// The sizes to warm up with: those of a list, else nccl-tests'.
fn warmup_sizes(spec: &PlanSpec) -> Box<dyn Iterator<Item = Bytes> + '_> {
    if spec.list.is_empty() {
        return Box::new(spec.sweep.warmup_sizes());
    }
    sizes(spec)
}

fn require_few(spec: &PlanSpec, n_kinds: usize) -> Result<(), Fault> {
    let sizes = match spec.sweep.step {
        Step::Bytes(step) => (spec.sweep.max.0 - spec.sweep.min.0) / step.max(1) + 1,
        Step::Factor(_) => 64,
    };
    let kinds = (spec.dtypes.len() * n_kinds) as u64;
    let jobs = sizes.saturating_mul(2).saturating_mul(kinds);
    if jobs <= MOST_JOBS {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "the sweep has {jobs} measurements; at most {MOST_JOBS} are accepted"
    ))
    .hint("take a larger step with `-i`, or a factor with `-f`"))
}

/// Makes the cases of one datatype, operator and root.
struct Maker<'a> {
    spec: &'a PlanSpec,
    world: World,
    cycle: u32,
    dtype: DataType,
    redop: Option<RedOp>,
    root: Option<Rank>,
}

impl Maker<'_> {
    fn sweep(&self, jobs: &mut Vec<Job>) {
        let spec = self.spec;
        if self.cycle == 0 && spec.warmup > 0 {
            jobs.extend(warmup_sizes(spec).map(|size| self.warm_up(size)));
        }
        for size in sizes(spec) {
            let placements = spec.placements.iter();
            jobs.extend(placements.map(|&placement| self.measure(size, placement)));
        }
    }

    fn measure(&self, size: Bytes, placement: Placement) -> Job {
        let what = self.spec.collective;
        let layout = what.layout(size, self.dtype, self.world, &self.spec.uneven);
        let case = Case {
            collective: what.name().to_owned(),
            dtype: self.dtype,
            redop: self.redop,
            root: self.root.map(|root| root.0),
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
            rank_bytes: self.rank_bytes(&layout),
        };
        Job {
            what,
            layout,
            case,
            work: Work::Measure,
            effort: self.spec.effort,
        }
    }

    /// What each rank sends and receives, where that was asked for and differs.
    fn rank_bytes(&self, layout: &Layout) -> Vec<[u64; 2]> {
        let Some(traffic) = layout.traffic.as_ref().filter(|_| self.spec.rank_bytes) else {
            return Vec::new();
        };
        let bytes = |rank| {
            let elements = [traffic.sent(rank), traffic.received(rank)];
            elements.map(|count| count * self.dtype.size())
        };
        self.world.ranks().map(bytes).collect()
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
