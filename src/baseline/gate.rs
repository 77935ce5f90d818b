//! Floors for single sizes, because some people want a number.

use super::pairing::summary;
use crate::base::stats::order::median;
use crate::record::Floor;
use crate::record::baseline::{Launch, LaunchRow};
use crate::record::verdict::GateResult;

/// Holds launches against floors: each floor against every row that it names, by the median over
/// launches of the time of the slowest rank (the mean over ranks in imported logs that have no other).
/// A row that a launch lacks or could not measure does not meet its floor, nor does a floor that names
/// no row at all.
pub fn gate(floors: &[Floor], launches: &[Launch]) -> Vec<GateResult> {
    floors
        .iter()
        .flat_map(|floor| of_floor(floor, launches))
        .collect()
}

fn of_floor(floor: &Floor, launches: &[Launch]) -> Vec<GateResult> {
    let named = |row: &&LaunchRow| {
        row.key.collective == floor.collective
            && floor.dtype.is_none_or(|dtype| dtype == row.key.dtype)
            && floor
                .placement
                .is_none_or(|placement| placement == row.key.placement)
            && (floor.from..=floor.to).contains(&row.key.requested)
    };
    let mut keys = Vec::new();
    for row in launches
        .iter()
        .flat_map(|launch| &launch.rows)
        .filter(named)
    {
        if !keys.contains(&&row.key) {
            keys.push(&row.key);
        }
    }
    if keys.is_empty() {
        return asked(floor)
            .map(|bound| bound.unmet(&in_words(floor)))
            .collect();
    }
    let results = keys.into_iter().flat_map(|key| {
        let rows: Vec<&LaunchRow> = launches
            .iter()
            .filter_map(|launch| launch.rows.iter().find(|row| row.key == *key))
            .collect();
        let time = (rows.len() == launches.len())
            .then(|| median_time(&rows))
            .flatten();
        asked(floor).map(move |bound| match time {
            Some(time_us) => bound.held(&key.to_string(), rows[0], time_us),
            None => bound.unmet(&key.to_string()),
        })
    });
    results.collect()
}

/// The median over launches; none if one of them has no time.
fn median_time(rows: &[&LaunchRow]) -> Option<f64> {
    let times: Option<Vec<f64>> = rows
        .iter()
        .map(|row| {
            let measure = row.measure.as_ref()?;
            let times = if measure.max_us.is_empty() {
                &measure.mean_us
            } else {
                &measure.max_us
            };
            Some(summary(times)).filter(|time| time.is_finite())
        })
        .collect();
    median(&times?)
}

/// One number of a floor.
#[derive(Debug, Clone, Copy)]
enum Bound {
    Busbw(f64),
    Algbw(f64),
    Time(f64),
}

fn asked(floor: &Floor) -> impl Iterator<Item = Bound> {
    [
        floor.busbw_gbps.map(Bound::Busbw),
        floor.algbw_gbps.map(Bound::Algbw),
        floor.time_us.map(Bound::Time),
    ]
    .into_iter()
    .flatten()
}

impl Bound {
    fn held(self, what: &str, row: &LaunchRow, time_us: f64) -> GateResult {
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 bytes is past any message size"
        )]
        let algbw = row.algo_bytes.0 as f64 / time_us / 1e3;
        let (got, met) = match self {
            Self::Busbw(least) => (algbw * row.bus_factor, algbw * row.bus_factor >= least),
            Self::Algbw(least) => (algbw, algbw >= least),
            Self::Time(most) => (time_us, time_us <= most),
        };
        self.result(what, Some(got), met)
    }

    fn unmet(self, what: &str) -> GateResult {
        self.result(what, None, false)
    }

    fn result(self, what: &str, got: Option<f64>, met: bool) -> GateResult {
        let (quantity, relation, bound, unit) = match self {
            Self::Busbw(bound) => ("busbw", "≥", bound, "GB/s"),
            Self::Algbw(bound) => ("algbw", "≥", bound, "GB/s"),
            Self::Time(bound) => ("time", "≤", bound, "us"),
        };
        GateResult {
            asks: format!("{what} {quantity} {relation} {bound} {unit}"),
            got,
            bound,
            unit: unit.to_owned(),
            met,
        }
    }
}

fn in_words(floor: &Floor) -> String {
    let mut words = vec![floor.collective.clone()];
    words.extend(floor.dtype.map(|dtype| dtype.name().to_owned()));
    words.extend(floor.placement.map(|placement| placement.to_string()));
    words.push(if floor.from == floor.to {
        floor.from.to_string()
    } else {
        format!("{} to {}", floor.from, floor.to)
    });
    words.join(" ")
}
