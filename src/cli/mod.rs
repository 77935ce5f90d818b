//! The command line and the process's surroundings, as plain values; nothing is computed here.
//!
//! It prints nothing and ends nothing: texts to print come back with the exit code to leave with.

mod args;
mod baseline;
mod compare;
mod contrast;
mod doctor;
mod effort;
pub mod environment;
mod guise;
mod help;
mod hunt;
mod import;
mod kernel;
mod ladder;
mod links;
mod nccl_tests;
mod options;
mod path;
mod pingpong;
mod plot;
mod refusal;
mod registry;
mod report;
mod resolve;
mod results;
mod sources;
mod store;
mod sweep;
#[cfg(test)]
mod tests;
mod tune;
mod tweaks;
mod uneven;
mod values;
mod whereabouts;
mod world_of_one_host;

pub use args::Args;
pub use baseline::{BaselineArgs, Deed, Signed};
pub use compare::CompareArgs;
pub use contrast::ContrastArgs;
pub use doctor::DoctorArgs;
pub use guise::Guise;
pub use hunt::By;
pub use hunt::HuntArgs;
pub use hunt::Rounds;
pub use import::ImportArgs;
pub use ladder::LadderArgs;
pub use links::LinksArgs;
pub use path::PathArgs;
pub use path::PathWish;
pub use pingpong::FabricWish;
pub use pingpong::PingpongArgs;
pub use plot::{PictureFormat, PlotArgs};
pub use report::ReportArgs;
pub use results::{ResultsArgs, Shown};
pub use sources::Sources;
pub use store::store_folder;
pub use sweep::{Config, Resume, StepArgs, SweepArgs, gate_of};
pub use tune::TuneArgs;
pub use whereabouts::WhereArgs;
pub use world_of_one_host::OneHost;

use crate::base::{Env, Fault};
use clap::Parser as _;
use clap::error::ErrorKind;
use std::ffi::OsString;

/// What a command line asks for.
#[derive(Debug, Clone)]
pub enum Parsed {
    /// Measure a collective.
    Measure(Box<Args>),
    /// Measure two ranks alone.
    Pingpong(Box<PingpongArgs>),
    /// Turn nccl-tests' output into runs' files.
    Import(Box<ImportArgs>),
    /// Draw runs.
    Plot(Box<PlotArgs>),
    /// Write a document about runs.
    Report(Box<ReportArgs>),
    /// Measure which algorithm is best for which size.
    Tune(Box<TuneArgs>),
    /// Say what a small operation's latency is made of.
    Ladder(Box<LadderArgs>),
    /// Run one sweep with several settings.
    Contrast(Box<ContrastArgs>),
    /// Find what is slow.
    Hunt(Box<HuntArgs>),
    /// Judge a network path by recorded evidence.
    Path(Box<PathArgs>),
    /// Say how the processes were started and what each of them sees.
    Where(Box<WhereArgs>),
    /// Say whether runs are slower than a baseline.
    Compare(Box<CompareArgs>),
    /// Show what is stored.
    Results(ResultsArgs),
    /// Keep what is normal.
    Baseline(BaselineArgs),
    /// Measure several collectives on one communicator.
    Sweep(Box<Args>),
    /// Say what is wrong with the machines.
    Doctor(Box<DoctorArgs>),
    /// Make links to this program under nccl-tests' names.
    Links(LinksArgs),
    /// Print this to stdout and leave with success: help, version, lists.
    Text(String),
}

/// A first word that is not a collective.
struct Command {
    name: &'static str,
    /// Its line in `--help`.
    summary: &'static str,
    /// Its page of help.
    help: fn() -> String,
    /// Reads the whole command line, the program's name included.
    parse: fn(&[OsString], &Env) -> Result<Parsed, Fault>,
}

/// Every such word besides `help` and `list`, in the order of `--help`; a collective's command line is
/// what none of them takes.
const COMMANDS: &[Command] = &[
    baseline::COMMAND,
    compare::COMMAND,
    contrast::COMMAND,
    doctor::COMMAND,
    hunt::COMMAND,
    import::COMMAND,
    ladder::COMMAND,
    links::COMMAND,
    path::COMMAND,
    pingpong::COMMAND,
    plot::COMMAND,
    report::COMMAND,
    results::COMMAND,
    sweep::COMMAND,
    tune::COMMAND,
    whereabouts::COMMAND,
];

/// Reads a command line, the program's name included, and the variables that stand for options.
///
/// # Errors
/// `Usage`, naming the option and what it accepts.
pub fn parse(argv: impl IntoIterator<Item = OsString>, env: &Env) -> Result<Parsed, Fault> {
    let argv: Vec<OsString> = argv.into_iter().collect();
    let guise = Guise::of(argv.first());
    if guise.is_nccl_tests() {
        return measure(&guise::written_out(&argv)?, &guise, env);
    }
    let word = argv.get(1).and_then(|word| word.to_str());
    match word {
        Some("help") => help::page(argv.get(2)).map(Parsed::Text),
        Some("list") => Ok(Parsed::Text(help::list())),
        _ => match COMMANDS.iter().find(|command| Some(command.name) == word) {
            Some(command) => (command.parse)(&argv, env),
            None => measure(&argv, &guise, env),
        },
    }
}

fn measure(argv: &[OsString], guise: &Guise, env: &Env) -> Result<Parsed, Fault> {
    let options = match options::Options::try_parse_from(argv) {
        Ok(options) => options,
        Err(error) => return text_or_fault(&error),
    };
    if options.list {
        return Ok(Parsed::Text(help::list()));
    }
    let argv = argv
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    resolve::resolve(options, guise, argv, env).map(|args| Parsed::Measure(Box::new(args)))
}

/// clap hands help and version over as errors.
fn text_or_fault(error: &clap::Error) -> Result<Parsed, Fault> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Ok(Parsed::Text(error.render().to_string()))
        }
        _ => Err(refusal::fault(error)),
    }
}
