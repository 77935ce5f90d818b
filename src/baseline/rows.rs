//! What single rows look like: they explain a verdict and do not make one.

use super::decide::{change, of_group, percent};
use super::pairing::Pair;
use super::rules::Rules;
use crate::base::stats::launches::Difference;
use crate::base::stats::modes::{self, Modes};
use crate::base::stats::order::{median, sorted};
use crate::base::stats::robust::score;
use crate::record::verdict::{RowLook, RowVerdict, Side};

/// The fewest launches of a baseline that give a z-score.
pub(super) const HISTORY: usize = 8;

/// Launches of a baseline that a z-score looks back on.
pub(super) const LOOK_BACK: usize = 20;

/// Every pair's look. An interval is one of many: a row is called slower only if it is so at a
/// confidence that allows for all of them.
pub(super) fn looks(pairs: &[Pair<'_>], rules: &Rules) -> Vec<RowVerdict> {
    pairs
        .iter()
        .filter_map(|pair| look(pair, pairs.len(), rules))
        .collect()
}

fn look(pair: &Pair<'_>, n_rows: usize, rules: &Rules) -> Option<RowVerdict> {
    let of_rows = Rules {
        draws: rules.row_draws,
        ..rules.clone()
    };
    let found = of_group(&[pair], &pair.key.to_string(), &of_rows)?;
    let modes = [0, 1].map(|side| modes::two(&pair.repetitions[side].concat()));
    let (look, why) = looks_like(pair, &found, modes, n_rows, rules);
    Some(RowVerdict {
        key: pair.key.clone(),
        band: pair.band,
        baseline: side(pair, 0)?,
        now: side(pair, 1)?,
        change: change(&found, rules.regress),
        limit_percent: rules.limit(pair.band) * 100.0,
        look,
        z: z(pair),
        why,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a number of rows")]
fn looks_like(
    pair: &Pair<'_>,
    found: &Difference,
    modes: [Option<Modes>; 2],
    n_rows: usize,
    rules: &Rules,
) -> (RowLook, String) {
    let limit = rules.log_limit(pair.band);
    let confidence = 1.0 - (1.0 - rules.regress) / n_rows.max(1) as f64;
    if modes.iter().any(Option::is_some) {
        return (RowLook::Bimodal, in_words(modes));
    }
    let (look, why) = if found.at_most(confidence) < limit {
        (RowLook::Slower, "clearly slower by more than the limit")
    } else if found.at_least(confidence) > -limit {
        (RowLook::Faster, "clearly faster by more than the limit")
    } else if found.estimate < limit {
        (
            RowLook::Watch,
            "slower by more than the limit, though not for certain",
        )
    } else {
        (RowLook::Steady, "")
    };
    (look, why.to_owned())
}

fn in_words(modes: [Option<Modes>; 2]) -> String {
    let names = ["baseline", "now"];
    let said = modes.iter().zip(names).filter_map(|(modes, name)| {
        let modes = modes.as_ref()?;
        Some(format!(
            "{name} {:.2} us or {:.2} us ({:.0} %)",
            modes.low,
            modes.high,
            modes.high_share * 100.0
        ))
    });
    said.collect::<Vec<_>>().join("; ")
}

fn side(pair: &Pair<'_>, side: usize) -> Option<Side> {
    let times = sorted(&pair.times[side]);
    let time_us = median(&times)?;
    Some(Side {
        launches: u32::try_from(times.len()).unwrap_or(u32::MAX),
        time_us,
        fastest_us: *times.first()?,
        slowest_us: *times.last()?,
        busbw_gbps: pair.bus_kb / time_us,
    })
}

/// The judged launches' median speed among the speeds of the baseline's last launches.
fn z(pair: &Pair<'_>) -> Option<f64> {
    let speeds = [0, 1].map(|side| {
        pair.times[side]
            .iter()
            .map(|time| 1.0 / time)
            .collect::<Vec<_>>()
    });
    let before = &speeds[0][speeds[0].len().saturating_sub(LOOK_BACK)..];
    let now = median(&speeds[1])?;
    (before.len() >= HISTORY)
        .then(|| score(now, before))
        .flatten()
}

/// Whether a row deserves a picture of its own.
pub(super) fn stands_out(row: &RowVerdict, limit: f64) -> bool {
    let by_z = row.z.is_some_and(|z| z < -4.0) && row.change.percent < percent(limit);
    by_z || matches!(row.look, RowLook::Slower | RowLook::Bimodal)
}
