//! From samples to a row, and from rows to the footer's figures; pure.
//!
//! It does not know how a row is printed or judged.

mod doubts;
pub mod iterations;

use crate::base::{GBps, Micros, Placement};
use crate::record::{Case, Mismatches, Outcome, Quality, Row, Sample, Spread};
use serde::{Deserialize, Serialize};

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
        issue: Some(issue),
        algbw_gbps: algbw,
        busbw_gbps: GBps(algbw.0 * case.bus_factor),
        wrong: mismatches.as_ref().map(|found| found.wrong),
        wrong_threads: wrong_threads(sample, mismatches.as_ref()),
        unchecked: mismatches.is_none().then(|| why_unchecked(&case)),
        bad: mismatches.map(|found| found.first).unwrap_or_default(),
        per_iteration: None,
    };
    Row {
        quality: doubts::quality(sample, &outcome),
        case,
        outcome,
        at,
    }
}

/// The row of a case that cannot be run here.
pub fn waived(case: Case, reason: impl Into<String>, at: String) -> Row {
    Row {
        case,
        outcome: Outcome::Waived {
            reason: reason.into(),
        },
        at,
        quality: Quality::default(),
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
        "NCCL does not define the in-place form; it is timed because nccl-tests times it".to_owned()
    } else {
        "the backend holds no data to check".to_owned()
    }
}

/// What the footer says about all rows, gathered row by row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Rows seen.
    pub rows: u64,
    /// Rows that were measured.
    pub measured: u64,
    /// Rows that were checked.
    pub checked: u64,
    /// See [`crate::record::Footer::wrong_measurements`].
    pub wrong_measurements: u64,
    /// Sum of the bus bandwidths of what was measured, in GB/s.
    pub busbw_sum_gbps: f64,
}

impl Figures {
    /// Counts in what was counted elsewhere.
    pub fn join(&mut self, other: &Self) {
        self.rows += other.rows;
        self.measured += other.measured;
        self.checked += other.checked;
        self.wrong_measurements += other.wrong_measurements;
        self.busbw_sum_gbps += other.busbw_sum_gbps;
    }

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
            self.busbw_sum_gbps += busbw_gbps.0;
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
            self.busbw_sum_gbps / self.measured as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Bytes, DataType};
    use crate::record::InPlace;

    fn case(placement: Placement, checks: u32) -> Case {
        Case {
            collective: "alltoall".to_owned(),
            dtype: DataType::Float,
            redop: None,
            root: None,
            placement,
            requested: Bytes(1_000_000),
            size: Bytes(1_000_000),
            count: 83_333,
            send_count: 250_000,
            recv_count: 250_000,
            in_place: InPlace::Same,
            checkable: false,
            algo_bytes: Bytes(1_000_000),
            bus_factor: 0.75,
            iterations: 20,
            ops_per_batch: 1,
            checks,
            cycle: 0,
            rank_bytes: Vec::new(),
        }
    }

    fn sample(time_us: &[f64]) -> Sample {
        Sample {
            time_us: time_us.to_vec(),
            issue_us: vec![1.0; time_us.len()],
            ..Sample::default()
        }
    }

    fn digested(time_us: &[f64], average: Average) -> Row {
        let case = case(Placement::OutOfPlace, 1);
        row(
            case,
            &sample(time_us),
            Some(Mismatches::default()),
            average,
            String::new(),
        )
    }

    fn headline(row: &Row) -> (f64, f64, f64) {
        match &row.outcome {
            Outcome::Measured {
                time_us,
                algbw_gbps,
                busbw_gbps,
                ..
            } => (time_us.0, algbw_gbps.0, busbw_gbps.0),
            Outcome::Waived { reason } => panic!("{reason}"),
        }
    }

    #[test]
    fn the_headline_combines_threads_as_the_average_says() {
        let times = [20.0, 10.0, 60.0];
        for (average, time) in Average::ALL.into_iter().zip([20.0, 30.0, 10.0, 60.0]) {
            let (time_us, algbw, busbw) = headline(&digested(&times, average));
            assert_eq!(time_us.to_bits(), f64::to_bits(time), "{average:?}");
            assert!((algbw - 1e3 / time).abs() < 1e-9, "{average:?}");
            assert!((busbw - 750.0 / time).abs() < 1e-9, "{average:?}");
        }
    }

    #[test]
    fn a_time_that_is_no_number_is_a_waived_row_and_never_a_figure() {
        let nothing: &[f64] = &[];
        for times in [nothing, &[f64::NAN], &[1.0, f64::INFINITY], &[-1.0]] {
            let row = digested(times, Average::Mean);
            assert!(matches!(row.outcome, Outcome::Waived { .. }), "{times:?}");
        }
        let (time, algbw, busbw) = headline(&digested(&[0.0], Average::Mean));
        assert_eq!([time, algbw, busbw].map(f64::to_bits), [0; 3]);
    }

    #[test]
    fn what_was_not_checked_says_why() {
        let why = |placement, checks| {
            let case = case(placement, checks);
            let row = row(case, &sample(&[1.0]), None, Average::Mean, String::new());
            match row.outcome {
                Outcome::Measured {
                    wrong: None,
                    unchecked: Some(why),
                    ..
                } => why,
                other => panic!("{other:?}"),
            }
        };
        assert!(why(Placement::OutOfPlace, 0).contains("switched off"));
        assert!(why(Placement::InPlace, 1).contains("does not define"));
        assert!(why(Placement::OutOfPlace, 1).contains("no data"));
    }

    #[test]
    fn out_of_bounds_counts_threads_with_wrong_elements_and_not_elements() {
        let mut figures = Figures::default();
        for (wrong, total) in [(vec![0, 7, 1], 8), (vec![0, 0, 0], 0), (vec![], 5)] {
            let sample = Sample {
                wrong,
                ..sample(&[1.0; 3])
            };
            let found = Mismatches {
                wrong: total,
                ..Mismatches::default()
            };
            let case = case(Placement::OutOfPlace, 1);
            let row = row(case, &sample, Some(found), Average::Mean, String::new());
            assert_eq!(row.is_wrong(), total > 0);
            figures.add(&row);
        }
        assert_eq!((figures.rows, figures.measured, figures.checked), (3, 3, 3));
        assert_eq!(figures.wrong_measurements, 2 + 1);
    }

    #[test]
    fn the_average_is_over_what_was_measured_and_0_over_nothing() {
        let mut figures = Figures::default();
        assert_eq!(figures.average_busbw_gbps().to_bits(), 0);
        figures.add(&waived(
            case(Placement::InPlace, 1),
            "not here",
            String::new(),
        ));
        assert_eq!((figures.rows, figures.measured), (1, 0));
        for time in [10.0, 30.0] {
            figures.add(&digested(&[time], Average::Mean));
        }
        assert!((figures.average_busbw_gbps() - 50.0).abs() < 1e-9);
    }
}
