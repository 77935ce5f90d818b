//! `ncclbench tune`: a run for each algorithm, and the table of the best.

mod best;

use super::runs;
use super::runs::Runs;
use super::say;
use super::tell;
use crate::backend::kernel;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Placement;
use crate::cli::TuneArgs;
use crate::record::Header;
use crate::record::Run;
use crate::record::Shape;
use crate::record::TUNING_SCHEMA;
use crate::record::Tuning;
use best::Candidate;
use best::Timed;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The exit code of wrong data.
const WRONG: u8 = 5;

/// Tunes; gives the exit code.
pub(super) fn run(args: &TuneArgs, env: &Env) -> u8 {
    match tune(args, env) {
        Ok(text) => tell(&text),
        Err(fault) if runs::is_wrong(&fault) => {
            super::refuse(&fault);
            WRONG
        }
        Err(fault) => super::refuse(&fault),
    }
}

fn tune(args: &TuneArgs, env: &Env) -> Result<String, Fault> {
    let mut runs = Runs::new(env)?;
    let (mut timed, mut shape) = (Vec::new(), None);
    for collective in &args.collectives {
        for candidate in candidates(collective, &args.block_threads) {
            say(&format!("note: {collective} by {candidate}"));
            let run = runs.run(&words(args, collective, &candidate))?;
            shape.get_or_insert_with(|| shape_of(&run.header));
            timed.extend(times(&run, &candidate));
        }
    }
    let choices = best::table(&timed);
    let (Some(shape), false) = (shape, choices.is_empty()) else {
        return Err(Fault::new(
            Kind::Missing,
            "no algorithm could be measured here: every row was waived",
        )
        .hint("run `ncclbench allreduce --backend kernel` with the same options to see why"));
    };
    let tuning = Tuning {
        tuning_schema: TUNING_SCHEMA,
        shape,
        choices,
    };
    write(&args.output, &tuning)?;
    Ok(table(&timed, &tuning))
}

/// What can run a collective and moves data, with each number of threads.
fn candidates(collective: &str, block_threads: &[u32]) -> Vec<Candidate> {
    let able = kernel::moving(collective).into_iter();
    able.flat_map(|(algo, has_grid)| {
        let threads = block_threads.iter().copied().map(Some);
        let grids = threads.filter(move |_| has_grid).chain([None]);
        grids.map(move |block_threads| Candidate {
            algo: algo.to_owned(),
            block_threads,
        })
    })
    .collect()
}

fn words(args: &TuneArgs, collective: &str, candidate: &Candidate) -> Vec<String> {
    let (from, to, factor) = args.sizes;
    let mut words = vec![collective.to_owned()];
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    add("--backend", "kernel".to_owned());
    add("--algo", candidate.algo.clone());
    if let Some(threads) = candidate.block_threads {
        add("--block-threads", threads.to_string());
    }
    add("-b", from.0.to_string());
    add("-e", to.0.to_string());
    add("-f", factor.to_string());
    add("-n", args.iterations.to_string());
    words.extend(args.world.words.iter().cloned());
    words
}

fn times(run: &Run, candidate: &Candidate) -> Vec<Timed> {
    let out_of_place = |row: &&crate::record::Row| {
        row.case.placement == Placement::OutOfPlace && row.case.size.0 > 0
    };
    let timed = |row: &crate::record::Row| {
        let (slowest_us, _) = runs::times(row).ok()?;
        Some(Timed {
            collective: row.case.collective.clone(),
            bytes: row.case.size.0,
            candidate: candidate.clone(),
            time_us: slowest_us,
        })
    };
    run.rows
        .iter()
        .filter(out_of_place)
        .filter_map(timed)
        .collect()
}

fn shape_of(header: &Header) -> Shape {
    let mut gpus: BTreeMap<&str, u32> = BTreeMap::new();
    for seat in &header.seats {
        *gpus
            .entry(seat.device.uuid.as_deref().unwrap_or(&seat.device.bus_id))
            .or_default() += 1;
    }
    let first = header.seats.first();
    Shape {
        world: u32::try_from(header.seats.len()).unwrap_or(u32::MAX),
        ranks_per_gpu: gpus.values().copied().max().unwrap_or(1),
        gpu: first.map_or_else(String::new, |seat| seat.device.name.clone()),
        processes: header.shape[0],
    }
}

/// Writes the table beside its place and moves it there, so that nobody reads half of it.
fn write(path: &str, tuning: &Tuning) -> Result<(), Fault> {
    let failed = |error: &dyn std::fmt::Display| {
        Fault::new(Kind::Output, format!("cannot write `{path}`: {error}"))
    };
    let mut text = serde_json::to_string_pretty(tuning).map_err(|error| failed(&error))?;
    text.push('\n');
    let beside = format!("{path}.new");
    std::fs::write(&beside, text).map_err(|error| failed(&error))?;
    std::fs::rename(&beside, path).map_err(|error| failed(&error))
}

/// Every size with its best and what the others took.
fn table(timed: &[Timed], tuning: &Tuning) -> String {
    let shape = &tuning.shape;
    let mut text = format!(
        "# {} ranks in {} processes, {} on each {}; times are the slowest rank's, in us\n",
        shape.world, shape.processes, shape.ranks_per_gpu, shape.gpu
    );
    let _ = writeln!(
        text,
        "{:<14} {:>12} {:<20} {:>10}  others",
        "collective", "size (B)", "best", "time (us)"
    );
    for (collective, bytes, ranked) in best::ranked(timed) {
        let Some((first, others)) = ranked.split_first() else {
            continue;
        };
        let others: Vec<_> = others
            .iter()
            .map(|one| format!("{} {:.2}", one.candidate, one.time_us))
            .collect();
        let name = first.candidate.to_string();
        let _ = writeln!(
            text,
            "{collective:<14} {bytes:>12} {name:<20} {:>10.2}  {}",
            first.time_us,
            others.join(", ")
        );
    }
    text
}
