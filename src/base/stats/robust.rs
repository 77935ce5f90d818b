//! Scatter and distance that a few odd values do not move.

use super::order::median;

/// What the median absolute deviation of a normal distribution is multiplied by to give its standard deviation.
///
/// # Source
/// Rousseeuw and Croux, JASA 88 (1993): 1 / Φ⁻¹(3/4).
const NORMAL: f64 = 1.4826;

/// The least spread that a series is given, as a share of its median, because clocks and rounding end
/// somewhere.
const LEAST: f64 = 0.005;

/// Median of the distances from the median; none of nothing.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances)
}

/// How far `value` lies from the median of `before`, in robust standard deviations; none of nothing,
/// and where the median is not above 0.
///
/// # Source
/// Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993); the least spread of 0.5 % is ours.
pub fn score(value: f64, before: &[f64]) -> Option<f64> {
    let middle = median(before).filter(|middle| *middle > 0.0)?;
    let spread = (NORMAL * deviation(before)?).max(LEAST * middle);
    Some((value - middle) / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_value_moves_neither_the_deviation_nor_the_score() {
        let calm = [98.0, 99.0, 100.0, 101.0, 102.0];
        let odd = [98.0, 99.0, 100.0, 101.0, 1000.0];
        assert_eq!(deviation(&calm), Some(1.0));
        assert_eq!(deviation(&odd), Some(1.0));
        let score = score(90.0, &odd).unwrap();
        assert!((score + 10.0 / 1.4826).abs() < 1e-9, "{score}");
    }

    #[test]
    fn equal_values_have_the_least_spread_and_not_none() {
        let score = score(99.0, &[100.0; 8]).unwrap();
        assert!((score + 2.0).abs() < 1e-9, "{score}");
    }

    #[test]
    fn of_nothing_or_of_no_speed_there_is_no_score() {
        assert_eq!(score(1.0, &[]), None);
        assert_eq!(score(1.0, &[0.0, 0.0]), None);
        assert_eq!(score(1.0, &[f64::NAN]), None);
    }
}
