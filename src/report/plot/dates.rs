//! Axes of moments: steps that people count in, from seconds to years.

use super::scale::{Tick, first_fitting, multiples, widened};
use crate::base::moment;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;
/// Seconds of a day.
pub(super) const DAY: f64 = 24.0 * HOUR;

/// The range and the ticks of an axis of moments.
pub(super) fn dates(low: f64, high: f64, most: usize) -> (f64, f64, Vec<Tick>) {
    let least = if high - low < 1.0 { 30.0 } else { 0.0 };
    let (low, high) = widened(low, high, 0.04, least);
    let steps = [
        1.0,
        5.0,
        15.0,
        30.0,
        MINUTE,
        5.0 * MINUTE,
        15.0 * MINUTE,
        30.0 * MINUTE,
        HOUR,
        3.0 * HOUR,
        6.0 * HOUR,
        12.0 * HOUR,
        DAY,
        2.0 * DAY,
        7.0 * DAY,
        14.0 * DAY,
        30.0 * DAY,
        60.0 * DAY,
        90.0 * DAY,
        180.0 * DAY,
        365.0 * DAY,
        3650.0 * DAY,
    ];
    let step = first_fitting(&steps, high - low, most);
    let ticks = multiples(step, low, high).map(|seconds| Tick {
        place: seconds,
        label: date(seconds, step),
    });
    (low, high, ticks.collect())
}

/// As much of a moment as a step tells apart.
#[expect(clippy::cast_possible_truncation, reason = "seconds since 1970")]
fn date(seconds: f64, step: f64) -> String {
    let text = moment::text(seconds as i64);
    let (from, to) = match step {
        _ if step >= DAY => (0, 10),
        _ if step >= MINUTE => (5, 16),
        _ => (11, 19),
    };
    text.get(from..to).unwrap_or(&text).to_owned()
}
