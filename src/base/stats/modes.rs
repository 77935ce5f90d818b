//! Whether times fall into two groups, so that an average of them describes neither.

use super::order::sorted;

/// How far apart the groups' centres must be, as a share of the lower.
const APART: f64 = 0.05;

/// Each group must hold this share of the values.
const SHARE: f64 = 0.10;

/// Each group must hold this many values: one odd value is an outlier.
const FEWEST: usize = 2;

/// The fewest values that are looked at.
const ENOUGH: usize = 8;

/// The empty stretch between the groups must be this share of the distance of their centres, since a
/// single group, cut in two, has centres that lie apart as well.
const EMPTY: f64 = 0.5;

/// Two groups of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// Mean of the lower group.
    pub low: f64,
    /// Mean of the upper group.
    pub high: f64,
    /// Share of the values in the upper group.
    pub high_share: f64,
}

/// The two groups of `values`, if there are two; none of fewer than eight values or where any is not
/// above 0.
///
/// # Source
/// The split with the least squares (two-means, exact in one dimension) as the two-mode check of
/// nights of NCCL measurements: centres more than 5 % apart, each with 10 % of the values. The empty
/// stretch between them is ours.
pub fn two(values: &[f64]) -> Option<Modes> {
    let sorted = sorted(values);
    let usable = sorted.iter().all(|value| value.is_finite() && *value > 0.0);
    if sorted.len() < ENOUGH || !usable {
        return None;
    }
    let cut = best_cut(&sorted)?;
    let (low, high) = (average(&sorted[..cut]), average(&sorted[cut..]));
    let high_share = count(sorted.len() - cut) / count(sorted.len());
    let empty = sorted[cut] - sorted[cut - 1];
    let is_two = high - low > APART * low
        && empty >= EMPTY * (high - low)
        && high_share.min(1.0 - high_share) >= SHARE
        && cut.min(sorted.len() - cut) >= FEWEST;
    is_two.then_some(Modes {
        low,
        high,
        high_share,
    })
}

/// How many values the lower group has in the split with the least squares within groups, which is the
/// one with the most between them.
fn best_cut(sorted: &[f64]) -> Option<usize> {
    let total: f64 = sorted.iter().sum();
    let mut below = 0.0;
    let mut best = None;
    for cut in 1..sorted.len() {
        below += sorted[cut - 1];
        let (n, m) = (count(cut), count(sorted.len() - cut));
        let between = below * below / n + (total - below).powi(2) / m;
        if best.is_none_or(|(most, _)| between > most) {
            best = Some((between, cut));
        }
    }
    best.map(|(_, cut)| cut)
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of values")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    fn normal(random: &mut Random) -> f64 {
        (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    #[test]
    fn two_groups_are_found_and_described() {
        let mut values = vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8];
        values.extend([110.0, 111.0, 109.0]);
        let modes = two(&values).unwrap();
        assert!((modes.low - 100.0).abs() < 0.1 && (modes.high - 110.0).abs() < 0.1);
        assert!((modes.high_share - 0.3).abs() < 1e-9);
    }

    #[test]
    fn one_group_is_one_however_wide_and_whatever_its_tail() {
        let mut random = Random::seeded(5);
        let mut found = 0;
        for trial in 0..1000 {
            let spread = [1.0, 5.0, 15.0][trial % 3];
            let values: Vec<f64> = (0..20)
                .map(|_| 100.0 * (spread / 100.0 * normal(&mut random)).exp())
                .collect();
            found += u32::from(two(&values).is_some());
        }
        assert!(found <= 30, "{found} of 1000 are called bimodal");
    }

    #[test]
    fn outliers_near_modes_and_few_values_are_not_two_groups() {
        let mut outlier = vec![100.0; 20];
        outlier[3] = 150.0;
        assert_eq!(two(&outlier), None);
        assert_eq!(
            two(&[100.0, 100.0, 100.0, 100.0, 103.0, 103.0, 103.0, 103.0]),
            None
        );
        assert_eq!(two(&[1.0, 1.0, 2.0, 2.0]), None);
        assert_eq!(two(&[f64::NAN; 9]), None);
        assert_eq!(two(&[0.0; 9]), None);
    }
}
