//! Several plans on one communicator: in which order they are run, and what identifies them together.

use super::{Job, PlanSpec, Work, digest, jobs, settings};
use crate::base::{Bytes, Fault, World};
use crate::record::{RowKey, Settings};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fmt::Write;

/// One pass over one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Which step the part belongs to.
    pub step: usize,
    /// Which part, counted over all steps.
    pub part: usize,
    /// Which repetition, from 0.
    pub cycle: u32,
}

/// The passes in order: step by step, within a step repetition by repetition, so that what disturbs a
/// moment does not hit all repetitions of a part.
///
/// `steps` holds how many parts each step has. A single part with 0 repetitions goes on for ever.
pub fn passes<'p>(parts: &'p [PlanSpec], steps: &'p [usize]) -> impl Iterator<Item = Pass> + 'p {
    let starts = steps.iter().scan(0, |next, count| {
        let first = *next;
        *next += count;
        Some(first..*next)
    });
    starts.enumerate().flat_map(move |(step, range)| {
        let cycles = range.clone().map(|part| cycles(&parts[part])).max();
        (0..cycles.unwrap_or(0)).flat_map(move |cycle| {
            range
                .clone()
                .filter(move |&part| cycle < cycles_of(parts, part))
                .map(move |part| Pass { step, part, cycle })
        })
    })
}

fn cycles_of(parts: &[PlanSpec], part: usize) -> u32 {
    cycles(&parts[part])
}

fn cycles(part: &PlanSpec) -> u32 {
    match part.cycles {
        0 => u32::MAX,
        cycles => cycles,
    }
}

/// What identifies several plans together; of one plan it is that plan's digest.
pub fn digest_of(parts: &[PlanSpec], world: World) -> String {
    if let [one] = parts {
        return digest(one, world);
    }
    let all: Vec<_> = parts.iter().map(|part| digest(part, world)).collect();
    let hash = Sha256::digest(all.join(" ").as_bytes());
    hash.iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The largest buffer that any part needs.
pub fn max_bytes_of(parts: &[PlanSpec]) -> Bytes {
    parts.iter().map(super::max_bytes).max().unwrap_or_default()
}

/// The settings of several plans: the first one's, with the smallest and the largest size of all.
pub fn settings_of(parts: &[PlanSpec], timestamps: bool) -> Settings {
    let first = settings(&parts[0], timestamps);
    let ends = parts.iter().map(|part| (part.sweep.min, part.sweep.max));
    ends.fold(first, |all, (min, max)| Settings {
        min_bytes: all.min_bytes.min(min),
        max_bytes: all.max_bytes.max(max),
        ..all
    })
}

/// The collectives of several plans, each once, in order, with commas.
pub fn names_of(parts: &[PlanSpec]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for part in parts {
        if !names.contains(&part.collective.name()) {
            names.push(part.collective.name());
        }
    }
    names.join(",")
}

/// Whether a world can have all parts, and no row comes from two of them.
///
/// # Errors
/// `Usage`, as [`super::check`], and for a row that would be measured twice in a repetition: nobody
/// could tell its two figures apart.
pub fn check_all(parts: &[PlanSpec], world: World) -> Result<(), Fault> {
    parts
        .iter()
        .try_for_each(|part| super::check(part, world))?;
    if parts.len() < 2 {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for part in parts {
        for job in jobs(part, world, 0)?.iter().filter(|job| is_row(job)) {
            if !seen.insert(RowKey::of(&job.case)) {
                return Err(Fault::usage(format!(
                    "{} would be measured by two parts of the sweep",
                    RowKey::of(&job.case)
                ))
                .hint("to measure it more often, give the part `repeats`"));
            }
        }
    }
    Ok(())
}

/// Whether a job makes a row.
pub fn is_row(job: &Job) -> bool {
    job.work == Work::Measure
}
