//! Longer texts: what follows the options in `--help`, and `--list`.

use super::COMMANDS;
use crate::backend;
use crate::base::{DataType, Fault, RedOp};
use crate::collective;
use clap::CommandFactory as _;
use std::ffi::OsString;
use std::fmt::Write;

/// Printed below the options.
pub(super) fn after() -> String {
    let mut text = "Commands, each with a `--help` of its own:\n".to_owned();
    for command in COMMANDS {
        let _ = writeln!(text, "  {:<11}{}", command.name, command.summary);
    }
    text + "\n" + AFTER
}

const AFTER: &str = "\
Examples:
  ncclbench allreduce -b 8 -e 16G -g 8            all sizes from 8 B to 16 GiB, 8 GPUs of this host
  ncclbench alltoall -b 1M -e 8G --spawn 8        one process for each GPU
  srun -N2 --ntasks-per-node=8 ncclbench allreduce -b 8 -e 16G -n 50
  ncclbench allreduce --backend host -g 4         without a GPU

Units:
  Sizes are bytes for each rank; K, M and G are powers of 1024. Times are microseconds for one
  operation. Bandwidths are GB/s, with GB = 10^9 bytes: algbw is size / time, busbw is what the
  links carry. #wrong counts wrong elements over all ranks; N/A is not checked.

Exit codes:
  0  good
  1  regressed: `compare`, a sweep
  2  usage: an option or a file says what is not accepted
  3  environment: library, device, memory, launch, output; or nothing could be measured
  4  other ranks: a timeout, a lost rank, a disagreement; or a signal ended the run
  5  wrong data
  6  a gate was not met: `--require-path`, `NCCL_TESTS_MIN_BW`
  7  inconclusive: `compare`, a sweep
";

/// The page that `help` or `help COMMAND` shows.
///
/// # Errors
/// `Usage` for a command that has none.
pub(super) fn page(command: Option<&OsString>) -> Result<String, Fault> {
    let Some(word) = command.map(|word| word.to_string_lossy().into_owned()) else {
        return Ok(help());
    };
    let found = COMMANDS.iter().find(|command| command.name == word);
    found.map(|command| (command.help)()).ok_or_else(|| {
        let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        let names = names.join(", ");
        Fault::usage(format!("there is no help on `{word}`; accepted: {names}"))
            .hint("run `ncclbench --help` for the options of a measurement")
    })
}

/// The text of `--help`.
pub(super) fn help() -> String {
    super::options::Options::command()
        .render_long_help()
        .to_string()
}

/// The text of `--list`.
pub(super) fn list() -> String {
    let mut text = String::new();
    let collectives = collective::ALL
        .iter()
        .map(|one| (one.name(), one.summary()));
    section(&mut text, "collectives", collectives);
    words(
        &mut text,
        "datatypes",
        DataType::ALL.iter().map(|one| one.name()),
    );
    words(
        &mut text,
        "reductions",
        RedOp::ALL.iter().map(|one| one.name()),
    );
    let backends = backend::ALL.iter().map(|one| (one.name(), one.summary()));
    section(&mut text, "backends", backends);
    let algorithms = backend::kernel::algorithms();
    let lines = algorithms.iter().map(|(name, what, _)| (*name, *what));
    section(&mut text, "algorithms of backend kernel", lines);
    section(&mut text, "launchers", super::registry::launchers());
    text
}

fn section(
    text: &mut String,
    title: &str,
    entries: impl IntoIterator<Item = (&'static str, &'static str)>,
) {
    let _ = writeln!(text, "{title}:");
    for (name, summary) in entries {
        let _ = writeln!(text, "  {name:<14}{summary}");
    }
}

fn words(text: &mut String, title: &str, names: impl Iterator<Item = &'static str>) {
    let names: Vec<_> = names.collect();
    let _ = writeln!(text, "{title}:\n  {}", names.join(" "));
}
