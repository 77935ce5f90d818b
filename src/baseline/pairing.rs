//! Which rows both sides have, and each launch's figure of them.

use super::rules::{Rules, band};
use crate::base::stats::launches;
use crate::base::stats::order::median;
use crate::base::stats::random::Random;
use crate::base::{Fault, Kind};
use crate::record::RowKey;
use crate::record::baseline::{Launch, LaunchRow, Measure};
use crate::record::verdict::{Band, MissingRow};
use std::collections::HashMap;

/// How often the repetitions within a launch are drawn anew.
const REDRAWN: usize = 32;

/// Which time over ranks is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverRanks {
    Max,
    Mean,
}

impl OverRanks {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }

    pub(super) fn of(self, measure: &Measure) -> &[f64] {
        match self {
            Self::Max => &measure.max_us,
            Self::Mean => &measure.mean_us,
        }
    }

    /// The slowest rank where both sides know it; else the mean, on both sides.
    ///
    /// # Errors
    /// `Unlike`, where neither is known on both sides.
    pub(super) fn common(sides: [&[Launch]; 2]) -> Result<Self, Fault> {
        let rows = || {
            sides
                .iter()
                .copied()
                .flatten()
                .flat_map(|launch| &launch.rows)
        };
        let measures = || rows().filter_map(|row| row.measure.as_ref());
        let all_have = |over: Self| measures().all(|measure| !over.of(measure).is_empty());
        [Self::Max, Self::Mean]
            .into_iter()
            .find(|over| all_have(*over))
            .ok_or_else(|| {
                Fault::new(
                    Kind::Unlike,
                    "one side has only the largest time over ranks, the other only the mean",
                )
                .hint("import the logs of both sides from runs with the same `-a`")
            })
    }
}

/// A row that every launch of both sides measured.
#[derive(Debug)]
pub(super) struct Pair<'l> {
    pub(super) key: &'l RowKey,
    pub(super) band: Band,
    /// What a time in µs divides to give a bus bandwidth in GB/s.
    pub(super) bus_kb: f64,
    /// Each side's launches: times in µs of one operation, a figure for each launch.
    pub(super) times: [Vec<f64>; 2],
    /// Each side's launches: all repetitions, in µs.
    pub(super) repetitions: [Vec<&'l [f64]>; 2],
    /// Each side's launches as logarithms of speed, with their repetitions drawn anew.
    pub(super) logs: [Vec<launches::Launch>; 2],
}

/// Rows that both sides have, and those that they have not.
#[derive(Debug)]
pub(super) struct Paired<'l> {
    pub(super) pairs: Vec<Pair<'l>>,
    pub(super) missing: Vec<MissingRow>,
}

/// Matches the rows of two sides by their keys.
pub(super) fn pair<'l>(sides: [&'l [Launch]; 2], over: OverRanks, rules: &Rules) -> Paired<'l> {
    let found = sides.map(|side| side.iter().map(index).collect::<Vec<_>>());
    let mut paired = Paired {
        pairs: Vec::new(),
        missing: Vec::new(),
    };
    for key in keys(sides) {
        let rows = [0, 1].map(|side| sought(&found[side], key));
        match rows {
            [Ok(baseline), Ok(now)] => {
                let pair = of_rows(key, [baseline, now], over, rules);
                paired.pairs.push(pair);
            }
            [baseline, now] => paired
                .missing
                .extend(missing(key, baseline.err(), now.err())),
        }
    }
    paired
}

fn index(launch: &Launch) -> HashMap<&RowKey, &LaunchRow> {
    launch.rows.iter().map(|row| (&row.key, row)).collect()
}

/// Every key of either side, as a table sorts them.
fn keys(sides: [&[Launch]; 2]) -> Vec<&RowKey> {
    let launches = sides.into_iter().flatten();
    let mut keys: Vec<&RowKey> = launches
        .flat_map(|launch| &launch.rows)
        .map(|row| &row.key)
        .collect();
    keys.sort_by_cached_key(|key| key.order());
    keys.dedup();
    keys
}

/// Why a side lacks a row: `Nowhere` where no launch of it has ever heard of it.
#[derive(Debug)]
enum Lacking {
    Nowhere,
    Partly(String),
}

/// A row's measurements on one side, one for each launch, or why there is not one for each.
fn sought<'l>(
    side: &[HashMap<&RowKey, &'l LaunchRow>],
    key: &RowKey,
) -> Result<Vec<&'l LaunchRow>, Lacking> {
    let rows: Vec<&LaunchRow> = side
        .iter()
        .filter_map(|launch| launch.get(key).copied())
        .collect();
    let measured = rows.iter().filter(|row| row.measure.is_some()).count();
    if measured == side.len() && measured > 0 {
        return Ok(rows);
    }
    if rows.is_empty() {
        return Err(Lacking::Nowhere);
    }
    let waived = rows.iter().find_map(|row| row.waived.as_deref());
    let why = waived.map_or_else(
        || "not in the file".to_owned(),
        |why| format!("waived: {why}"),
    );
    Err(Lacking::Partly(format!(
        "{why} ({} of {} launches)",
        side.len() - measured,
        side.len()
    )))
}

/// What to say of a row that is not measured on both sides; nothing where neither ever had it.
fn missing(key: &RowKey, baseline: Option<Lacking>, now: Option<Lacking>) -> Option<MissingRow> {
    let (lost, why) = match (baseline, now) {
        (None, Some(Lacking::Nowhere)) => (true, "not in any of the runs".to_owned()),
        (None, Some(Lacking::Partly(why))) => (true, why),
        (Some(Lacking::Partly(why)), None) => (false, format!("in the baseline {why}")),
        (Some(Lacking::Nowhere), None) => (false, "not in the baseline".to_owned()),
        // waived then and waived now, or seen on one side and never measured
        _ => return None,
    };
    Some(MissingRow {
        key: key.clone(),
        lost,
        why,
    })
}

fn of_rows<'l>(
    key: &'l RowKey,
    rows: [Vec<&'l LaunchRow>; 2],
    over: OverRanks,
    rules: &Rules,
) -> Pair<'l> {
    let row = rows[1][0];
    #[expect(
        clippy::cast_precision_loss,
        reason = "2^53 bytes is past any message size"
    )]
    let bus_kb = row.algo_bytes.0 as f64 * row.bus_factor / 1e3;
    let repetitions = rows.map(|side| {
        let measures = side.into_iter().filter_map(|row| row.measure.as_ref());
        measures
            .map(|measure| over.of(measure))
            .collect::<Vec<&[f64]>>()
    });
    let mut random = Random::named(rules.seed, &format!("repetitions of {key}"));
    let logs = [0, 1].map(|side| {
        let launches = repetitions[side].iter();
        launches
            .map(|times| log_speeds(times, &mut random))
            .collect()
    });
    Pair {
        key,
        band: band(key.requested.0),
        bus_kb,
        times: [0, 1].map(|side| {
            repetitions[side]
                .iter()
                .map(|times| summary(times))
                .collect()
        }),
        repetitions,
        logs,
    }
}

/// One launch's figure of a row: the median of its repetitions.
pub(super) fn summary(times: &[f64]) -> f64 {
    median(times).unwrap_or(f64::NAN)
}

/// The launch's figure, then the same with its repetitions drawn anew.
fn log_speeds(times: &[f64], random: &mut Random) -> launches::Launch {
    let mut figures = vec![-summary(times).ln()];
    if times.len() > 1 {
        let mut drawn = vec![0.0; times.len()];
        for _ in 0..REDRAWN {
            for slot in &mut drawn {
                *slot = times[random.below(times.len())];
            }
            figures.push(-summary(&drawn).ln());
        }
    }
    figures
}
