//! Lasting steps in a series of launches, to see drifts of one or two percent that no night shows.

use super::random::Random;

/// The fewest points on each side of a step.
const FEWEST: usize = 5;

/// A step is kept if so clear a one is rarer than this in a series without any.
const CHANCE: f64 = 0.01;

/// How often the series is shuffled to see what chance does.
const SHUFFLES: u32 = 499;

/// A step in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Index of the first value after it.
    pub index: usize,
    /// Chance of so clear a step in a series without one, at least 1 / 500.
    pub p: f64,
}

/// The steps of a series, by index; none in fewer than ten values, nor where any is not a number.
///
/// The clearest step is looked for, then the clearest in each part, as long as chance would not do it.
/// Ranks take the place of values, so that single odd launches count for little.
///
/// # Source
/// Binary segmentation with permutation tests as in E-divisive (Matteson and James, JASA 109, 2014;
/// Daly et al., ICPE 2020); the statistic is the standardised rank sum of Pettitt (1979), which looks for
/// shifts only and costs n instead of n² for each shuffle.
pub fn steps(values: &[f64], seed: u64) -> Vec<Step> {
    let mut found = Vec::new();
    if values.iter().all(|value| value.is_finite()) {
        split(values, 0, seed, &mut found);
    }
    found.sort_by_key(|step| step.index);
    found
}

fn split(values: &[f64], offset: usize, seed: u64, found: &mut Vec<Step>) {
    let mut ranks = ranks(values);
    let Some((clearest, index)) = clearest(&ranks) else {
        return;
    };
    let mut random = Random::seeded(seed ^ (offset as u64) << 32 ^ values.len() as u64);
    let p = chance(&mut ranks, clearest, &mut random);
    if p > CHANCE {
        return;
    }
    found.push(Step {
        index: offset + index,
        p,
    });
    let (before, after) = values.split_at(index);
    split(before, offset, seed, found);
    split(after, offset + index, seed, found);
}

/// Share of shuffled series, the one at hand among them, whose clearest step is as clear.
fn chance(ranks: &mut [f64], clearest_here: f64, random: &mut Random) -> f64 {
    let mut as_clear = 1;
    for done in 1..=SHUFFLES {
        random.shuffle(ranks);
        let this = clearest(ranks).map_or(0.0, |(clear, _)| clear);
        as_clear += u32::from(this >= clearest_here - 1e-9);
        // it cannot become rare any more
        if f64::from(as_clear) > CHANCE * f64::from(SHUFFLES + 1) && done >= 50 {
            return f64::from(as_clear) / f64::from(done + 1);
        }
    }
    f64::from(as_clear) / f64::from(SHUFFLES + 1)
}

/// How clear the clearest step is, in standard deviations of the rank sum, and where.
fn clearest(ranks: &[f64]) -> Option<(f64, usize)> {
    let n = count(ranks.len());
    let mut sum = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for (index, rank) in ranks.iter().enumerate() {
        let before = count(index);
        if index >= FEWEST && ranks.len() - index >= FEWEST {
            let expected = before * (n + 1.0) / 2.0;
            let deviation = (before * (n - before) * (n + 1.0) / 12.0).sqrt();
            let clear = (sum - expected).abs() / deviation;
            if best.is_none_or(|(most, _)| clear > most) {
                best = Some((clear, index));
            }
        }
        sum += rank;
    }
    best
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let equal = order[at..]
            .iter()
            .take_while(|index| values[**index].total_cmp(&values[order[at]]).is_eq())
            .count();
        let rank = count(at) + f64::midpoint(count(equal), 1.0);
        order[at..at + equal]
            .iter()
            .for_each(|index| ranks[*index] = rank);
        at += equal;
    }
    ranks
}

#[expect(clippy::cast_precision_loss, reason = "numbers of launches")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, random: &mut Random) -> Vec<f64> {
        (0..n)
            .map(|_| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0)
            .collect()
    }

    #[test]
    fn a_drift_of_two_percent_is_found_where_it_began() {
        let mut random = Random::seeded(2);
        let mut series: Vec<f64> = noise(80, &mut random).iter().map(|z| 100.0 + z).collect();
        series[50..].iter_mut().for_each(|value| *value -= 2.0);
        let found = steps(&series, 1);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].index.abs_diff(50) <= 3, "{found:?}");
    }

    #[test]
    fn a_step_down_and_back_up_is_two_steps() {
        let mut random = Random::seeded(3);
        let mut series = noise(90, &mut random);
        series[30..60].iter_mut().for_each(|value| *value -= 6.0);
        let found: Vec<usize> = steps(&series, 1).iter().map(|step| step.index).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].abs_diff(30) <= 2 && found[1].abs_diff(60) <= 2,
            "{found:?}"
        );
    }

    #[test]
    fn a_series_without_a_step_rarely_shows_one() {
        let mut random = Random::seeded(4);
        let wrong = (0..300)
            .filter(|seed| !steps(&noise(40, &mut random), *seed).is_empty())
            .count();
        assert!(wrong <= 9, "{wrong} of 300");
    }

    #[test]
    fn equal_short_and_unusable_series_have_no_step() {
        assert!(steps(&[5.0; 40], 1).is_empty());
        assert!(steps(&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0], 1).is_empty());
        assert!(steps(&[f64::NAN; 40], 1).is_empty());
        assert!(steps(&[], 1).is_empty());
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }
}
