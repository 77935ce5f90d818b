//! Earlier launches and these as series: z-scores with confirmation, and lasting steps.

use super::pairing::{OverRanks, Pair, summary};
use super::rows::{HISTORY, LOOK_BACK};
use super::rules::Rules;
use crate::base::stats::order::{mean, median};
use crate::base::stats::robust::score;
use crate::base::stats::steps::steps;
use crate::record::baseline::Launch;
use crate::record::history::{ChangePoint, Point, Series, SeriesOf};
use crate::record::verdict::Band;
use std::collections::{HashMap, HashSet};

/// A z-score below this is an alarm, if the loss is beyond the limit and confirmed.
const ALARM: f64 = -4.0;

/// The launches of one machine in one state, oldest first.
#[derive(Debug)]
pub(super) struct Past<'l> {
    launches: Vec<Entry<'l>>,
}

#[derive(Debug)]
struct Entry<'l> {
    launch: &'l Launch,
    accepted: bool,
    judged: bool,
    times: HashMap<&'l crate::record::RowKey, f64>,
}

impl<'l> Past<'l> {
    /// Of the launches before, those of the baseline and those that are judged; one that is in several
    /// of them counts once.
    pub(super) fn of(
        earlier: &'l [Launch],
        baseline: &'l [Launch],
        now: &'l [Launch],
        over: OverRanks,
    ) -> Self {
        let accepted: HashSet<&str> = baseline.iter().map(|launch| launch.run.as_str()).collect();
        let mut seen = HashSet::new();
        let tagged = now
            .iter()
            .map(|launch| (launch, true))
            .chain(baseline.iter().chain(earlier).map(|launch| (launch, false)));
        let mut launches: Vec<Entry<'l>> = tagged
            .filter(|(launch, _)| seen.insert(launch.run.as_str()))
            .filter(|(launch, judged)| *judged || launch.cut_short.is_none())
            .map(|(launch, judged)| Entry {
                launch,
                accepted: accepted.contains(launch.run.as_str()),
                judged,
                times: times(launch, over),
            })
            .collect();
        launches.sort_by(|a, b| {
            let when = |entry: &Entry<'l>| (entry.judged, entry.launch.started.clone());
            when(a).cmp(&when(b))
        });
        Self { launches }
    }

    /// The series of a band: speed relative to the baseline, in percent.
    pub(super) fn band(&self, band: Band, pairs: &[&Pair<'_>], rules: &Rules) -> Series {
        let base: Vec<f64> = pairs
            .iter()
            .filter_map(|pair| median(&pair.times[0]))
            .collect();
        let value = |entry: &Entry<'l>| {
            let logs = pairs
                .iter()
                .zip(&base)
                .map(|(pair, base)| entry.times.get(pair.key).map(|time| (base / time).ln()));
            let logs: Option<Vec<f64>> = logs.collect();
            mean(&logs?).map(|log| 100.0 * log.exp())
        };
        self.series(SeriesOf::Band(band), value, rules.limit(band), rules.seed)
    }

    /// The series of a row: bus bandwidth, or operations in a world of one.
    pub(super) fn row(&self, pair: &Pair<'_>, rules: &Rules) -> Series {
        let over = if pair.bus_kb > 0.0 { pair.bus_kb } else { 1.0 };
        let value = |entry: &Entry<'l>| entry.times.get(pair.key).map(|time| over / time);
        let limit = rules.limit(pair.band);
        self.series(SeriesOf::Row(pair.key.clone()), value, limit, rules.seed)
    }

    fn series(
        &self,
        of: SeriesOf,
        value: impl Fn(&Entry<'l>) -> Option<f64>,
        limit: f64,
        seed: u64,
    ) -> Series {
        let valued: Vec<(&Entry<'l>, f64)> = self
            .launches
            .iter()
            .filter_map(|entry| Some((entry, value(entry)?)))
            .collect();
        let accepted: Vec<f64> = kept(&valued, |entry| entry.accepted && !entry.judged);
        let judged: Vec<f64> = kept(&valued, |entry| entry.judged);
        let before = &accepted[accepted.len().saturating_sub(LOOK_BACK)..];
        let values: Vec<f64> = valued.iter().map(|(_, value)| *value).collect();
        Series {
            of,
            change_points: change_points(&values, seed),
            z: median(&judged).and_then(|now| z(now, before)),
            alarm: is_alarm(&judged, before, limit),
            points: valued.into_iter().map(point).collect(),
        }
    }
}

fn times(launch: &Launch, over: OverRanks) -> HashMap<&crate::record::RowKey, f64> {
    let measured = launch.rows.iter().filter_map(|row| {
        let times = over.of(row.measure.as_ref()?);
        (!times.is_empty()).then(|| (&row.key, summary(times)))
    });
    measured.collect()
}

fn kept(valued: &[(&Entry<'_>, f64)], is_kept: impl Fn(&Entry<'_>) -> bool) -> Vec<f64> {
    let kept = valued.iter().filter(|(entry, _)| is_kept(entry));
    kept.map(|(_, value)| *value).collect()
}

fn point((entry, value): (&Entry<'_>, f64)) -> Point {
    Point {
        at: entry.launch.started.clone(),
        run: entry.launch.run.clone(),
        value,
        judged: entry.judged,
    }
}

fn z(now: f64, before: &[f64]) -> Option<f64> {
    (before.len() >= HISTORY)
        .then(|| score(now, before))
        .flatten()
}

/// Far outside of what was accepted, beyond the limit, and confirmed: at least two launches say so, and
/// two of any three.
fn is_alarm(judged: &[f64], before: &[f64], limit: f64) -> bool {
    let usual = median(before).unwrap_or(f64::INFINITY);
    let says_so =
        |now: &&f64| z(**now, before).is_some_and(|z| z < ALARM) && **now < usual * (1.0 - limit);
    let n_alarmed = judged.iter().filter(says_so).count();
    n_alarmed >= 2 && n_alarmed * 3 >= judged.len() * 2
}

fn change_points(values: &[f64], seed: u64) -> Vec<ChangePoint> {
    let steps = steps(values, seed);
    let mut ends: Vec<usize> = steps.iter().map(|step| step.index).collect();
    ends.insert(0, 0);
    ends.push(values.len());
    let stretch = |place: usize| median(&values[ends[place]..ends[place + 1]]);
    let points = steps.iter().enumerate().filter_map(|(place, step)| {
        let (before, after) = (stretch(place)?, stretch(place + 1)?);
        Some(ChangePoint {
            index: u32::try_from(step.index).ok()?,
            change_percent: (after / before - 1.0) * 100.0,
            p: step.p,
        })
    });
    points.collect()
}
