//! A collective under the real plan and the real engine on one thread of a world: every job's check.

use ncclbench::backend::{Session, ThreadSeat};
use ncclbench::base::sweep::{Step, Sweep};
use ncclbench::base::{Bytes, DataType, Placement, Rank, RedOp, Uneven};
use ncclbench::bootstrap::Bootstrap;
use ncclbench::collective::{self, Operator};
use ncclbench::engine::{Engine, Measured, Rules, Seats, SystemClock};
use ncclbench::plan::{self, PlanSpec, Roots};
use ncclbench::record::{Blocking, Case, Sample, Tweaks};
use std::sync::Arc;
use std::time::Duration;

/// Sizes that leave odd counts, one that leaves none, and one above what a message holds at once.
const SIZES: [u64; 3] = [8, 4099, 60_007];

/// A case and the wrong elements of it; none where nothing was checked, a reason where it was waived.
pub(crate) type Outcome = (Case, Result<Option<u64>, String>);

/// Every datatype, operator, root and placement of a collective, at all sizes.
pub(crate) fn everything(name: &str) -> Vec<PlanSpec> {
    let what = collective::by_name(name).unwrap();
    let redops = match what.uses().redop {
        Operator::Applied => RedOp::ALL.to_vec(),
        _ => vec![RedOp::Sum],
    };
    let spec = |size| PlanSpec {
        collective: what,
        dtypes: DataType::ALL.to_vec(),
        redops: redops.clone(),
        roots: Roots::All,
        uneven: Uneven::Spread(0.6),
        rank_bytes: false,
        sweep: Sweep::new(Bytes(size), Bytes(size), Step::Factor(2)).unwrap(),
        list: Vec::new(),
        placements: ncclbench::base::Placement::ALL.to_vec(),
        effort: ncclbench::plan::Effort::default(),
        iterations: 1,
        ops_per_batch: 2,
        warmup: 1,
        checks: 1,
        blocking: Blocking::None,
        cycles: 1,
        tweaks: Tweaks::default(),
    };
    SIZES.map(spec).to_vec()
}

/// Runs plans on one thread's ranks; gives what came of each measurement.
pub(crate) fn run(
    specs: &[PlanSpec],
    session: &mut dyn Session,
    seat: &ThreadSeat,
    plane: &dyn Bootstrap,
) -> Vec<Outcome> {
    run_with_samples(specs, session, seat, plane).0
}

/// As [`run`], with the samples of what was measured.
pub(crate) fn run_with_samples(
    specs: &[PlanSpec],
    session: &mut dyn Session,
    seat: &ThreadSeat,
    plane: &dyn Bootstrap,
) -> (Vec<Outcome>, Vec<Sample>) {
    let mut engine = engine(specs, session, seat, plane);
    let notes = engine.prepare(specs[0].tweaks.registration).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    let jobs = specs
        .iter()
        .flat_map(|spec| plan::jobs(spec, seat.world, 0).unwrap());
    let (mut outcomes, mut samples) = (Vec::new(), Vec::new());
    for job in jobs {
        let measured = engine
            .run(&job)
            .unwrap_or_else(|fault| panic!("{:?}: {fault}", job.case));
        match measured {
            None => {}
            Some(Measured::Waived(reason)) => outcomes.push((job.case, Err(reason))),
            Some(Measured::Timed(sample, found)) => {
                if let Some(bad) = found.as_ref().and_then(|found| found.first.first()) {
                    panic!("{:?}: {bad:?}", job.case);
                }
                outcomes.push((job.case, Ok(found.map(|found| found.wrong))));
                samples.push(sample);
            }
        }
    }
    (outcomes, samples)
}

/// An engine with room for two of the largest operations beside each other, so that buffers rotate.
pub(crate) fn engine<'a>(
    specs: &[PlanSpec],
    session: &'a mut dyn Session,
    seat: &ThreadSeat,
    plane: &'a dyn Bootstrap,
) -> Engine<'a> {
    let seats = Seats {
        world: seat.world,
        ranks: seat.ranks.clone(),
        gpus: seat.ranks.iter().map(|rank: &Rank| Some(rank.0)).collect(),
        host: seat.host.clone(),
    };
    let rules = Rules {
        blocking: specs[0].blocking,
        control_limit: Duration::from_mins(2),
        launches_block: false,
        seed: 7,
        tweaks: specs[0].tweaks,
    };
    let most = specs.iter().map(|spec| plan::max_bytes(spec).0).max();
    let capacity = Bytes(2 * most.unwrap_or(0) + 64);
    let clock = Arc::new(SystemClock);
    Engine::new(session, plane, clock, &seats, capacity, rules).unwrap()
}

/// Fails the test unless everything that is defined was measured and right.
pub(crate) fn expect_right(outcomes: &[Outcome]) {
    assert!(outcomes.len() >= SIZES.len() * 2);
    for (case, outcome) in outcomes {
        let checked = case.placement == Placement::OutOfPlace || case.checkable;
        let expected = Ok(checked.then_some(0));
        assert_eq!(outcome, &expected, "{case:?}");
    }
}
