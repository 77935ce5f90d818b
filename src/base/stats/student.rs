//! How far an estimate from a few values may be off: quantiles of Student's t, and Fisher's test of two spreads.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// What Student's t stays below with `probability`; infinite without a degree of freedom.
pub fn t_quantile(probability: f64, degrees: f64) -> f64 {
    let usable = degrees > 0.0 && degrees.is_finite() && probability > 0.0 && probability < 1.0;
    StudentsT::new(0.0, 1.0, degrees)
        .ok()
        .filter(|_| usable)
        .map_or(f64::INFINITY, |t| t.inverse_cdf(probability))
}

/// Probability that the ratio of two variances, estimated with these degrees of freedom, stays below
/// `ratio` where the true ones are equal; 0 where it cannot be told.
pub fn f_probability(ratio: f64, above: f64, below: f64) -> f64 {
    FisherSnedecor::new(above, below)
        .ok()
        .filter(|_| ratio >= 0.0)
        .map_or(0.0, |f| f.cdf(ratio))
}

/// Degrees of freedom of the sum of two estimated variances.
///
/// # Source
/// Welch (1947) and Satterthwaite (1946): (a + b)² / (a²/ν + b²/μ).
pub fn welch_degrees(variances: [f64; 2], degrees: [f64; 2]) -> f64 {
    let [a, b] = variances;
    let divisor = a * a / degrees[0] + b * b / degrees[1];
    if divisor > 0.0 {
        (a + b).powi(2) / divisor
    } else {
        degrees[0] + degrees[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (probability, degrees, quantile) in [
            (0.975, 2.0, 4.303),
            (0.975, 4.0, 2.776),
            (0.975, 8.0, 2.306),
            (0.995, 8.0, 3.355),
            (0.995, 23.0, 2.807),
            (0.025, 8.0, -2.306),
        ] {
            let got = t_quantile(probability, degrees);
            assert!(
                (got - quantile).abs() < 2e-3,
                "{probability} {degrees}: {got}"
            );
        }
        assert!((f_probability(6.388, 4.0, 4.0) - 0.95).abs() < 1e-3);
        assert!((f_probability(5.93, 2.0, 19.0) - 0.99).abs() < 1e-3);
    }

    #[test]
    fn without_degrees_of_freedom_nothing_is_known() {
        assert!(t_quantile(0.975, 0.0).is_infinite());
        assert!(t_quantile(0.975, f64::NAN).is_infinite());
        assert!(f_probability(f64::NAN, 4.0, 4.0).abs() < f64::EPSILON);
        assert!(f_probability(3.0, 0.0, 4.0).abs() < f64::EPSILON);
    }

    #[test]
    fn equal_spreads_keep_all_degrees_and_one_spread_keeps_its_own() {
        assert!((welch_degrees([1.0, 1.0], [4.0, 4.0]) - 8.0).abs() < 1e-9);
        assert!((welch_degrees([1.0, 1e-9], [4.0, 9.0]) - 4.0).abs() < 1e-6);
        assert!((welch_degrees([0.0, 0.0], [4.0, 9.0]) - 13.0).abs() < 1e-9);
    }
}
