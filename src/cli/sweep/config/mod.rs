//! A sweep's configuration: from its keys to plain values; `docs/sweep.md` explains the keys.

use super::document::{Document, Entry, Keys};
use super::part;
use crate::base::{DataType, Fault, Placement};
use crate::collective;
use crate::path::Gate;
use crate::plan::PlanSpec;
use crate::record::{Floor, Limits};

/// What a configuration says, read and checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// What the sweep is called.
    pub name: String,
    /// Whether the machine is examined before anything is measured.
    pub doctor: bool,
    /// The network path that is required, where one is.
    pub path: Option<Gate>,
    /// Its steps in order; a step that is not passed ends the sweep.
    pub steps: Vec<StepArgs>,
    /// By how much each band may be slower.
    pub limits: Limits,
    /// The baseline to compare with, instead of the one that fits.
    pub baseline: Option<String>,
    /// What single sizes must reach.
    pub floors: Vec<Floor>,
}

/// One step: parts that are measured together.
#[derive(Debug, Clone)]
pub struct StepArgs {
    /// Its name.
    pub name: String,
    /// What is measured, each a collective.
    pub parts: Vec<PlanSpec>,
}

/// The step of parts that name none.
const ONLY_STEP: &str = "sweep";

/// Reads the text of a configuration; `name` is what it is called in complaints.
///
/// # Errors
/// `Usage`, with file, line and key.
pub(super) fn read(name: &str, text: &str) -> Result<Config, Fault> {
    let document = Document { name, text };
    let table = document.parse()?;
    let keys = document.keys(&table);
    let defaults = keys
        .get("defaults")
        .map(|entry| entry.table())
        .transpose()?;
    let compare = keys.get("compare").map(|entry| entry.table()).transpose()?;
    let config = Config {
        name: sweep_name(&keys)?,
        doctor: keys.get("doctor").map_or(Ok(false), |entry| entry.flag())?,
        path: keys
            .get("path")
            .map(|entry| entry.read(str::parse::<Gate>))
            .transpose()?,
        steps: steps(&keys, defaults.as_ref())?,
        limits: compare.as_ref().map_or(Ok(Limits::default()), limits)?,
        baseline: baseline(compare.as_ref())?,
        floors: floors(&keys)?,
    };
    for table in [defaults, compare].iter().flatten() {
        table.nothing_else()?;
    }
    keys.nothing_else()?;
    Ok(config)
}

fn sweep_name(keys: &Keys<'_>) -> Result<String, Fault> {
    let entry = keys.need(
        "name",
        "what the sweep is called, e.g. `name = \"nightly\"`",
    )?;
    let name = entry.text()?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.is_empty() || !name.chars().all(plain) || name.starts_with('.') {
        return Err(entry.refuse(&format!(
            "`{name}` cannot be part of a file's name; expected letters, digits, `-`, `_` and `.`"
        )));
    }
    Ok(name.to_owned())
}

pub(super) fn one_of(entry: &Entry<'_>, words: &[&str]) -> Result<String, Fault> {
    let word = entry.text()?;
    if words.contains(&word) {
        return Ok(word.to_owned());
    }
    Err(entry.refuse(&format!("`{word}` is none of: {}", words.join(", "))))
}

/// The parts, those of one step together.
fn steps(keys: &Keys<'_>, defaults: Option<&Keys<'_>>) -> Result<Vec<StepArgs>, Fault> {
    let list = keys.need("part", "what to measure, in at least one `[[part]]`")?;
    let mut steps: Vec<StepArgs> = Vec::new();
    for entry in list.each()? {
        let read = part::read(&entry.table()?, defaults)?;
        let name = read.step.unwrap_or_else(|| ONLY_STEP.to_owned());
        let known = steps.iter().position(|step| step.name == name);
        if known.is_some_and(|index| index + 1 < steps.len()) {
            return Err(entry.refuse(&format!(
                "step `{name}` was left for another before; the parts of a step stand together"
            )));
        }
        if known.is_none() {
            steps.push(StepArgs {
                name,
                parts: Vec::new(),
            });
        }
        if let Some(step) = steps.last_mut() {
            step.parts.extend(read.plans);
        }
    }
    Ok(steps)
}

fn limits(keys: &Keys<'_>) -> Result<Limits, Fault> {
    let share = |key| keys.get(key).map(|entry| part::share(&entry)).transpose();
    Ok(Limits {
        latency: share("latency")?,
        middle: share("middle")?,
        bandwidth: share("bandwidth")?,
    })
}

fn baseline(compare: Option<&Keys<'_>>) -> Result<Option<String>, Fault> {
    let entry = compare.and_then(|keys| keys.get("baseline"));
    entry
        .map(|entry| entry.text().map(str::to_owned))
        .transpose()
}

/// The floors of a file; what else is in it is left alone, so that a configuration is a gate too.
///
/// # Errors
/// `Usage`, with file, line and key; and if there is no floor.
pub fn gate_of(name: &str, text: &str) -> Result<Vec<Floor>, Fault> {
    let document = Document { name, text };
    let table = document.parse()?;
    let floors = floors(&document.keys(&table))?;
    if floors.is_empty() {
        return Err(Fault::usage(format!("`{name}` has no `[[gate.floor]]`")));
    }
    Ok(floors)
}

fn floors(keys: &Keys<'_>) -> Result<Vec<Floor>, Fault> {
    let Some(gate) = keys.get("gate") else {
        return Ok(Vec::new());
    };
    let gate = gate.table()?;
    let list = gate.need("floor", "what sizes must reach, in `[[gate.floor]]`")?;
    gate.nothing_else()?;
    list.each()?.iter().map(floor).collect()
}

fn floor(entry: &Entry<'_>) -> Result<Floor, Fault> {
    let keys = entry.table()?;
    let name = keys.need("collective", "which collective the floor is for")?;
    let (from, to) = part::bounds(&keys.need("size", "a size, or { from = …, to = … }")?)?;
    let number = |key| keys.get(key).map(|entry| entry.positive()).transpose();
    let floor = Floor {
        collective: name.read(collective::by_name)?.name().to_owned(),
        dtype: keys
            .get("datatype")
            .map(|entry| entry.read(str::parse::<DataType>))
            .transpose()?,
        placement: keys
            .get("placement")
            .map(|entry| placement(&entry))
            .transpose()?,
        from,
        to,
        busbw_gbps: number("busbw")?,
        algbw_gbps: number("algbw")?,
        time_us: number("time")?,
    };
    keys.nothing_else()?;
    if floor
        .busbw_gbps
        .or(floor.algbw_gbps)
        .or(floor.time_us)
        .is_none()
    {
        return Err(
            entry.refuse("it asks for nothing: give `busbw` or `algbw` in GB/s, or `time` in µs")
        );
    }
    Ok(floor)
}

/// `out-of-place` or `in-place`.
pub(super) fn placement(entry: &Entry<'_>) -> Result<Placement, Fault> {
    let names = Placement::ALL.map(|placement| placement.to_string());
    let word = one_of(entry, &names.each_ref().map(String::as_str))?;
    let found = Placement::ALL
        .into_iter()
        .find(|one| one.to_string() == word);
    found.ok_or_else(|| entry.refuse("it is no placement"))
}

#[cfg(test)]
mod tests;
