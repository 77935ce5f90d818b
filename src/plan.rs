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
mod tests {
    use super::*;
    use crate::collective;
    use crate::record::InPlace;

    fn spec(name: &str) -> PlanSpec {
        PlanSpec {
            collective: collective::by_name(name).unwrap(),
            dtypes: vec![DataType::Float],
            redops: vec![RedOp::Sum],
            sweep: Sweep::new(Bytes(8), Bytes(16 << 30), Step::Factor(2)).unwrap(),
            iterations: 20,
            ops_per_batch: 3,
            warmup: 2,
            checks: 1,
            blocking: Blocking::None,
            cycles: 1,
        }
    }

    fn measured(jobs: &[Job]) -> Vec<&Case> {
        let measured = jobs.iter().filter(|job| job.work == Work::Measure);
        measured.map(|job| &job.case).collect()
    }

    #[test]
    fn eight_bytes_to_16_gib_is_32_sizes_in_both_placements_after_the_warm_up() {
        let jobs = jobs(&spec("allreduce"), World(3), 0).unwrap();
        let (warm, rest) = jobs.split_at(32);
        assert!(warm.iter().all(|job| job.work == Work::WarmUp));
        assert!(
            warm.iter()
                .all(|job| job.case.placement == Placement::OutOfPlace)
        );
        assert_eq!(
            (warm[0].case.iterations, warm[0].case.ops_per_batch),
            (2, 1)
        );
        assert_eq!(
            (warm[31].case.requested, warm[31].case.checks),
            (Bytes(16 << 30), 0)
        );
        assert_eq!(measured(rest).len(), 64);
        for (index, pair) in rest.chunks(2).enumerate() {
            let size = Bytes(8 << index);
            assert_eq!(
                (pair[0].case.requested, pair[1].case.requested),
                (size, size)
            );
            assert_eq!(
                [pair[0].case.placement, pair[1].case.placement],
                Placement::ALL
            );
            assert_eq!(
                (pair[0].case.iterations, pair[0].case.ops_per_batch),
                (20, 3)
            );
        }
    }

    #[test]
    fn only_the_first_repetition_warms_up_and_each_says_which_it_is() {
        let mut spec = spec("allreduce");
        let again = jobs(&spec, World(2), 4).unwrap();
        assert_eq!(measured(&again).len(), again.len());
        assert!(again.iter().all(|job| job.case.cycle == 4));
        spec.warmup = 0;
        assert_eq!(jobs(&spec, World(2), 0).unwrap().len(), 64);
    }

    #[test]
    fn types_and_operators_nest_and_a_collective_without_operator_runs_once() {
        let mut spec = spec("allreduce");
        spec.sweep = Sweep::new(Bytes(64), Bytes(64), Step::Factor(2)).unwrap();
        spec.dtypes = vec![DataType::Half, DataType::Int8];
        spec.redops = vec![RedOp::Max, RedOp::Avg];
        spec.warmup = 0;
        let all = jobs(&spec, World(5), 0).unwrap();
        let kinds: Vec<_> = measured(&all)
            .iter()
            .step_by(2)
            .map(|case| (case.dtype, case.redop.unwrap()))
            .collect();
        assert_eq!(
            kinds,
            [
                (DataType::Half, RedOp::Max),
                (DataType::Half, RedOp::Avg),
                (DataType::Int8, RedOp::Max),
                (DataType::Int8, RedOp::Avg),
            ]
        );
        spec.collective = collective::by_name("alltoall").unwrap();
        let once = jobs(&spec, World(5), 0).unwrap();
        assert_eq!(once.len(), 4);
        assert!(once.iter().all(|job| job.case.redop.is_none()));
    }

    #[test]
    fn a_case_holds_the_collectives_numbers_for_an_odd_world() {
        let jobs = jobs(&spec("alltoall"), World(3), 4).unwrap();
        let case = &jobs[2 * 17].case;
        assert_eq!(
            (case.requested, case.size),
            (Bytes(1 << 20), Bytes(1_048_560))
        );
        assert_eq!(
            (case.count, case.send_count, case.recv_count),
            (87_380, 262_140, 262_140)
        );
        assert_eq!((case.in_place, case.checkable), (InPlace::Same, false));
        assert!((case.bus_factor - 2.0 / 3.0).abs() < 1e-12);
        assert!(
            jobs.iter()
                .all(|job| job.case.size <= max_bytes(&spec("alltoall")))
        );
    }

    #[test]
    fn a_sweep_that_nobody_could_wait_for_is_refused() {
        let mut spec = spec("allreduce");
        spec.sweep = Sweep::new(Bytes(8), Bytes(16 << 30), Step::Bytes(8)).unwrap();
        let fault = jobs(&spec, World(2), 0).unwrap_err();
        assert!(fault.message.contains("4294967296 measurements"), "{fault}");
        spec.dtypes = DataType::ALL.to_vec();
        spec.redops = RedOp::ALL.to_vec();
        spec.sweep = Sweep::new(Bytes(8), Bytes(16 << 30), Step::Factor(2)).unwrap();
        assert!(jobs(&spec, World(2), 0).is_ok());
    }

    #[test]
    fn the_digest_tells_plans_apart_by_everything_that_ranks_must_agree_on() {
        let first = spec("allreduce");
        let mut digests = vec![digest(&first, World(2)), digest(&first, World(3))];
        let changes: [fn(&mut PlanSpec); 9] = [
            |spec| spec.collective = collective::by_name("alltoall").unwrap(),
            |spec| spec.dtypes = vec![DataType::Half],
            |spec| spec.redops = vec![RedOp::Max],
            |spec| spec.sweep.max = Bytes(8 << 30),
            |spec| spec.iterations = 21,
            |spec| spec.ops_per_batch = 4,
            |spec| spec.warmup = 3,
            |spec| spec.checks = 2,
            |spec| spec.blocking = Blocking::Wait,
        ];
        for change in changes {
            let mut other = spec("allreduce");
            change(&mut other);
            digests.push(digest(&other, World(2)));
        }
        assert_eq!(digests[0], digest(&spec("allreduce"), World(2)));
        assert!(digests.iter().all(|digest| digest.len() == 16));
        let count = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }

    #[test]
    fn the_listing_has_one_line_for_each_measurement() {
        let jobs = jobs(&spec("alltoall"), World(3), 0).unwrap();
        let text = listing(&jobs);
        assert_eq!(text.lines().count(), 2 + 64);
        let last: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(
            last,
            [
                "17179869184",
                "17179869168",
                "1431655764",
                "float",
                "none",
                "in-place"
            ]
        );
    }
}
