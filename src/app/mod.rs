//! Composition: one readable function for each subcommand, and the exit codes.

mod allow_list;
mod berths;
mod book;
mod dry_run;
mod ending;
mod fleet;
mod gpus;
mod measure;
mod narrator;
mod offered;
mod output;
#[cfg(feature = "mpi")]
mod pingpong;
mod seed;
mod signals;
mod spawn;
mod whereabouts;
mod worker;

use crate::base::Fault;
use crate::cli;
use crate::cli::Parsed;
use std::ffi::OsString;
use std::io::Write;

/// Runs the program; gives its exit code.
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    let env = cli::environment::variables();
    match cli::parse(argv, &env) {
        Err(fault) => refuse(&fault),
        Ok(Parsed::Text(text)) => tell(&text),
        Ok(Parsed::Measure(args)) if args.dry_run => match dry_run::text(&args) {
            Ok(text) => tell(&text),
            Err(fault) => refuse(&fault),
        },
        Ok(Parsed::Measure(args)) => match offered::check(&args) {
            Ok(()) => measure::run(&args, &env),
            Err(fault) => refuse(&fault),
        },
        #[cfg(feature = "mpi")]
        Ok(Parsed::Pingpong(args)) => pingpong::run(&args, &env),
        Ok(Parsed::Where(args)) => whereabouts::run(&args, &env),
    }
}

fn refuse(fault: &Fault) -> u8 {
    say(&format!("error: {fault}"));
    fault.kind.exit_code()
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
