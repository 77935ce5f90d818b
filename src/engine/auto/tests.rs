//! Batches over sessions whose operations take what a script says, on clocks moved by hand.

use super::*;
use crate::backend::Abort;
use crate::backend::Session;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Clock;
use crate::base::DataType;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::base::pattern::Recipe;
use crate::base::pattern::Stretch;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::PeerInfo;
use crate::bootstrap::solo::Solo;
use crate::bootstrap::threads::ThreadPlane;
use crate::collective;
use crate::engine::Engine;
use crate::engine::Measured;
use crate::engine::Rules;
use crate::engine::Seats;
use crate::ops::Collectives;
use crate::ops::Ops;
use crate::plan;
use crate::plan::PlanSpec;
use crate::record::Blocking;
use crate::record::Mismatches;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// A clock that moves when it is told to.
#[derive(Debug, Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::SeqCst))
    }

    fn pause(&self, pause: Duration) {
        self.0
            .fetch_add(u64::try_from(pause.as_nanos()).unwrap(), Ordering::SeqCst);
    }
}

/// One of three ranks; its operations take `micros`, more or less as the noise has it.
#[derive(Debug)]
struct Noisy {
    rank: u32,
    micros: f64,
    /// Largest deviation, as a fraction.
    noise: f64,
    state: Cell<u64>,
    open: Cell<u32>,
    clock: Arc<Hand>,
}

impl Noisy {
    fn new(rank: u32, micros: f64, noise: f64) -> Self {
        Self {
            rank,
            micros,
            noise,
            state: Cell::new(u64::from(rank) + 1),
            open: Cell::new(0),
            clock: Arc::default(),
        }
    }

    /// Between −1 and 1.
    fn draw(&self) -> f64 {
        let next = self
            .state
            .get()
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.state.set(next);
        f64::from(u32::try_from(next >> 32).unwrap()) / f64::from(1u32 << 31) - 1.0
    }
}

impl Collectives for Noisy {
    fn all_reduce(&self, _: Span, _: Span, _: DataType, _: RedOp) -> Result<(), Fault> {
        self.open.set(self.open.get() + 1);
        Ok(())
    }
}

impl Ops for Noisy {
    fn rank(&self) -> Rank {
        Rank(self.rank)
    }

    fn world(&self) -> World {
        World(3)
    }

    fn has_native(&self, _name: &str) -> bool {
        true
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        body()
    }
}

#[derive(Debug)]
struct NoAbort;

impl Abort for NoAbort {
    fn abort(&self) {}
}

impl crate::backend::Extras for Noisy {}

impl Session for Noisy {
    fn ops(&self, _lane: usize) -> &dyn Ops {
        self
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        body()
    }

    fn free_memory(&self, _lane: usize) -> Result<Option<Bytes>, Fault> {
        Ok(None)
    }

    fn alloc(&mut self, _lane: usize, _len: Bytes) -> Result<Buffer, Fault> {
        Ok(Buffer(0))
    }

    fn fill(&mut self, _: usize, _: Span, _: &Recipe) -> Result<(), Fault> {
        Ok(())
    }

    fn poison(&mut self, _: usize, _: Span, _: &Recipe) -> Result<(), Fault> {
        Ok(())
    }

    fn verify(
        &mut self,
        _: usize,
        _: Span,
        _: &Recipe,
        _: &[Stretch],
    ) -> Result<Option<Mismatches>, Fault> {
        Ok(Some(Mismatches::default()))
    }

    fn poll(&mut self) -> Result<bool, Fault> {
        for _ in 0..self.open.replace(0) {
            let micros = self.micros * (1.0 + self.noise * self.draw());
            self.clock.pause(Duration::from_secs_f64(micros / 1e6));
        }
        Ok(true)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::new(NoAbort)
    }
}

fn job(wanted: Precision) -> Job {
    let spec = PlanSpec {
        collective: collective::by_name("allreduce").unwrap(),
        dtypes: vec![DataType::Float],
        redops: vec![RedOp::Sum],
        roots: plan::Roots::One(Rank(0)),
        uneven: crate::base::Uneven::default(),
        rank_bytes: false,
        sweep: crate::base::sweep::Sweep::new(
            Bytes(400),
            Bytes(400),
            crate::base::sweep::Step::Factor(2),
        )
        .unwrap(),
        list: Vec::new(),
        placements: vec![crate::base::Placement::OutOfPlace],
        effort: plan::Effort {
            precision: Some(wanted),
            distribution: false,
        },
        iterations: 0,
        ops_per_batch: 1,
        warmup: 0,
        checks: 1,
        blocking: Blocking::None,
        cycles: 1,
        tweaks: crate::record::Tweaks::default(),
    };
    plan::jobs(&spec, World(3), 0).unwrap().remove(0)
}

fn wanted(half_width: f64, budget_ms: u64) -> Precision {
    Precision {
        half_width,
        budget: Duration::from_millis(budget_ms),
    }
}

/// One rank of three, with its operations' time and their noise.
fn measure(plane: &dyn Bootstrap, mut session: Noisy, job: &Job) -> crate::record::Sample {
    let clock = Arc::clone(&session.clock);
    let seats = Seats {
        world: World(3),
        ranks: vec![Rank(session.rank)],
        gpus: vec![None],
        host: "here".to_owned(),
    };
    let rules = Rules {
        blocking: Blocking::None,
        control_limit: Duration::from_mins(1),
        launches_block: false,
        seed: 9,
        tweaks: crate::record::Tweaks::default(),
    };
    let mut engine = Engine::new(&mut session, plane, clock, &seats, Bytes(400), rules).unwrap();
    match engine.run(job).unwrap() {
        Some(Measured::Timed(sample, _)) => sample,
        other => panic!("{other:?}"),
    }
}

/// What three ranks say of a job: their own sessions and clocks, one control plane.
fn three(sessions: [Noisy; 3], job: &Job) -> Vec<crate::record::Sample> {
    let me = PeerInfo {
        host: "here".to_owned(),
        identity: "here".to_owned(),
        pid: 1,
        version: "0".to_owned(),
        ranks: 3,
    };
    let clock: Arc<dyn Clock> = Arc::new(crate::engine::SystemClock);
    let planes = ThreadPlane::join(Arc::new(Solo::new(me)), 3, clock);
    std::thread::scope(|scope| {
        let running: Vec<_> = planes
            .iter()
            .zip(sessions)
            .map(|(plane, session)| scope.spawn(move || measure(plane, session, job)))
            .collect();
        running
            .into_iter()
            .map(|rank| rank.join().unwrap())
            .collect()
    })
}

#[test]
fn three_ranks_with_noisy_clocks_take_the_same_batches_and_stop_for_the_same_reason() {
    let job = job(wanted(0.01, 10_000));
    let sessions = [(0, 20.0), (1, 35.0), (2, 25.0)];
    let samples = three(
        sessions.map(|(rank, micros)| Noisy::new(rank, micros, 0.6)),
        &job,
    );
    let first = samples[0].quality.sampling.clone().unwrap();
    for sample in &samples {
        assert_eq!(sample.quality.sampling.as_ref(), Some(&first));
        assert_eq!(sample.time_us, samples[0].time_us);
    }
    assert_eq!(first.stop, Stop::Narrow);
    assert!(first.half_width.unwrap() <= 0.01);
    assert_eq!(first.batch_iterations, 20);
    assert_eq!(first.iterations, 20 * first.batch_us.len() as u64);
    // the slowest rank is the second, and the median is its operations' time
    assert!((first.median_us - 35.0).abs() < 1.0, "{first:?}");
    assert!((samples[0].time_us[0] - 20.0).abs() < 1.0);
}

#[test]
fn steady_operations_need_the_fewest_batches() {
    let job = job(wanted(0.01, 10_000));
    let samples = three([0, 1, 2].map(|rank| Noisy::new(rank, 5000.0, 0.0001)), &job);
    let sampling = samples[0].quality.sampling.clone().unwrap();
    assert_eq!(
        (sampling.stop, sampling.batch_iterations),
        (Stop::Narrow, 1)
    );
    assert_eq!(sampling.batch_us.len(), effort::FIRST_LOOK);
}

#[test]
fn a_budget_ends_what_does_not_get_narrow_and_is_not_overdrawn_by_more_than_a_batch() {
    let job = job(wanted(0.0001, 40));
    let samples = three([0, 1, 2].map(|rank| Noisy::new(rank, 30.0, 0.9)), &job);
    let sampling = samples[1].quality.sampling.clone().unwrap();
    assert_eq!(sampling.stop, Stop::Budget);
    let each = f64::from(sampling.batch_iterations);
    let spent_us: f64 = sampling.batch_us.iter().map(|time| time * each).sum();
    assert!(spent_us <= 41_000.0, "{spent_us}");
    assert!(spent_us >= 38_000.0, "{spent_us}");
    assert!(sampling.half_width.unwrap() > 0.0001);
}

#[test]
fn an_operation_that_is_longer_than_the_budget_is_measured_once_and_has_no_interval() {
    let job = job(wanted(0.01, 10));
    let samples = three([0, 1, 2].map(|rank| Noisy::new(rank, 50_000.0, 0.0)), &job);
    let sampling = samples[2].quality.sampling.clone().unwrap();
    assert_eq!((sampling.stop, sampling.batch_us.len()), (Stop::Budget, 1));
    assert_eq!((sampling.interval_us, sampling.half_width), (None, None));
    assert!((sampling.median_us - 50_000.0).abs() < 1.0);
}

#[test]
fn noise_that_never_settles_ends_at_the_most_batches() {
    let job = job(wanted(1e-9, 3_600_000));
    let samples = three([0, 1, 2].map(|rank| Noisy::new(rank, 1000.0, 0.9)), &job);
    let sampling = samples[0].quality.sampling.clone().unwrap();
    assert_eq!(sampling.stop, Stop::Batches);
    assert_eq!(sampling.batch_us.len(), effort::MOST_BATCHES);
}

#[test]
fn threads_that_measured_different_numbers_of_batches_disagree() {
    let told = |times: &[f64]| bootstrap::encode(&times).unwrap();
    let fault = slowest(&[told(&[1.0, 2.0]), told(&[1.0])]).unwrap_err();
    assert_eq!(fault.kind, crate::base::Kind::Disagree);
    let most = slowest(&[told(&[1.0, 2.0]), told(&[3.0, 1.0])]).unwrap();
    assert_eq!(bootstrap::decode::<Vec<f64>>(&most).unwrap(), [3.0, 2.0]);
}
