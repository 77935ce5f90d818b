//! Two groups of launches: by how much they differ, and how well that is known.
//!
//! The launch is what is repeated; repetitions inside a launch are not independent. So the standard
//! error comes from a bootstrap that draws launches first and repetitions within them second. With
//! three or five launches the percentiles of a bootstrap are too narrow (they cannot leave the range
//! of what was seen), so its standard error is widened as Student's t asks.

use super::order::mean;
use super::random::Random;
use super::student::{f_probability, t_quantile, welch_degrees};

/// Spreads of two sides are taken for one unless they differ by more than this share of pairs of equal
/// spreads does: soon where the noisier side has fewer launches, which makes an interval too narrow,
/// late where it has as many or more, which hardly does.
const ALIKE: [f64; 2] = [0.90, 0.99];

/// A launch: its own figure first, then what it would be with its repetitions drawn anew.
///
/// Never empty. A launch without repetitions has its figure alone.
pub type Launch = Vec<f64>;

/// A difference between two groups of launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean of the second group less mean of the first.
    pub estimate: f64,
    /// Standard error of it; infinite where nothing shows how launches vary.
    pub error: f64,
    /// Degrees of freedom of that error; 0 where there are none.
    pub degrees: f64,
    /// Standard deviation of a launch on each side, as the error took it.
    pub spread: [f64; 2],
    /// Whether the two sides vary so differently that each was given its own spread.
    pub apart: bool,
}

impl Difference {
    /// What the difference is above with `confidence` (0 to 1).
    pub fn at_least(&self, confidence: f64) -> f64 {
        self.estimate - t_quantile(confidence, self.degrees) * self.error
    }

    /// What the difference is below with `confidence` (0 to 1).
    pub fn at_most(&self, confidence: f64) -> f64 {
        self.estimate + t_quantile(confidence, self.degrees) * self.error
    }

    /// The same difference and spreads, as more launches would show it.
    #[must_use]
    pub fn with_launches(&self, launches: [usize; 2]) -> Self {
        let counts = launches.map(count);
        let parts = [0, 1].map(|side| self.spread[side].powi(2) / counts[side]);
        Self {
            error: (parts[0] + parts[1]).sqrt(),
            degrees: degrees(counts, parts, self.apart),
            ..*self
        }
    }
}

/// How launches differ; none where a side has no launch.
///
/// `least_spread` is what launches vary at the least, so that figures that happen to be equal, or that
/// were rounded, are not taken for certain. `draws` is how often the bootstrap draws.
///
/// # Source
/// Davison and Hinkley, Bootstrap Methods and their Application (1997), section 3.8, for nested data;
/// Hesterberg, The American Statistician 69 (2015), for the narrowness in small samples.
pub fn difference(
    sides: [&[Launch]; 2],
    least_spread: f64,
    draws: usize,
    random: &mut Random,
) -> Option<Difference> {
    let centres = [centre(sides[0])?, centre(sides[1])?];
    let counts = sides.map(|side| count(side.len()));
    let own = sides.map(|side| launch_variance(side, draws, random));
    let apart = differ(own, counts);
    let variances = if apart { own } else { [pooled(own, counts); 2] };
    let spread = variances.map(|variance| variance.sqrt().max(least_spread));
    let parts = [0, 1].map(|side| spread[side].powi(2) / counts[side]);
    Some(Difference {
        estimate: centres[1] - centres[0],
        error: (parts[0] + parts[1]).sqrt(),
        degrees: degrees(counts, parts, apart),
        spread,
        apart,
    })
}

fn degrees(counts: [f64; 2], parts: [f64; 2], apart: bool) -> f64 {
    if apart {
        welch_degrees(parts, counts.map(|count| count - 1.0))
    } else {
        counts[0] + counts[1] - 2.0
    }
}

fn centre(side: &[Launch]) -> Option<f64> {
    let own: Vec<f64> = side
        .iter()
        .filter_map(|launch| launch.first().copied())
        .collect();
    mean(&own)
}

/// Variance of a launch's figure, from the bootstrap of the side's mean; 0 of a single launch.
///
/// A bootstrap of n launches sees (n − 1)/n of the variance of their mean.
fn launch_variance(side: &[Launch], draws: usize, random: &mut Random) -> f64 {
    let n = side.len();
    if n < 2 {
        return 0.0;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    let shift = side[0][0];
    for _ in 0..draws {
        let drawn: f64 = (0..n).map(|_| draw(side, random) - shift).sum();
        sum += drawn;
        squares += drawn * drawn;
    }
    let draws = count(draws);
    let of_sum = (squares / draws - (sum / draws).powi(2)).max(0.0);
    of_sum / (count(n) - 1.0)
}

/// A launch first, then one of its figures.
fn draw(side: &[Launch], random: &mut Random) -> f64 {
    let launch = &side[random.below(side.len())];
    match launch.len() {
        1 => launch[0],
        figures => launch[1 + random.below(figures - 1)],
    }
}

/// One variance for both sides, because a few launches tell little about their own; infinite where
/// neither side has two launches.
fn pooled(variances: [f64; 2], counts: [f64; 2]) -> f64 {
    let together = counts[0] + counts[1] - 2.0;
    if together < 1.0 {
        return f64::INFINITY;
    }
    (variances[0] * (counts[0] - 1.0) + variances[1] * (counts[1] - 1.0)) / together
}

/// Whether one side is clearly noisier than the other.
///
/// # Source
/// Boneau, Psychological Bulletin 57 (1960): with as many values on each side unequal variances hardly
/// disturb Student's t; with fewer on the noisier side they do.
fn differ(variances: [f64; 2], counts: [f64; 2]) -> bool {
    counts.iter().all(|count| *count >= 2.0)
        && (noisier(variances, counts) || noisier(flip(variances), flip(counts)))
}

/// Whether the second is clearly noisier than the first.
fn noisier(variances: [f64; 2], counts: [f64; 2]) -> bool {
    let ratio = variances[1] / variances[0].max(f64::MIN_POSITIVE);
    let alike = ALIKE[usize::from(counts[1] >= counts[0])];
    f_probability(ratio, counts[1] - 1.0, counts[0] - 1.0) > alike
}

fn flip(pair: [f64; 2]) -> [f64; 2] {
    [pair[1], pair[0]]
}

#[expect(clippy::cast_precision_loss, reason = "numbers of launches and draws")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn side(values: &[f64]) -> Vec<Launch> {
        values.iter().map(|value| vec![*value]).collect()
    }

    fn of(a: &[f64], b: &[f64]) -> Difference {
        let (a, b) = (side(a), side(b));
        difference([&a, &b], 0.0, 4000, &mut Random::seeded(1)).unwrap()
    }

    #[test]
    fn without_repetitions_it_is_students_two_sample_interval() {
        // by hand: variances 2.5 and 2.5, error sqrt(2.5 * 2 / 5) = 1
        let found = of(&[1.0, 2.0, 3.0, 4.0, 5.0], &[11.0, 12.0, 13.0, 14.0, 15.0]);
        assert!((found.estimate - 10.0).abs() < 1e-12);
        assert!((found.error - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.degrees - 8.0).abs() < 1e-12 && !found.apart);
        assert!((found.at_least(0.975) - (10.0 - 2.306)).abs() < 0.1);
        assert!((found.at_most(0.975) - (10.0 + 2.306)).abs() < 0.1);
    }

    #[test]
    fn one_launch_borrows_the_other_sides_spread_and_two_single_ones_know_nothing() {
        let found = of(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3.0]);
        assert!((found.degrees - 4.0).abs() < 1e-12);
        assert!(
            (found.error - (2.5f64 * 1.2).sqrt()).abs() < 0.06,
            "{found:?}"
        );
        let found = of(&[1.0], &[9.0]);
        assert!(found.error.is_infinite() && found.at_least(0.9) == f64::NEG_INFINITY);
        assert!(found.with_launches([5, 5]).error.is_infinite());
        let none = difference([&[], &side(&[1.0])], 0.0, 10, &mut Random::seeded(1));
        assert_eq!(none, None);
    }

    #[test]
    fn a_side_that_is_clearly_noisier_keeps_its_own_spread() {
        let calm = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98];
        let found = of(&calm, &[1.0, 3.0, -1.0, 2.0]);
        assert!(found.apart && found.degrees < 3.5, "{found:?}");
        assert!(found.spread[1] > 50.0 * found.spread[0]);
        assert!(!of(&[1.0, 2.0, 3.0], &[1.0, 2.5, 3.5]).apart);
    }

    #[test]
    fn launches_that_happen_to_be_equal_are_not_taken_for_certain() {
        let (a, b) = (side(&[1.0; 3]), side(&[1.0; 3]));
        let found = difference([&a, &b], 0.01, 50, &mut Random::seeded(1)).unwrap();
        assert!((found.error - 0.01 * (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn repetitions_that_scatter_widen_the_error() {
        let plain = side(&[1.0, 1.1, 0.9]);
        let scattered: Vec<Launch> = plain
            .iter()
            .map(|launch| vec![launch[0], launch[0] - 0.5, launch[0] + 0.5])
            .collect();
        let error = |side: &[Launch]| {
            difference([side, side], 0.0, 2000, &mut Random::seeded(1))
                .unwrap()
                .error
        };
        assert!(error(&scattered) > 3.0 * error(&plain));
    }

    #[test]
    fn more_launches_of_the_same_kind_narrow_the_interval() {
        let found = of(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]);
        let more = found.with_launches([12, 12]);
        assert!((more.error - found.error / 2.0).abs() < 1e-9);
        assert!((more.degrees - 22.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn moving_or_stretching_the_figures_moves_or_stretches_the_difference(
            a in proptest::collection::vec(-1.0..1.0f64, 2..6),
            b in proptest::collection::vec(-1.0..1.0f64, 2..6),
            by in -3.0..3.0f64,
            factor in 0.5..4.0f64,
        ) {
            let plain = of(&a, &b);
            let moved: Vec<f64> = b.iter().map(|value| value + by).collect();
            let moved = of(&a, &moved);
            prop_assert!((moved.estimate - plain.estimate - by).abs() < 1e-9);
            prop_assert!((moved.error - plain.error).abs() < 1e-6);
            let stretch = |side: &[f64]| side.iter().map(|value| value * factor).collect::<Vec<_>>();
            let stretched = of(&stretch(&a), &stretch(&b));
            prop_assert!((stretched.error - plain.error * factor).abs() < 1e-6);
        }
    }
}
