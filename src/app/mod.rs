//! Composition: one readable function for each subcommand, and the exit codes.

mod allow_list;
mod berths;
mod book;
mod codes;
mod conditions;
mod connections;
mod contrast;
mod doctor;
mod dry_run;
mod ending;
mod fleet;
mod floor;
mod gather;
mod gpus;
mod groups;
mod hunt;
mod import;
mod judging;
mod ladder;
mod links;
mod measure;
mod memory;
mod memory_limit;
mod narrator;
mod output;
mod path;
mod pingpong;
mod plot;
mod report;
mod rounds;
mod runs;
mod seed;
mod signals;
mod spawn;
mod sweep;
mod threads;
mod tune;
mod whereabouts;
mod wish;
mod worker;

use self::codes::Codes;
use crate::base::Env;
use crate::base::Fault;
use crate::cli;
use crate::cli::Guise;
use crate::cli::Parsed;
use crate::launcher;
use std::ffi::OsString;
use std::io::Write;

/// Runs the program; gives its exit code.
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    let env = cli::environment::variables();
    let argv: Vec<OsString> = argv.into_iter().collect();
    let codes = Codes::of(&Guise::of(argv.first()));
    match cli::parse(argv.clone(), &env) {
        Err(fault) => refuse_all(&fault, codes, &argv, &env),
        Ok(Parsed::Text(text)) => tell(&text),
        Ok(Parsed::Measure(args)) if args.dry_run => match dry_run::text(&args) {
            Ok(text) => tell(&text),
            Err(fault) => refuse_as(&fault, codes),
        },
        Ok(Parsed::Sweep(args)) if args.dry_run => match sweep::dry_run(&args) {
            Ok(text) => tell(&text),
            Err(fault) => refuse(&fault),
        },
        Ok(Parsed::Measure(args) | Parsed::Sweep(args)) => measure::run(&args, &env),
        Ok(Parsed::Pingpong(args)) => pingpong::run(&args, &env),
        Ok(Parsed::Hunt(args)) => hunt::run(&args, &env),
        Ok(Parsed::Doctor(args)) => doctor::run(&args, &env),
        Ok(Parsed::Plot(args)) => plot::run(&args),
        Ok(Parsed::Report(args)) => report::run(&args),
        Ok(Parsed::Import(args)) => import::run(&args),
        Ok(Parsed::Links(args)) => links::run(&args),
        Ok(Parsed::Contrast(args)) => contrast::run(&args, &env),
        Ok(Parsed::Path(args)) => path::run(&args),
        Ok(Parsed::Compare(args)) => judging::compare(&args, &env),
        Ok(Parsed::Baseline(args)) => judging::baseline(&args, &env),
        Ok(Parsed::Results(args)) => judging::results(&args, &env),
        Ok(Parsed::Tune(args)) => tune::run(&args, &env),
        Ok(Parsed::Ladder(args)) => ladder::run(&args, &env),
        Ok(Parsed::Where(args)) => whereabouts::run(&args, &env),
    }
}

fn refuse(fault: &Fault) -> u8 {
    refuse_as(fault, Codes::Own)
}

fn refuse_as(fault: &Fault, codes: Codes) -> u8 {
    say(&format!("error: {fault}"));
    codes.fault(fault)
}

/// Refuses a command line. Where it is the command line alone that is refused, all processes of a
/// launch refuse the same, and the first says so for all.
fn refuse_all(fault: &Fault, codes: Codes, argv: &[OsString], env: &Env) -> u8 {
    let of_argv_alone = cli::parse(argv.to_vec(), &Env::default());
    if launcher::is_first(env) || of_argv_alone.as_ref().err() != Some(fault) {
        return refuse_as(fault, codes);
    }
    codes.fault(fault)
}

/// Data, to stdout. A reader that has gone away is no fault of ours.
fn tell(text: &str) -> u8 {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            say(&format!("error: writing stdout: {error}"));
            3
        }
        _ => 0,
    }
}

/// A line for a person, to stderr, in one write so that the lines of several processes stay whole.
fn say(text: &str) {
    // nobody can be told that stderr is gone
    drop(std::io::stderr().write_all(format!("{text}\n").as_bytes()));
}
