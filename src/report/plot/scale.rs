//! Axes: which value lies where, and which values are named.
//!
//! Every scale takes any finite values, also equal ones, and shows a range that is not empty.

use super::dates::dates;
use crate::base::Bytes;

/// A named value.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where, as [`Scale::place`] gives it.
    pub place: f64,
    /// What is written there; nothing for a line of the grid alone.
    pub label: String,
}

/// What kind of values an axis shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes, by powers of two.
    Size,
    /// Microseconds, by powers of ten.
    Time,
    /// A number from 0 on.
    Amount,
    /// A number above 0, by powers of ten.
    Power,
    /// A number among numbers that are close to each other.
    Near,
    /// Percent, both ways from 0.
    Change,
    /// Seconds since 1970.
    Date,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    measure: Measure,
    low: f64,
    high: f64,
    /// What is named on it.
    pub ticks: Vec<Tick>,
}

impl Scale {
    /// A scale that shows all values, with room for about `most` labels. Values that are not
    /// finite are left out.
    pub fn over(measure: Measure, values: impl IntoIterator<Item = f64>, most: usize) -> Self {
        let places = values.into_iter().map(|value| transformed(measure, value));
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for place in places.filter(|place| place.is_finite()) {
            (low, high) = (low.min(place), high.max(place));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let (low, high, ticks) = match measure {
            Measure::Size => sizes(low, high, most),
            Measure::Time => powers(low, high, time),
            Measure::Power => powers(low, high, short),
            Measure::Amount => amounts(low.min(0.0), high, most),
            Measure::Near => near(low, high, most),
            Measure::Change => changes(low, high, most),
            Measure::Date => dates(low, high, most),
        };
        Self {
            measure,
            low,
            high,
            ticks,
        }
    }

    /// Where a value lies: 0 at the axis's beginning, 1 at its end.
    pub fn place(&self, value: f64) -> f64 {
        self.part(transformed(self.measure, value))
    }

    /// Where a tick lies, in the same measure.
    pub fn part(&self, place: f64) -> f64 {
        let part = (place - self.low) / (self.high - self.low);
        if part.is_nan() {
            0.0
        } else {
            part.clamp(-0.5, 1.5)
        }
    }
}

fn transformed(measure: Measure, value: f64) -> f64 {
    match measure {
        Measure::Size => value.max(1.0).log2(),
        // a time of nothing is the smallest that is told apart
        Measure::Time => value.max(1e-3).log10(),
        // what is 0 lies outside, below
        Measure::Power if value <= 0.0 => f64::NAN,
        Measure::Power => value.log10(),
        Measure::Amount | Measure::Near | Measure::Change | Measure::Date => value,
    }
}

/// Room at both ends, so that marks are not cut and equal values have an axis.
pub(super) fn widened(low: f64, high: f64, part: f64, least: f64) -> (f64, f64) {
    let room = ((high - low) * part).max(least);
    (low - room, high + room)
}

fn sizes(low: f64, high: f64, most: usize) -> (f64, f64, Vec<Tick>) {
    let (start, end) = (low.floor().max(0.0), high.ceil().min(62.0));
    let steps = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0];
    let step = first_fitting(&steps, (end - start) + 1.0, most).ceil();
    let (low, high) = widened(low, high, 0.03, 0.55);
    let ticks = multiples(step, low, high)
        .filter(|exponent| (0.0..=62.0).contains(exponent))
        .map(|exponent| Tick {
            place: exponent,
            label: Bytes(power_of_two(exponent)).to_string(),
        });
    (low, high, ticks.collect())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an exponent from 0 to 62"
)]
fn power_of_two(exponent: f64) -> u64 {
    1 << (exponent as u32)
}

/// The first step that cuts `span` into no more than `most` parts, or one that just does where all are
/// too small.
pub(super) fn first_fitting(steps: &[f64], span: f64, most: usize) -> f64 {
    let most = f64::from(u32::try_from(most).unwrap_or(u32::MAX)).max(1.0);
    let fitting = steps.iter().find(|step| span / **step <= most);
    fitting.copied().unwrap_or(span / most)
}

/// Multiples of a step within a range.
pub(super) fn multiples(step: f64, low: f64, high: f64) -> impl Iterator<Item = f64> {
    let first = (low / step - 1e-9).ceil();
    (0..200)
        .map(move |index| (first + f64::from(index)) * step)
        .take_while(move |value| *value <= high + step * 1e-9)
}

fn powers(low: f64, high: f64, name: fn(f64) -> String) -> (f64, f64, Vec<Tick>) {
    // more decades than this are not looked at
    let (low, high) = widened(low.max(high - 9.0), high, 0.05, 0.25);
    // few decades need names between them
    let names: &[f64] = if high - low > 3.0 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let ticks = multiples(1.0, low.floor(), high)
        .flat_map(|decade| (1..10).map(move |digit| (decade, f64::from(digit))));
    let ticks = ticks
        .map(|(decade, digit)| {
            let place = decade + digit.log10();
            let named = names.contains(&digit);
            let label = if named {
                name(digit * 10f64.powf(decade))
            } else {
                String::new()
            };
            Tick { place, label }
        })
        .filter(|tick| (low..=high).contains(&tick.place));
    (low, high, ticks.collect())
}

/// `20 µs`, `5 ms`, `1 s`, from microseconds.
pub fn time(us: f64) -> String {
    let (value, unit) = match us {
        _ if us < 0.999 => (us * 1e3, "ns"),
        _ if us < 999.0 => (us, "µs"),
        _ if us < 999e3 => (us / 1e3, "ms"),
        _ => (us / 1e6, "s"),
    };
    format!("{} {unit}", short(value))
}

/// Three significant digits without trailing zeros; all digits before the point.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 || size == 0.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// The round step (1, 2 or 5 times a power of ten) that cuts a span into about `most` parts.
fn round_step(span: f64, most: usize) -> f64 {
    let power = 10f64.powf((span.max(1e-9) / 10.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0].map(|step| step * power);
    first_fitting(&steps, span, most)
}

fn amounts(low: f64, high: f64, most: usize) -> (f64, f64, Vec<Tick>) {
    let high = if high - low > 1e-9 { high } else { low + 1.0 };
    let high = low + (high - low) * 1.06;
    let ticks = multiples(round_step(high - low, most), low, high).map(|value| Tick {
        place: value,
        label: short(value),
    });
    (low, high, ticks.collect())
}

fn near(low: f64, high: f64, most: usize) -> (f64, f64, Vec<Tick>) {
    let (low, high) = widened(low, high, 0.15, high.abs().max(1e-3) * 0.01);
    let ticks = multiples(round_step(high - low, most), low, high).map(|value| Tick {
        place: value,
        label: short(value),
    });
    (low, high, ticks.collect())
}

fn changes(low: f64, high: f64, most: usize) -> (f64, f64, Vec<Tick>) {
    let (low, high) = widened(low.min(0.0), high.max(0.0), 0.08, 0.5);
    let ticks = multiples(round_step(high - low, most), low, high).map(|value| Tick {
        place: value,
        label: percent(value),
    });
    (low, high, ticks.collect())
}

/// `+2.5 %`, `−3 %`, `0 %`: with a sign that is as wide as the plus.
pub fn percent(value: f64) -> String {
    let number = short(value.abs());
    let sign = match value {
        _ if number == "0" => "",
        _ if value < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{number} %")
}

#[cfg(test)]
mod tests {
    use super::super::dates::DAY;
    use super::*;
    use proptest::prelude::*;

    fn labels(measure: Measure, values: &[f64], most: usize) -> Vec<String> {
        let scale = Scale::over(measure, values.iter().copied(), most);
        let labels = scale.ticks.into_iter().map(|tick| tick.label);
        labels.filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn sizes_are_named_as_people_say_them() {
        let all = labels(Measure::Size, &[8.0, 17_179_869_184.0], 9);
        assert!(
            all.len() >= 6 && all.iter().all(|label| label.ends_with('B')),
            "{all:?}"
        );
        assert_eq!(
            labels(Measure::Size, &[1024.0, 4096.0], 9),
            ["1 KiB", "2 KiB", "4 KiB"]
        );
        assert_eq!(labels(Measure::Size, &[1_048_576.0], 9), ["1 MiB"]);
    }

    #[test]
    fn times_change_their_unit_where_people_do() {
        for (us, text) in [
            (0.5, "500 ns"),
            (7.0, "7 µs"),
            (1000.0, "1 ms"),
            (2500.0, "2.5 ms"),
            (1e6, "1 s"),
        ] {
            assert_eq!(time(us), text);
        }
        assert_eq!(labels(Measure::Time, &[1.0, 1e5], 9).len(), 6);
        assert_eq!(
            labels(Measure::Time, &[8.0, 25.0], 9),
            ["5 µs", "10 µs", "20 µs"]
        );
    }

    #[test]
    fn changes_have_their_zero_and_a_real_minus() {
        let all = labels(Measure::Change, &[-9.9, 1.0], 8);
        assert!(
            all.contains(&"0 %".to_owned()) && all.contains(&"−10 %".to_owned()),
            "{all:?}"
        );
    }

    #[test]
    fn equal_values_have_an_axis_too() {
        for measure in [
            Measure::Size,
            Measure::Time,
            Measure::Amount,
            Measure::Near,
            Measure::Change,
            Measure::Date,
        ] {
            for value in [0.0, 1.0, 512.0, 1.8e9] {
                let scale = Scale::over(measure, [value, value], 8);
                let place = scale.place(value);
                assert!((0.0..=1.0).contains(&place), "{measure:?} {value}: {place}");
                assert!(!scale.ticks.is_empty(), "{measure:?} {value}");
            }
        }
    }

    #[test]
    fn an_axis_of_days_names_days_and_one_of_minutes_minutes() {
        let day = 1_795_910_400.0;
        let days = labels(Measure::Date, &[day, day + 6.0 * DAY], 8);
        assert!(days.contains(&"2026-11-29".to_owned()), "{days:?}");
        let minutes = labels(Measure::Date, &[day, day + 600.0], 8);
        assert!(minutes.contains(&"11-29 00:05".to_owned()), "{minutes:?}");
    }

    proptest! {
        #[test]
        fn every_value_lies_on_its_axis_and_labels_are_few(
            values in prop::collection::vec(0.0f64..1e13, 1..20),
            most in 3usize..12,
        ) {
            for measure in [Measure::Size, Measure::Time, Measure::Amount, Measure::Near, Measure::Change, Measure::Date] {
                let scale = Scale::over(measure, values.iter().copied(), most);
                for value in &values {
                    prop_assert!((0.0..=1.0).contains(&scale.place(*value)), "{:?} {}", measure, value);
                }
                for tick in &scale.ticks {
                    prop_assert!((-1e-6..=1.0 + 1e-6).contains(&scale.part(tick.place)));
                }
                let named = scale.ticks.iter().filter(|tick| !tick.label.is_empty()).count();
                prop_assert!((1..=30).contains(&named), "{:?} {}", measure, named);
            }
        }
    }
}
