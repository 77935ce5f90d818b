//! From the times of pairs to the participant or the pair that is slow.
//!
//! A slow participant is slow with every partner; a slow link with one. Slowness has one side, so that
//! what is usual is taken from the faster quarter, and a participant's score is the lower median over
//! its partners: a healthy one that met a slow one is not blamed for it.

use crate::base::stats::order::percentile;
use crate::base::stats::order::sorted;
use crate::base::stats::robust::deviation;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// The time that two participants took together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Met {
    /// One of them; the smaller number.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// What may be compared with what: pairs within a host are one class, pairs between hosts another.
    pub class: usize,
    /// Microseconds for one exchange, of the slower side.
    pub us: f64,
    /// Measured again because it was suspected.
    pub again: bool,
}

/// From when on something counts as slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// At least this share slower than usual: 0.1 is 10 %.
    pub slower: f64,
    /// At least this many robust standard deviations beyond what is usual.
    pub deviations: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            slower: 0.1,
            deviations: 5.0,
        }
    }
}

/// What looks slow, to be measured again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspects {
    /// Participants.
    pub units: Vec<usize>,
    /// Pairs of participants of which none is suspected.
    pub pairs: Vec<(usize, usize)>,
}

impl Suspects {
    /// Whether nothing looks slow.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty() && self.pairs.is_empty()
    }
}

/// A participant that is slow with its partners.
#[derive(Debug, Clone, PartialEq)]
pub struct Blamed {
    /// Which.
    pub unit: usize,
    /// Its usual time by the usual time of all: 1.43 is 43 % slower.
    pub ratio: f64,
    /// With how many different partners it was measured.
    pub partners: usize,
    /// With how many of them it was slow.
    pub slow_with: usize,
}

/// A pair that is slow although both are not.
#[derive(Debug, Clone, PartialEq)]
pub struct BlamedPair {
    /// The smaller number.
    pub a: usize,
    /// The larger.
    pub b: usize,
    /// Its fastest time by the usual time.
    pub ratio: f64,
    /// How often it was measured.
    pub times: usize,
}

/// What the times say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Slow participants, the slowest first.
    pub units: Vec<Blamed>,
    /// Slow pairs, the slowest first.
    pub pairs: Vec<BlamedPair>,
    /// The usual time of each class in microseconds.
    pub usual_us: BTreeMap<usize, f64>,
}

/// Natural logarithms of times by the usual time of their class.
struct Scaled<'a> {
    mets: &'a [Met],
    logs: Vec<f64>,
    usual_us: BTreeMap<usize, f64>,
}

/// The faster quarter's time by class.
fn usual<'m>(mets: impl Iterator<Item = &'m Met>) -> BTreeMap<usize, f64> {
    let mut classes: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for met in mets {
        classes.entry(met.class).or_default().push(met.us);
    }
    let quarter = |(class, times): (usize, Vec<f64>)| {
        let quarter = percentile(&sorted(&times), 25)?;
        Some((class, quarter))
    };
    classes.into_iter().filter_map(quarter).collect()
}

/// Spread is never taken for less than this share: clocks and rounding end somewhere.
const LEAST: f64 = 0.01;

/// Makes a deviation one of a normal distribution.
///
/// # Source
/// Rousseeuw and Croux, JASA 88 (1993): 1 / Φ⁻¹(3/4).
const NORMAL: f64 = 1.4826;

impl<'a> Scaled<'a> {
    /// What was measured again is held against what was measured beside it and is suspected by
    /// nobody, where there is such a thing: a machine may have become slower as a whole.
    fn of(mets: &'a [Met], suspects: &Suspects) -> Self {
        let is_control = |met: &&Met| {
            let is_suspect = |unit: &usize| suspects.units.contains(unit);
            met.again
                && !is_suspect(&met.a)
                && !is_suspect(&met.b)
                && !suspects.pairs.contains(&(met.a, met.b))
        };
        let usual_us = usual(mets.iter().filter(|met| !met.again));
        let later_us = usual(mets.iter().filter(is_control));
        let log = |met: &Met| {
            let first = usual_us.get(&met.class);
            let later = later_us.get(&met.class).filter(|_| met.again);
            (met.us / later.or(first).copied().unwrap_or(met.us)).ln()
        };
        Self {
            mets,
            logs: mets.iter().map(log).collect(),
            usual_us,
        }
    }

    /// The lower median over a participant's partners, of the lower medians of what each of these
    /// pairs took, over all measurements that `take` takes.
    fn units(&self, take: impl Fn(&Met) -> bool) -> BTreeMap<usize, f64> {
        let mut pairs: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for (met, log) in self.mets.iter().zip(&self.logs) {
            if take(met) {
                pairs.entry((met.a, met.b)).or_default().push(*log);
            }
        }
        let lower = |logs: &[f64]| percentile(&sorted(logs), 50).unwrap_or(0.0);
        let mut units: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for ((a, b), logs) in pairs {
            let log = lower(&logs);
            units.entry(a).or_default().push(log);
            units.entry(b).or_default().push(log);
        }
        let units = units.into_iter();
        units.map(|(unit, logs)| (unit, lower(&logs))).collect()
    }

    /// The fastest time and the number of measurements by pair.
    fn pairs(&self) -> BTreeMap<(usize, usize), (f64, usize)> {
        let mut pairs: BTreeMap<(usize, usize), (f64, usize)> = BTreeMap::new();
        for (met, log) in self.mets.iter().zip(&self.logs) {
            let pair = pairs.entry((met.a, met.b)).or_insert((*log, 0));
            *pair = (pair.0.min(*log), pair.1 + 1);
        }
        pairs
    }
}

/// From when on a logarithm counts as slow, where these are most others'.
fn threshold(limits: Limits, all: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = all.collect();
    let middle = percentile(&sorted(&all), 50).unwrap_or(0.0).max(0.0);
    let spread = NORMAL * deviation(&all).unwrap_or(0.0);
    let noise = middle + limits.deviations * spread.max(LEAST);
    noise.max((1.0 + limits.slower).ln())
}

/// What looks slow so far.
pub fn suspects(mets: &[Met], limits: Limits) -> Suspects {
    let scaled = Scaled::of(mets, &Suspects::default());
    let scores = scaled.units(|_| true);
    let n = scores.len();
    let limit = threshold(limits, scores.values().copied());
    // of two, nobody can say which; their pair is what is slow
    let slow = scores.iter().filter(|(_, score)| n > 2 && **score > limit);
    let units: Vec<usize> = slow.map(|(unit, _)| *unit).collect();
    let is_suspect = |pair: &(usize, usize)| units.contains(&pair.0) || units.contains(&pair.1);
    let pairs = scaled.pairs();
    let others = || pairs.iter().filter(|(pair, _)| !is_suspect(pair));
    let limit = threshold(limits, others().map(|(_, (log, _))| *log));
    let slow = others().filter(|(_, (log, _))| *log > limit);
    Suspects {
        pairs: slow.map(|(pair, _)| *pair).collect(),
        units,
    }
}

/// Who is to blame: what looked slow and, measured again, was.
pub fn judge(mets: &[Met], before: &Suspects, limits: Limits) -> Verdict {
    let scaled = Scaled::of(mets, before);
    let slow = (1.0 + limits.slower).ln();
    let (all, again) = (scaled.units(|_| true), scaled.units(|met| met.again));
    let is_slow = |scores: &BTreeMap<usize, f64>, unit: &usize| {
        scores.get(unit).is_some_and(|score| *score > slow)
    };
    let units = before.units.iter();
    let units = units.filter(|unit| is_slow(&all, unit) && is_slow(&again, unit));
    let mut units: Vec<Blamed> = units
        .map(|unit| blamed(&scaled, *unit, all[unit], slow))
        .collect();
    let pairs = scaled.pairs();
    let named = before.pairs.iter().filter_map(|pair| {
        let (log, times) = *pairs.get(pair)?;
        (log > slow && times > 1).then(|| BlamedPair {
            a: pair.0,
            b: pair.1,
            ratio: log.exp(),
            times,
        })
    });
    let mut pairs: Vec<BlamedPair> = named.collect();
    units.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    pairs.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    Verdict {
        units,
        pairs,
        usual_us: scaled.usual_us,
    }
}

fn blamed(scaled: &Scaled<'_>, unit: usize, score: f64, slow: f64) -> Blamed {
    let (mut partners, mut slow_with) = (BTreeSet::new(), BTreeSet::new());
    for (met, log) in scaled.mets.iter().zip(&scaled.logs) {
        let other = match unit {
            _ if met.a == unit => met.b,
            _ if met.b == unit => met.a,
            _ => continue,
        };
        partners.insert(other);
        if *log > slow {
            slow_with.insert(other);
        }
    }
    Blamed {
        unit,
        ratio: score.exp(),
        partners: partners.len(),
        slow_with: slow_with.len(),
    }
}
