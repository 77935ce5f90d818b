//! How measurements scatter.

use ncclbench::base::stats::order::{mean, median};
use ncclbench::base::stats::random::Random;
use ncclbench::record::verdict::Band;

/// What of a launch's shift bands have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shifts {
    /// A launch shifts all rows alike.
    Common,
    /// A launch shifts each band by itself.
    PerBand,
}

/// What a launch keeps of a row's iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Summary {
    /// The mean of one timed loop: a row without `--iters auto`.
    LoopMean,
    /// Ten batches, whose median is taken: a row with `--iters auto`.
    Batches,
    /// The median of single iterations.
    IterationMedian,
    /// The fastest iteration.
    Fastest,
}

/// All that is random.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// Standard deviation of a launch's shift.
    pub shift: f64,
    /// A launch's shift has the tails of Student's t with five degrees instead of a normal's.
    pub heavy_launches: bool,
    /// What the bands have in common.
    pub shifts: Shifts,
    /// Standard deviation of a row's own shift in a launch: latency, middle, bandwidth.
    pub row_shift: [f64; 3],
    /// Share of rows that have two modes; a launch falls into the slow one, 8 % slower, with a chance of 0.3.
    pub bimodal: f64,
    /// Standard deviation of an iteration: latency, middle, bandwidth.
    pub iteration: [f64; 3],
    /// Correlation of an iteration with the one before.
    pub memory: f64,
    /// Share of iterations that are held up, by a Pareto tail that begins at 5 %.
    pub held_up: f64,
    /// Iterations in all.
    pub iterations: usize,
    /// What is kept of them.
    pub summary: Summary,
}

/// What docs/METHOD.md calls realistic.
pub(crate) const REALISTIC: Noise = Noise {
    shift: 0.01,
    heavy_launches: false,
    shifts: Shifts::Common,
    row_shift: [0.02, 0.007, 0.005],
    bimodal: 0.05,
    iteration: [0.06, 0.03, 0.015],
    memory: 0.6,
    held_up: 0.02,
    iterations: 50,
    summary: Summary::Batches,
};

/// Whether a row has two modes.
pub(crate) type Mode = bool;

/// Which rows have two modes in this night, on both sides.
pub(crate) fn modes(noise: Noise, n_rows: usize, random: &mut Random) -> Vec<Mode> {
    (0..n_rows).map(|_| random.unit() < noise.bimodal).collect()
}

/// A normal number, by Box and Muller.
pub(crate) fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// Student's t with five degrees, scaled to a standard deviation of 1.
fn heavy(random: &mut Random) -> f64 {
    let squares: f64 = (0..5).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / 5.0).sqrt() / (5.0f64 / 3.0).sqrt()
}

impl Noise {
    /// What a launch's times are multiplied by in each band.
    pub(crate) fn shifts(&self, random: &mut Random) -> [f64; 3] {
        let common = self.shift(random);
        [(); 3].map(|()| {
            let z = match self.shifts {
                Shifts::Common => common,
                Shifts::PerBand => self.shift(random),
            };
            (self.shift * z).exp()
        })
    }

    fn shift(&self, random: &mut Random) -> f64 {
        if self.heavy_launches {
            heavy(random)
        } else {
            normal(random)
        }
    }

    /// A row's times in a launch, as the launch keeps them.
    pub(crate) fn launch(
        &self,
        usual_us: f64,
        band: Band,
        mode: Mode,
        random: &mut Random,
    ) -> Vec<f64> {
        let slow_mode = if mode && random.unit() < 0.3 {
            1.08
        } else {
            1.0
        };
        let own = (self.row_shift[band as usize] * normal(random)).exp();
        let level = usual_us * slow_mode * own;
        let n_loops = if self.summary == Summary::Batches {
            10
        } else {
            1
        };
        let mut state = normal(random);
        let mut batch = || {
            let times: Vec<f64> = (0..self.iterations / n_loops)
                .map(|_| level * self.iteration(band, &mut state, random))
                .collect();
            self.kept(&times)
        };
        (0..n_loops).map(|_| batch()).collect()
    }

    fn iteration(&self, band: Band, state: &mut f64, random: &mut Random) -> f64 {
        let fresh = (1.0 - self.memory * self.memory).sqrt();
        *state = self.memory * *state + fresh * normal(random);
        let held_up = if random.unit() < self.held_up {
            (0.05 * (1.0 - random.unit()).powf(-1.0 / 1.5)).min(20.0)
        } else {
            0.0
        };
        (self.iteration[band as usize] * *state).exp() + held_up
    }

    fn kept(&self, times: &[f64]) -> f64 {
        let kept = match self.summary {
            Summary::LoopMean | Summary::Batches => mean(times),
            Summary::IterationMedian => median(times),
            Summary::Fastest => times.iter().copied().reduce(f64::min),
        };
        kept.expect("a loop has iterations")
    }
}
