//! Order statistics: median, percentiles by nearest rank, scatter.

/// The values in ascending order; what is not a number sorts last.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The middle value, or the mean of the two in the middle; none of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper))
}

/// The smallest value that at least `percent` of 100 values do not exceed; none of nothing.
///
/// `sorted` ascends, and `percent` is above 0 and at most 100.
///
/// # Source
/// The nearest-rank definition: value number ⌈p/100 · n⌉.
pub fn percentile(sorted: &[f64], percent: u32) -> Option<f64> {
    let rank = (sorted.len() as u64 * u64::from(percent)).div_ceil(100);
    let index = usize::try_from(rank.max(1)).ok()? - 1;
    sorted.get(index).copied()
}

/// The arithmetic mean; none of nothing.
#[expect(
    clippy::cast_precision_loss,
    reason = "nobody measures 2^53 operations"
)]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Coefficient of variation: standard deviation (of a sample, over n − 1) by mean. None of fewer than
/// two values or where the mean is not above 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "nobody measures 2^53 operations"
)]
pub fn variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean > 0.0)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    Some((squares / degrees as f64).sqrt() / mean)
}

/// Correlation of each value with the one before; none of fewer than three values, 0 where they are equal.
///
/// # Source
/// The usual estimate, Σ (xₜ − m)(xₜ₋₁ − m) / Σ (xₜ − m)².
pub fn lag1(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 3)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    Some(if squares > 0.0 {
        products / squares
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: Option<f64>, expected: f64) {
        let got = got.unwrap();
        assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
    }

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        close(median(&[3.0, 1.0, 2.0]), 2.0);
        close(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        close(median(&[7.0]), 7.0);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        for (percent, value) in [(50, 100.0), (90, 180.0), (99, 198.0), (100, 200.0)] {
            close(percentile(&values, percent), value);
        }
        close(percentile(&[1.0, 2.0, 3.0], 50), 2.0);
        close(percentile(&[1.0, 2.0, 3.0], 1), 1.0);
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn the_variation_is_the_samples_and_needs_two_values() {
        close(variation(&[9.0, 11.0]), 2f64.sqrt() / 10.0);
        close(variation(&[5.0, 5.0, 5.0]), 0.0);
        assert_eq!((variation(&[5.0]), variation(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn neighbours_that_go_together_correlate_and_those_that_alternate_do_the_opposite() {
        let slow: Vec<f64> = (0..40).map(|i| f64::from(i / 10)).collect();
        let quick: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!(lag1(&slow).unwrap() > 0.8);
        assert!(lag1(&quick).unwrap() < -0.9);
        close(lag1(&[2.0; 9]), 0.0);
        assert_eq!(lag1(&[1.0, 2.0]), None);
    }
}
