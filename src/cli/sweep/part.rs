//! One part of a sweep: sizes, datatypes and the rest for some collectives, each key with the
//! configuration's default behind it.

use super::config::placement;
use super::document::{Entry, Keys};
use crate::base::sweep::{Step, Sweep};
use crate::base::{Bytes, DataType, Fault, Placement, Rank, RedOp, Uneven};
use crate::cli::values;
use crate::collective;
use crate::collective::Collective;
use crate::plan::{Effort, PlanSpec, Precision, Roots};
use crate::record::{Blocking, Tweaks};
use std::time::Duration;

/// A part as it was written: one plan for each of its collectives.
#[derive(Debug)]
pub(super) struct Part {
    /// The step it belongs to, if it says so.
    pub(super) step: Option<String>,
    /// What to measure.
    pub(super) plans: Vec<PlanSpec>,
}

/// The most repetitions of a part.
const MOST_REPEATS: u32 = 10_000;
/// The most iterations of a measurement.
const MOST_ITERATIONS: u32 = i32::MAX as u32;

/// A part's keys and, behind them, the defaults.
struct Lookup<'k, 'a> {
    part: &'k Keys<'a>,
    defaults: Option<&'k Keys<'a>>,
}

impl<'a> Lookup<'_, 'a> {
    fn get(&self, key: &'static str) -> Option<Entry<'a>> {
        let default = self.defaults.and_then(|keys| keys.get(key));
        self.part.get(key).or(default)
    }

    fn whole(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<u32>,
        default: u32,
    ) -> Result<u32, Fault> {
        self.get(key)
            .map_or(Ok(default), |entry| entry.whole(range))
    }

    /// Each value of a list, or the default where there is none.
    fn list<T: Clone>(
        &self,
        key: &'static str,
        default: &[T],
        read: impl Fn(&Entry<'a>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let Some(entry) = self.get(key) else {
            return Ok(default.to_vec());
        };
        entry.each()?.iter().map(read).collect()
    }
}

/// Reads a part.
///
/// # Errors
/// `Usage`, with file, line and key.
pub(super) fn read<'a>(part: &Keys<'a>, defaults: Option<&Keys<'a>>) -> Result<Part, Fault> {
    let keys = Lookup { part, defaults };
    let step = part
        .get("step")
        .map(|entry| entry.text().map(str::to_owned))
        .transpose()?;
    let (sweep, list) = sizes(&keys, part)?;
    let (iterations, precision) = iterations(&keys)?;
    let template = PlanSpec {
        collective: collective::ALL[0],
        dtypes: named(&keys, "datatypes", DataType::ALL, DataType::Float)?,
        redops: named(&keys, "ops", RedOp::ALL, RedOp::Sum)?,
        roots: roots(&keys)?,
        uneven: Uneven::default(),
        rank_bytes: false,
        sweep,
        list,
        placements: keys.list("placements", &Placement::ALL, placement)?,
        effort: Effort {
            precision,
            distribution: keys
                .get("distribution")
                .map_or(Ok(false), |entry| entry.flag())?,
        },
        iterations,
        ops_per_batch: keys.whole("aggregate", 1..=1_000_000, 1)?,
        warmup: keys.whole("warmup", 0..=MOST_ITERATIONS, 1)?,
        checks: keys.whole("checks", 0..=1_000_000, 1)?,
        blocking: Blocking::None,
        cycles: keys.whole("repeats", 1..=MOST_REPEATS, 1)?,
        tweaks: Tweaks::default(),
    };
    let plans = collectives(&keys, part)?
        .into_iter()
        .map(|collective| PlanSpec {
            collective,
            ..template.clone()
        });
    let plans = plans.collect();
    part.nothing_else()?;
    Ok(Part { step, plans })
}

fn collectives(
    keys: &Lookup<'_, '_>,
    part: &Keys<'_>,
) -> Result<Vec<&'static dyn Collective>, Fault> {
    if keys.get("collectives").is_none() {
        part.need(
            "collectives",
            "what to measure, e.g. `[\"allreduce\", \"alltoall\"]`",
        )?;
    }
    keys.list("collectives", &[], |entry| entry.read(collective::by_name))
}

/// Names, or `"all"`.
fn named<T>(
    keys: &Lookup<'_, '_>,
    key: &'static str,
    all: &[T],
    default: T,
) -> Result<Vec<T>, Fault>
where
    T: Copy + std::str::FromStr<Err = Fault>,
{
    if let Some(entry) = keys.get(key)
        && entry.text().is_ok_and(|text| text == "all")
    {
        return Ok(all.to_vec());
    }
    keys.list(key, &[default], |entry| entry.read(str::parse))
}

fn roots(keys: &Lookup<'_, '_>) -> Result<Roots, Fault> {
    let Some(entry) = keys.get("root") else {
        return Ok(Roots::One(Rank(0)));
    };
    let text = entry.text_or_number()?;
    values::root(&text).map_err(|message| entry.refuse(&message))
}

/// A range or a list of sizes.
fn sizes(keys: &Lookup<'_, '_>, part: &Keys<'_>) -> Result<(Sweep, Vec<Bytes>), Fault> {
    let Some(entry) = keys.get("sizes") else {
        let what = "`{ from = \"8\", to = \"16G\" }`, or a list of sizes";
        return Err(part
            .need("sizes", what)
            .err()
            .unwrap_or_else(|| Fault::usage(what)));
    };
    if entry.is_table() {
        return range(&entry).map(|sweep| (sweep, Vec::new()));
    }
    let mut list = entry
        .each()?
        .iter()
        .map(size)
        .collect::<Result<Vec<_>, _>>()?;
    list.sort_unstable();
    list.dedup();
    let (first, last) = (list[0], list[list.len() - 1]);
    let sweep = Sweep {
        min: first,
        max: last,
        step: Step::Factor(2),
    };
    Ok((sweep, list))
}

fn range(entry: &Entry<'_>) -> Result<Sweep, Fault> {
    let keys = entry.table()?;
    let from = size(&keys.need("from", "the smallest size")?)?;
    let to = size(&keys.need("to", "the largest size")?)?;
    let step = match (keys.get("factor"), keys.get("step")) {
        (Some(_), Some(step)) => {
            return Err(step.refuse("there is a `factor` already; give one of the two"));
        }
        (Some(factor), None) => Step::Factor(factor.whole(2..=1 << 30)?.into()),
        (None, Some(step)) => Step::Bytes(size(&step)?.0),
        (None, None) => Step::Factor(2),
    };
    keys.nothing_else()?;
    Sweep::new(from, to, step).map_err(|fault| entry.blame(fault))
}

/// A size, or the ends of a range.
pub(super) fn bounds(entry: &Entry<'_>) -> Result<(Bytes, Bytes), Fault> {
    if !entry.is_table() {
        return size(entry).map(|size| (size, size));
    }
    let keys = entry.table()?;
    let from = size(&keys.need("from", "the smallest size")?)?;
    let to = size(&keys.need("to", "the largest size")?)?;
    keys.nothing_else()?;
    if from > to {
        return Err(entry.refuse(&format!("it is empty: {from} is above {to}")));
    }
    Ok((from, to))
}

fn size(entry: &Entry<'_>) -> Result<Bytes, Fault> {
    let text = entry.text_or_number()?;
    text.parse().map_err(|fault| entry.blame(fault))
}

/// A number of iterations, or `"auto"` with what it is to reach.
fn iterations(keys: &Lookup<'_, '_>) -> Result<(u32, Option<Precision>), Fault> {
    let plain = Precision::default();
    let precision = Precision {
        half_width: keys
            .get("ci")
            .map_or(Ok(plain.half_width), |entry| share(&entry))?,
        budget: keys
            .get("budget")
            .map_or(Ok(plain.budget), |entry| seconds(&entry))?,
    };
    let Some(entry) = keys.get("iters") else {
        return Ok((0, Some(precision)));
    };
    match entry.text() {
        Ok("auto") => Ok((0, Some(precision))),
        Ok(other) => Err(entry.refuse(&format!("`{other}` is neither a number nor `auto`"))),
        Err(_) => Ok((entry.whole(1..=MOST_ITERATIONS)?, None)),
    }
}

/// Seconds, with a fraction where wanted.
fn seconds(entry: &Entry<'_>) -> Result<Duration, Fault> {
    let seconds = entry.positive()?;
    let duration = Duration::try_from_secs_f64(seconds).ok();
    let usable = duration.filter(|duration| !duration.is_zero() && duration.as_secs() < 1_000_000);
    usable.ok_or_else(|| entry.refuse(&format!("{seconds} is no useful number of seconds")))
}

/// `"3%"` or `0.03`: a share below 1.
pub(super) fn share(entry: &Entry<'_>) -> Result<f64, Fault> {
    let text = entry.text_or_number()?;
    values::share(&text).map_err(|message| entry.refuse(&message))
}
