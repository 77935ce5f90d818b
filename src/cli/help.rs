//! Longer texts: what follows the options in `--help`, and `--list`.

use crate::backend;
use crate::base::{DataType, Fault, RedOp};
use crate::collective;
use clap::CommandFactory as _;
use std::ffi::OsString;
use std::fmt::Write;

/// Printed below the options.
pub(super) const AFTER: &str = "\
Commands:
  baseline  keep launches as what is normal, with author, date and reason
  compare   say whether launches are slower than a baseline: pass, regress, inconclusive
  contrast  the same sweep with several settings side by side: EFA against TCP
  doctor    what is wrong with the machines: versions, devices, variables, limits, GPUs, and drift
  ladder    what a small operation's latency is made of, step by step
  links     make links under nccl-tests' names, so that scripts written for it run this program
  path      which way a recorded run's bytes went: EFA, InfiniBand, TCP
  plot      a run's file, or several, as a picture
  report    the same as a document: HTML, Markdown, CSV, JUnit, Prometheus
  results   list and show what is stored
  sweep     several collectives on one communicator, as a configuration says; kept and compared
  tune      which algorithm of backend kernel is best for which size, into a table
  where     how the processes were started and what each sees: the first thing to run on a new cluster
  contrast the same sweep with several settings side by side: EFA against TCP
  doctor what is wrong with the machines: versions, devices, variables, limits, GPUs, and drift
  hunt   the slow node, rail or link, found in one job
  links  make links under nccl-tests' names, so that scripts written for it run this program
  path   which way a recorded run's bytes went: EFA, InfiniBand, TCP
  pingpong latency and bandwidth of two processes: NCCL, TCP, libfabric
  plot   a run's file, or several, as a picture
  report the same as a document: HTML, Markdown, CSV, JUnit, Prometheus
  sweep  several collectives on one communicator, as a configuration says; kept and compared
  where  how the processes were started and what each sees: the first thing to run on a new cluster

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

/// A command's word and what makes its page.
type Page = (&'static str, fn() -> String);

/// Every command that has a page of its own, with the function that makes it.
const PAGES: &[Page] = &[
    (super::baseline::NAME, super::baseline::help),
    (super::compare::NAME, super::compare::help),
    (super::contrast::NAME, super::contrast::help),
    (super::doctor::NAME, super::doctor::help),
    (super::hunt::NAME, super::hunt::help),
    (super::ladder::NAME, super::ladder::help),
    (super::links::NAME, super::links::help),
    (super::path::NAME, super::path::help),
    (super::pingpong::NAME, super::pingpong::help),
    (super::plot::NAME, super::plot::help),
    (super::report::NAME, super::report::help),
    (super::results::NAME, super::results::help),
    (super::sweep::NAME, super::sweep::help),
    (super::tune::NAME, super::tune::help),
    (super::whereabouts::NAME, super::whereabouts::help),
];

/// The page that `help` or `help COMMAND` shows.
///
/// # Errors
/// `Usage` for a command that has none.
pub(super) fn page(command: Option<&OsString>) -> Result<String, Fault> {
    let Some(word) = command.map(|word| word.to_string_lossy().into_owned()) else {
        return Ok(help());
    };
    let found = PAGES.iter().find(|(name, _)| *name == word);
    found.map(|(_, page)| page()).ok_or_else(|| {
        let names: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
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
