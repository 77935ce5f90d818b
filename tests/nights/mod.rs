//! A simulator of nights, for the error rates of verdicts. `docs/METHOD.md` describes it.
//!
//! Two sides of launches of one sweep of 60 rows. A launch shifts all its rows together, each row a
//! little by itself, and some rows fall into one of two modes. Iterations follow each other
//! (autocorrelation) and some are held up (heavy upper tail). Times are those of the slowest rank.

#![allow(dead_code, reason = "the tests and the bench each use a part of it")]

pub(crate) mod noise;

use ncclbench::base::stats::random::Random;
use ncclbench::base::{Bytes, DataType, Placement, RedOp};
use ncclbench::baseline::{Question, Rules, band, judge};
use ncclbench::record::baseline::{BaselineEntry, Launch, LaunchRow, Measure};
use ncclbench::record::verdict::{Band, Decision, Verdict};
use ncclbench::record::{Fingerprint, Limits, RowKey};
pub(crate) use noise::{Noise, REALISTIC};
use std::sync::atomic::{AtomicU64, Ordering};

const COLLECTIVES: [&str; 5] = [
    "allreduce",
    "allgather",
    "reducescatter",
    "alltoall",
    "broadcast",
];

/// Twelve sizes: five of the latency band, four of the middle one, three of the bandwidth band.
const SIZES: [u64; 12] = [
    8,
    256,
    4 << 10,
    32 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    8 << 20,
    32 << 20,
    64 << 20,
    512 << 20,
    4 << 30,
];

/// What happens in a night.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Night {
    /// Launches of the baseline and of the night.
    pub launches: [usize; 2],
    /// The bands that lose speed, and what their times are multiplied by.
    pub loss: Option<(Band, f64)>,
    /// How measurements scatter.
    pub noise: Noise,
}

/// How many of some nights came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub pass: u32,
    pub regress: u32,
    pub inconclusive: u32,
}

impl Counts {
    pub(crate) fn nights(self) -> u32 {
        self.pass + self.regress + self.inconclusive
    }

    pub(crate) fn share(self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.nights().max(1))
    }

    fn add(&mut self, decision: Decision) {
        *match decision {
            Decision::Pass => &mut self.pass,
            Decision::Regress => &mut self.regress,
            Decision::Inconclusive => &mut self.inconclusive,
        } += 1;
    }

    fn merge(&mut self, other: Self) {
        self.pass += other.pass;
        self.regress += other.regress;
        self.inconclusive += other.inconclusive;
    }
}

/// A loss of speed by `percent` as what times are multiplied by.
pub(crate) fn loss(percent: f64) -> f64 {
    1.0 / (1.0 - percent / 100.0)
}

/// Simulates and judges `n` nights, each from a seed of its own, on all processors.
pub(crate) fn count(night: Night, n: u32, seed: u64) -> Counts {
    let next = AtomicU64::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut counts = Counts::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= u64::from(n) {
                return counts;
            }
            counts.add(verdict(night, seed.wrapping_mul(1 << 32) + index).decision);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut all = Counts::default();
        for worker in workers {
            all.merge(worker.join().expect("a night can be judged"));
        }
        all
    })
}

/// One night's verdict.
pub(crate) fn verdict(night: Night, seed: u64) -> Verdict {
    let mut random = Random::named(seed, "night");
    let modes = noise::modes(night.noise, rows(), &mut random);
    let sides = [0, 1].map(|side| {
        let loss = night.loss.filter(|_| side == 1);
        (0..night.launches[side])
            .map(|index| launch(night.noise, loss, &modes, side, index, &mut random))
            .collect::<Vec<Launch>>()
    });
    let [baseline, now] = sides;
    let entry = entry(baseline);
    let question = Question {
        baseline: &entry,
        now: &now,
        fingerprint: &entry.fingerprint,
        earlier: &[],
        floors: &[],
        force: false,
    };
    let rules = Rules {
        seed,
        ..Rules::with(Limits::default())
    };
    judge(&question, &rules).expect("both sides are alike")
}

fn rows() -> usize {
    COLLECTIVES.len() * SIZES.len()
}

fn entry(launches: Vec<Launch>) -> BaselineEntry {
    BaselineEntry {
        schema: 1,
        name: "night".to_owned(),
        entry: 1,
        retired: false,
        author: "simulator".to_owned(),
        at: String::new(),
        reason: String::new(),
        fingerprint: Fingerprint::default(),
        launches,
    }
}

fn launch(
    noise: Noise,
    loss: Option<(Band, f64)>,
    modes: &[noise::Mode],
    side: usize,
    index: usize,
    random: &mut Random,
) -> Launch {
    let shifts = noise.shifts(random);
    let keys = COLLECTIVES
        .iter()
        .flat_map(|name| SIZES.map(|size| (*name, size)));
    let rows = keys.zip(modes).map(|((collective, size), mode)| {
        let band = band(size);
        let slower = loss.map_or(1.0, |(which, by)| if which == band { by } else { 1.0 });
        let usual_us = (10.0 + Bytes(size).0 as f64 / 300e3) * slower;
        let times = noise.launch(usual_us * shifts[band as usize], band, *mode, random);
        row(collective, size, times)
    });
    Launch {
        run: format!("{side}-{index}"),
        started: format!("2026-11-{:02}T00:00:00.000Z", index % 28 + 1),
        rows: rows.collect(),
        wrong: 0,
        cut_short: None,
    }
}

fn row(collective: &str, size: u64, times: Vec<f64>) -> LaunchRow {
    LaunchRow {
        key: RowKey {
            collective: collective.to_owned(),
            dtype: DataType::Float,
            redop: (collective == "allreduce").then_some(RedOp::Sum),
            root: None,
            placement: Placement::OutOfPlace,
            requested: Bytes(size),
        },
        algo_bytes: Bytes(size),
        bus_factor: 1.0,
        measure: Some(Measure {
            mean_us: vec![times[0]],
            max_us: times,
        }),
        waived: None,
    }
}
