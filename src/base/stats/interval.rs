//! The interval in which a median lies, from order statistics: no distribution is assumed.
//!
//! Batches that follow each other are not independent, so neighbours are merged until they look it.

use super::order::{lag1, mean, median, sorted};

/// Confidence of every interval here.
pub const CONFIDENCE: f64 = 0.95;

/// The fewest values that give an interval: of five, not even smallest to largest reaches the confidence.
pub const FEWEST: usize = 6;

/// A median and the interval around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianInterval {
    /// The median of the values.
    pub median: f64,
    /// Lower and upper end; both are values.
    pub ends: [f64; 2],
    /// How many neighbouring values were taken as one.
    pub merged: usize,
}

impl MedianInterval {
    /// Half of the width over the median; infinite where the median is not above 0.
    pub fn half_width(&self) -> f64 {
        if self.median > 0.0 {
            (self.ends[1] - self.ends[0]) / 2.0 / self.median
        } else {
            f64::INFINITY
        }
    }
}

/// The interval of the median of independent values; none of fewer than [`FEWEST`].
///
/// # Source
/// The number of values below the median is binomial (n, ½), whatever the distribution: the interval
/// from value number `l + 1` to value number `n − l` covers it with probability 1 − 2 P(B ≤ l)
/// (David and Nagaraja, Order Statistics, 3rd edition, section 7.1).
pub fn of_independent(values: &[f64]) -> Option<MedianInterval> {
    let cut = values_to_cut(values.len())?;
    let sorted = sorted(values);
    Some(MedianInterval {
        median: median(values)?,
        ends: [sorted[cut], sorted[sorted.len() - 1 - cut]],
        merged: 1,
    })
}

/// The interval of the median of values that were measured one after the other.
///
/// Neighbours are averaged two by two as long as the series is correlated with itself and
/// enough values remain; so many that are still correlated give an interval that is wider, not one
/// that is too narrow. None of fewer than [`FEWEST`].
pub fn of_series(values: &[f64]) -> Option<MedianInterval> {
    let (mut series, mut merged) = (values.to_vec(), 1);
    while depends(&series) && series.len() / 2 >= FEWEST {
        series = pairs(&series);
        merged *= 2;
    }
    let plain = of_independent(&series)?;
    let median = median(values)?;
    let wider = inflation(&series);
    Some(MedianInterval {
        median,
        ends: [
            median - (median - plain.ends[0]).max(0.0) * wider,
            median + (plain.ends[1] - median).max(0.0) * wider,
        ],
        merged,
    })
}

/// How many values are left out at each end; none where the confidence cannot be reached.
fn values_to_cut(n: usize) -> Option<usize> {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let exponent = i32::try_from(n).ok().filter(|n| *n < 1000);
    let Some(exponent) = exponent else {
        return Some(by_normal(n));
    };
    let mut term = 0.5f64.powi(exponent);
    let mut sum = term;
    let mut cut = None;
    for below in 0..n {
        if sum > tail {
            break;
        }
        cut = Some(below);
        term *= ratio(n - below, below + 1);
        sum += term;
    }
    cut
}

/// The same for so many values that their binomial terms vanish: by the normal distribution.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "n is a number of batches, far below 2^53, and the result is between 0 and n"
)]
fn by_normal(n: usize) -> usize {
    let n = n as f64;
    ((n - 1.96 * n.sqrt()) / 2.0 - 1.0).max(0.0) as usize
}

#[expect(clippy::cast_precision_loss, reason = "numbers of batches")]
fn ratio(above: usize, below: usize) -> f64 {
    above as f64 / below as f64
}

/// Whether a series is correlated with itself by more than chance makes likely in so few values.
#[expect(clippy::cast_precision_loss, reason = "numbers of batches")]
fn depends(series: &[f64]) -> bool {
    let by_chance = 1.0 / (series.len() as f64).sqrt();
    lag1(series).is_some_and(|lag1| lag1 > by_chance)
}

/// What correlation that is left makes of an interval's width: √((1 + ρ) / (1 − ρ)) above what chance gives.
fn inflation(series: &[f64]) -> f64 {
    if !depends(series) {
        return 1.0;
    }
    let rho = lag1(series).unwrap_or(0.0).clamp(0.0, 0.9);
    ((1.0 + rho) / (1.0 - rho)).sqrt()
}

/// Means of neighbours; an odd one at the front is left out, since what comes first is the least settled.
fn pairs(series: &[f64]) -> Vec<f64> {
    series[series.len() % 2..]
        .chunks(2)
        .filter_map(mean)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal number that follows from `state`.
    fn normal(state: &mut u64) -> f64 {
        let mut sum = 0.0;
        for _ in 0..12 {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += f64::from(u32::try_from(*state >> 33).unwrap()) / f64::from(1u32 << 31);
        }
        sum - 6.0
    }

    /// `n` values around 100 that remember `memory` of the one before, and with a heavy upper tail.
    fn series(n: usize, memory: f64, state: &mut u64) -> Vec<f64> {
        let mut last = normal(state) / (1.0 - memory * memory).sqrt();
        (0..n)
            .map(|_| {
                last = memory * last + normal(state);
                100.0 + last
            })
            .collect()
    }

    /// Of 2,000 series, the share whose interval holds the true median.
    fn coverage(n: usize, memory: f64) -> f64 {
        let mut state = 7;
        let held = (0..2000)
            .filter(|_| {
                let interval = of_series(&series(n, memory, &mut state)).unwrap();
                (interval.ends[0]..=interval.ends[1]).contains(&100.0)
            })
            .count();
        f64::from(u32::try_from(held).unwrap()) / 2000.0
    }

    #[test]
    fn five_values_give_no_interval_and_six_give_smallest_to_largest() {
        assert_eq!(of_independent(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        let six = of_independent(&[6.0, 1.0, 5.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!(six.ends.map(f64::to_bits), [1.0, 6.0].map(f64::to_bits));
        assert!((six.median - 3.5).abs() < 1e-12);
    }

    #[test]
    fn the_ranks_are_those_of_the_tables() {
        // David and Nagaraja, table of ranks for a median at 95 %
        for (n, cut) in [
            (6, 0),
            (8, 0),
            (9, 1),
            (12, 2),
            (20, 5),
            (50, 17),
            (100, 39),
        ] {
            assert_eq!(values_to_cut(n), Some(cut), "{n}");
        }
        assert!((values_to_cut(999).unwrap()).abs_diff(by_normal(999)) <= 1);
    }

    #[test]
    fn the_interval_of_independent_values_holds_the_median_as_often_as_it_says() {
        for n in [6, 12, 25, 60] {
            let held = coverage(n, 0.0);
            assert!(held >= 0.93, "{n}: {held}");
        }
    }

    #[test]
    fn values_that_depend_on_each_other_are_not_taken_for_more_than_they_are() {
        for (n, memory) in [(24, 0.5), (60, 0.5), (120, 0.8)] {
            let held = coverage(n, memory);
            assert!(held >= 0.88, "{n} {memory}: {held}");
        }
        let mut state = 3;
        let merged = of_series(&series(200, 0.8, &mut state)).unwrap().merged;
        assert!(merged >= 4, "{merged}");
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let interval = of_series(&[5.0; 8]).unwrap();
        assert_eq!(interval.half_width().to_bits(), 0f64.to_bits());
        let none = of_series(&[0.0; 8]).unwrap();
        assert!(none.half_width().is_infinite());
    }
}
