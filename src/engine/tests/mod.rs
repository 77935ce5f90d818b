//! The engine over a session that only writes down what it is asked, and a clock moved by hand.

mod fake;
mod rarer;

use self::fake::Deed;
use self::fake::Fake;
use super::Engine;
use super::Measured;
use super::Rules;
use super::Seats;
use super::Watch;
use crate::base::Bytes;
use crate::base::Clock;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::World;
use crate::base::sweep::Step;
use crate::base::sweep::Sweep;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::PeerInfo;
use crate::bootstrap::solo::Solo;
use crate::collective;
use crate::plan;
use crate::plan::Job;
use crate::plan::PlanSpec;
use crate::plan::Work;
use crate::record::Blocking;
use crate::record::Tweaks;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

fn spec() -> PlanSpec {
    PlanSpec {
        collective: collective::by_name("allreduce").unwrap(),
        dtypes: vec![DataType::Float],
        redops: vec![RedOp::Sum],
        roots: crate::plan::Roots::One(crate::base::Rank(0)),
        uneven: crate::base::Uneven::default(),
        rank_bytes: false,
        sweep: Sweep::new(Bytes(400), Bytes(1200), Step::Factor(3)).unwrap(),
        list: Vec::new(),
        placements: crate::base::Placement::ALL.to_vec(),
        effort: crate::plan::Effort::default(),
        iterations: 5,
        ops_per_batch: 2,
        warmup: 1,
        checks: 2,
        blocking: Blocking::None,
        cycles: 1,
        tweaks: crate::record::Tweaks::default(),
    }
}

fn first_measurement(spec: &PlanSpec) -> Job {
    let jobs = plan::jobs(spec, World(2), 0).unwrap();
    jobs.into_iter()
        .find(|job| job.work == Work::Measure)
        .unwrap()
}

fn solo() -> Solo {
    Solo::new(PeerInfo {
        host: "here".to_owned(),
        identity: "here".to_owned(),
        pid: 1,
        version: "0".to_owned(),
        ranks: 1,
    })
}

/// Runs `act` on an engine over `fake`; gives what it gave and what the session was asked to do.
fn with_engine<T>(
    fake: Fake,
    blocking: Blocking,
    act: impl FnOnce(&mut Engine<'_>) -> T,
) -> (T, Vec<Deed>) {
    with_tweaks(fake, blocking, Tweaks::default(), act)
}

/// As [`with_engine`], with rarer options.
fn with_tweaks<T>(
    mut fake: Fake,
    blocking: Blocking,
    tweaks: Tweaks,
    act: impl FnOnce(&mut Engine<'_>) -> T,
) -> (T, Vec<Deed>) {
    let deeds = Rc::clone(&fake.deeds);
    let clock = Arc::clone(&fake.clock);
    let plane = solo();
    let seats = Seats {
        world: World(2),
        ranks: vec![Rank(1)],
        gpus: vec![Some(4)],
        host: "here".to_owned(),
    };
    let rules = Rules {
        blocking,
        control_limit: Duration::from_secs(1),
        launches_block: false,
        seed: 9,
        tweaks,
    };
    let mut engine = Engine::new(&mut fake, &plane, clock, &seats, Bytes(1200), rules).unwrap();
    let given = act(&mut engine);
    let deeds = deeds.borrow().clone();
    (given, deeds)
}

#[test]
fn the_time_is_the_whole_loops_over_iterations_times_operations() {
    let job = first_measurement(&spec());
    let fake = Fake::new(&Arc::default());
    let (measured, _) = with_engine(fake, Blocking::None, |engine| engine.run(&job));
    let Some(Measured::Timed(sample, Some(found))) = measured.unwrap() else {
        panic!("not timed")
    };
    assert_eq!(
        (sample.time_us, sample.wrong, found.wrong),
        (vec![7.0], vec![0], 0)
    );
}

#[test]
fn operations_rotate_over_the_buffers_parts() {
    let job = first_measurement(&spec());
    let fake = Fake::new(&Arc::default());
    let (timing, deeds) = with_engine(fake, Blocking::None, |engine| engine.time(&job));
    timing.unwrap();
    let shifts: Vec<_> = deeds
        .iter()
        .filter_map(|deed| match deed {
            Deed::Reduce(send, recv) => {
                Some((send.offset, recv.offset, send.buffer == recv.buffer))
            }
            _ => None,
        })
        .collect();
    let expected: Vec<_> = (0..10)
        .map(|op| (op % 3 * 400, op % 3 * 400, false))
        .collect();
    assert_eq!(shifts, expected);
}

#[test]
fn waiting_for_each_operation_drains_as_often_as_asked() {
    let job = first_measurement(&spec());
    for (blocking, drains) in [
        (Blocking::None, 1),
        (Blocking::Wait, 5 + 1),
        (Blocking::WaitAndBarrier, 5 + 1),
        (Blocking::BarrierOutside, 5),
    ] {
        let fake = Fake::new(&Arc::default());
        let (timing, deeds) = with_engine(fake, blocking, |engine| engine.time(&job));
        assert_eq!(
            timing.unwrap().total,
            Duration::from_micros(70),
            "{blocking:?}"
        );
        let drained = deeds.iter().filter(|deed| **deed == Deed::Drained).count();
        assert_eq!(drained, drains, "{blocking:?}");
    }
}

#[test]
fn every_round_of_checking_poisons_and_draws_fresh_data() {
    let job = first_measurement(&spec());
    let fake = Fake::new(&Arc::default());
    let (found, deeds) = with_engine(fake, Blocking::None, |engine| engine.check(&job));
    assert_eq!(found.unwrap().unwrap().wrong, 0);
    let seeds: Vec<_> = deeds
        .iter()
        .filter_map(|deed| match deed {
            Deed::Fill(seed) => Some(*seed),
            _ => None,
        })
        .collect();
    assert_eq!(seeds.len(), 2);
    assert_ne!(seeds[0], seeds[1]);
    let first = deeds.iter().position(|deed| *deed == Deed::Poison).unwrap();
    assert!(
        matches!(deeds[first + 1], Deed::Fill(_)),
        "the input is made after the poison"
    );
}

#[test]
fn checking_stops_at_the_first_bad_round() {
    let job = first_measurement(&spec());
    let mut fake = Fake::new(&Arc::default());
    fake.finds.wrong = 3;
    let (found, deeds) = with_engine(fake, Blocking::None, |engine| engine.check(&job));
    assert_eq!(found.unwrap().unwrap().wrong, 3);
    assert_eq!(
        deeds.iter().filter(|deed| **deed == Deed::Verify).count(),
        1
    );
}

#[test]
fn what_the_backend_does_not_offer_is_waived_with_its_reason() {
    let job = first_measurement(&spec());
    let mut fake = Fake::new(&Arc::default());
    fake.offers = false;
    let (measured, _) = with_engine(fake, Blocking::None, |engine| engine.run(&job));
    assert_eq!(
        measured.unwrap(),
        Some(Measured::Waived("not here".to_owned()))
    );
}

#[test]
fn a_checker_that_sees_nothing_ends_the_run_before_it_measures() {
    let job = first_measurement(&spec());
    let fake = Fake::new(&Arc::default());
    let (proved, _) = with_engine(fake, Blocking::None, |engine| engine.prove_checker(&job));
    let fault = proved.unwrap_err();
    assert!(fault.message.contains("cannot be trusted"), "{fault}");
}

#[test]
fn an_operation_without_progress_is_reported_with_its_phase_and_counts() {
    /// Each look at the clock is a second later than the one before.
    #[derive(Debug, Default)]
    struct Fast(AtomicU64);
    impl Clock for Fast {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.fetch_add(1, Ordering::SeqCst))
        }
        fn pause(&self, _: Duration) {}
    }
    let plane: Arc<dyn Bootstrap> = Arc::new(solo());
    plane.pulse().enter("measuring 1 MiB out-of-place");
    plane.pulse().work(true);
    plane.pulse().issued(3);
    let (tell, told) = mpsc::channel();
    let on_timeout = Box::new(move |fault: Fault| tell.send(fault).unwrap());
    let limit = Duration::from_secs(4);
    let clock = Arc::new(Fast::default());
    let watch = Watch::start(&[plane], limit, clock, on_timeout).unwrap();
    let fault = told.recv_timeout(Duration::from_secs(30)).unwrap();
    drop(watch);
    assert_eq!(fault.kind, Kind::Timeout);
    assert!(
        fault
            .message
            .contains("3 are in flight, for 4 s while measuring 1 MiB out-of-place"),
        "{fault}"
    );
}
