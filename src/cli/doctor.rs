//! `ncclbench doctor`: its options, which are a run's launch options and its own, and its page of help.

use super::options::WorldOptions;
use super::values::{file, label, seconds};
use super::{Parsed, resolve};
use crate::base::Fault;
use crate::doctor::Selection;
use crate::doctor::page;
use crate::launcher;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::time::Duration;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "doctor",
    summary: "what is wrong with the machines: versions, devices, variables, limits, GPUs, and drift",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench doctor …`, read and checked.
#[derive(Debug, Clone)]
pub struct DoctorArgs {
    /// How the processes were started and how they meet.
    pub launch: launcher::Wish,
    /// Ranks that each process would hold.
    pub ranks: u32,
    /// What to call this host instead of what it is.
    pub host_label: Option<String>,
    /// The NCCL library to load.
    pub nccl_lib: Option<String>,
    /// Which checks.
    pub selection: Selection,
    /// Look at the copy of a machine in this folder.
    pub root: Option<String>,
    /// Keep what was found in this file.
    pub save: Option<String>,
    /// Say what has changed since this record.
    pub against: Option<String>,
    /// Print data instead of text.
    pub json: bool,
    /// The command line, as given.
    pub argv: Vec<String>,
}

/// Says what is wrong with the machines: versions, devices, variables, limits, GPUs, and drift
///
/// Start it exactly as a run is to be started: under the same launcher, with the same options, inside
/// the same container. Each process looks at what is its own, the first of each host at the host, and
/// the first of all prints one table; what differs between hosts is named. It starts no GPU work,
/// changes nothing, and needs neither GPU nor driver.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench doctor",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench doctor [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    #[command(flatten)]
    world: WorldOptions,

    /// Look with these checks only, by name, separated by commas
    #[arg(
        long,
        value_name = "CHECK,…",
        value_delimiter = ',',
        help_heading = "Checks"
    )]
    only: Vec<String>,
    /// Leave these checks out
    #[arg(
        long,
        value_name = "CHECK,…",
        value_delimiter = ',',
        help_heading = "Checks"
    )]
    skip: Vec<String>,
    /// Look at the copy of a machine that lies under this folder (`DIR/proc`, `DIR/sys`, …) and not
    /// at this one; its variables and the outputs of commands are files there, see `--explain`
    #[arg(long, value_name = "DIR", value_parser = label, help_heading = "Checks")]
    root: Option<String>,
    /// Name each check with what it looks at, and end
    #[arg(long, help_heading = "Checks")]
    list: bool,
    /// Print, as Markdown, what each check looks at, why it matters, and what to do, and end
    #[arg(long, help_heading = "Checks")]
    explain: bool,

    /// Print one JSON object instead of the table
    #[arg(long, help_heading = "Results and limits")]
    json: bool,
    /// Keep what was found, host by host, in this file; an existing file is not overwritten
    #[arg(long, value_name = "FILE", value_parser = file, help_heading = "Results and limits")]
    save: Option<String>,
    /// Name what has changed since `--save` wrote this file
    #[arg(long, value_name = "FILE", value_parser = label, help_heading = "Results and limits")]
    against: Option<String>,
    /// Seconds that each step of meeting may take
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, allow_negative_numbers = true, help_heading = "Results and limits")]
    timeout_init: Duration,
}

const AFTER: &str = "\
Examples:
  ncclbench doctor
  srun -N2 --ntasks-per-node=8 --gpus-per-node=8 --cpus-per-task=24 ncclbench doctor
  ncclbench doctor --save node17.json             keep the acceptance record of a node
  ncclbench doctor --against node17.json          what has changed since
  ncclbench doctor --only cpu-mask,memlock,nccl --json

Exit codes:
  0  no failure; there may be warnings, and checks that could not look
  2  usage: an option or a file says what is not accepted
  3  a check found a failure, or hosts differ in what must be the same
  4  the processes did not meet, or one was lost
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    if options.list {
        return Ok(Parsed::Text(page::list()));
    }
    if options.explain {
        return Ok(Parsed::Text(page::page()));
    }
    let selection = Selection {
        only: options.only,
        skip: options.skip,
    };
    selection.checks()?;
    let timeout_init = resolve::positive("--timeout-init", options.timeout_init)?;
    let world = options.world;
    Ok(Parsed::Doctor(Box::new(DoctorArgs {
        host_label: world.host_label.clone(),
        nccl_lib: world.nccl_lib.clone(),
        ranks: world.nthreads * world.ngpus,
        launch: resolve::launch(world, timeout_init)?,
        selection,
        root: options.root,
        save: options.save,
        against: options.against,
        json: options.json,
        argv: argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
    })))
}

/// The page of `help doctor`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
