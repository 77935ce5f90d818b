//! From samples to a row, and from rows to the footer's figures; pure.
//!
//! It does not know how a row is printed or judged.

use crate::base::{GBps, Micros, Placement};
use crate::record::{Case, Mismatches, Outcome, Row, Sample, Spread};

/// How the headline time combines the threads of the world (nccl-tests' `-a`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Average {
    /// The first thread's time.
    Rank0,
    /// The arithmetic mean.
    #[default]
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl Average {
    /// All of them; the index is nccl-tests' number.
    pub const ALL: [Self; 4] = [Self::Rank0, Self::Mean, Self::Min, Self::Max];

    /// The header's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rank0 => "rank0",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    fn of(self, spread: Spread) -> Micros {
        Micros(match self {
            Self::Rank0 => spread.rank0_us,
            Self::Mean => spread.mean_us,
            Self::Min => spread.min_us,
            Self::Max => spread.max_us,
        })
    }
}

/// The row of a case that was run.
///
/// `mismatches` is what the checks of all ranks found together; none where nothing was checked.
/// A sample without a usable time gives a waived row: nothing that is not a number gets into a record.
pub fn row(
    case: Case,
    sample: &Sample,
    mismatches: Option<Mismatches>,
    average: Average,
    at: String,
) -> Row {
    let (Some(time), Some(issue)) = (spread(&sample.time_us), spread(&sample.issue_us)) else {
        return waived(case, "the clock gave no usable time", at);
    };
    let time_us = average.of(time);
    let algbw = GBps::of(case.algo_bytes, time_us);
    let outcome = Outcome::Measured {
        time_us,
        time,
        issue,
        algbw_gbps: algbw,
        busbw_gbps: GBps(algbw.0 * case.bus_factor),
        wrong: mismatches.as_ref().map(|found| found.wrong),
        wrong_threads: wrong_threads(sample, mismatches.as_ref()),
        unchecked: mismatches.is_none().then(|| why_unchecked(&case)),
        bad: mismatches.map(|found| found.first).unwrap_or_default(),
    };
    Row { case, outcome, at }
}

/// The row of a case that cannot be run here.
pub fn waived(case: Case, reason: impl Into<String>, at: String) -> Row {
    Row {
        case,
        outcome: Outcome::Waived {
            reason: reason.into(),
        },
        at,
    }
}

/// Mean, extremes and first of `values`; `None` unless there are values and all are usable times.
fn spread(values: &[f64]) -> Option<Spread> {
    let usable = |value: &f64| value.is_finite() && *value >= 0.0;
    let (rank0, count) = (*values.first()?, u32::try_from(values.len()).ok()?);
    values.iter().all(usable).then(|| Spread {
        mean_us: values.iter().sum::<f64>() / f64::from(count),
        min_us: values.iter().copied().fold(f64::INFINITY, f64::min),
        max_us: values.iter().copied().fold(0.0, f64::max),
        rank0_us: rank0,
    })
}

/// A mismatch that no thread claims still counts once.
fn wrong_threads(sample: &Sample, mismatches: Option<&Mismatches>) -> u32 {
    let threads = sample.wrong.iter().filter(|wrong| **wrong > 0).count();
    let any = mismatches.is_some_and(|found| found.wrong > 0);
    u32::try_from(threads)
        .unwrap_or(u32::MAX)
        .max(u32::from(any))
}

fn why_unchecked(case: &Case) -> String {
    if case.checks == 0 {
        "checking was switched off".to_owned()
    } else if case.placement == Placement::InPlace && !case.checkable {
        "the in-place form is not defined".to_owned()
    } else {
        "the backend holds no data to check".to_owned()
    }
}

/// What the footer says about all rows, gathered row by row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Rows seen.
    pub rows: u64,
    /// Rows that were measured.
    pub measured: u64,
    /// Rows that were checked.
    pub checked: u64,
    /// See [`crate::record::Footer::wrong_measurements`].
    pub wrong_measurements: u64,
    busbw_sum: f64,
}

impl Figures {
    /// Counts a row in.
    pub fn add(&mut self, row: &Row) {
        self.rows += 1;
        if let Outcome::Measured {
            busbw_gbps,
            wrong,
            wrong_threads,
            ..
        } = &row.outcome
        {
            self.measured += 1;
            self.checked += u64::from(wrong.is_some());
            self.wrong_measurements += u64::from(*wrong_threads);
            self.busbw_sum += busbw_gbps.0;
        }
    }

    /// Mean bus bandwidth in GB/s over all measurements, of every size, type and placement; 0 where
    /// there is none (nccl-tests prints `-nan`), and in a world of one.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `run`.
    #[expect(clippy::cast_precision_loss, reason = "nobody measures 2^53 rows")]
    pub fn average_busbw_gbps(&self) -> f64 {
        if self.measured == 0 {
            0.0
        } else {
            self.busbw_sum / self.measured as f64
        }
    }
}
