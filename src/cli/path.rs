//! `ncclbench path`: its options and its page of help.

use super::Parsed;
use super::values::label;
use crate::base::Fault;
use crate::path::Gate;
use crate::path::instance;
use crate::path::instance::Instance;
use clap::{Args, CommandFactory as _, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "path",
    summary: "which way a recorded run's bytes went: EFA, InfiniBand, TCP",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench path …`, read and checked.
#[derive(Debug, Clone)]
pub struct PathArgs {
    /// Logs of NCCL.
    pub logs: Vec<PathBuf>,
    /// Folders with a host's counters before and after.
    pub counters: Vec<(PathBuf, PathBuf)>,
    /// The instance type, where it was said.
    pub instance: Option<&'static Instance>,
    /// The run's file that says what was sent.
    pub run: Option<PathBuf>,
    /// What the path must be.
    pub require: Option<Gate>,
    /// Print data instead of text.
    pub json: bool,
}

/// What a run is to find out about its own path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathWish {
    /// Whether NCCL's log and the counters are looked at.
    pub watch: bool,
    /// What the path must be.
    pub require: Option<Gate>,
    /// The folder that `/sys` and `/proc` are read under.
    pub root: PathBuf,
}

/// The options of a run that are about its path.
#[derive(Debug, Args)]
#[command(next_help_heading = "Network path")]
pub(super) struct RunOptions {
    /// Exit 6 unless the bytes went by `efa`, `infiniband`, `nvlink`, or `any` of the fast ways
    #[arg(long, value_name = "PATH")]
    pub require_path: Option<String>,
    /// Leave NCCL's log and the NICs' counters alone, and give no verdict on the path
    #[arg(long, conflicts_with = "require_path")]
    pub no_path: bool,
    /// Read the counters under `DIR/sys` and `DIR/proc` instead of `/sys` and `/proc`; for tests
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/",
        hide_default_value = true
    )]
    pub path_root: PathBuf,
}

impl RunOptions {
    /// What is wished, where `backend` runs it.
    ///
    /// # Errors
    /// `Usage` where a path is required of a backend that has none.
    pub(super) fn wish(self, backend: &str) -> Result<PathWish, Fault> {
        let wish = wished(self.require_path.as_deref(), backend)?;
        Ok(PathWish {
            watch: wish.watch && !self.no_path,
            root: self.path_root,
            ..wish
        })
    }
}

/// What is wished of a run's path, where `name` is what it must be.
///
/// # Errors
/// `Usage` for a name that is not known, and for a backend that has no path.
pub(super) fn wished(name: Option<&str>, backend: &str) -> Result<PathWish, Fault> {
    let require: Option<Gate> = name.map(str::parse).transpose()?;
    if let Some(gate) = require.filter(|_| backend != "nccl") {
        return Err(Fault::usage(format!(
            "`--require-path {}` is for backend `nccl`; `{backend}` has no path to judge",
            gate.name()
        )));
    }
    Ok(PathWish {
        watch: backend == "nccl",
        require,
        root: PathBuf::from("/"),
    })
}

fn gate(text: &str) -> Result<Gate, String> {
    text.parse().map_err(|fault: Fault| fault.message)
}

/// Says from recorded evidence which way a run's bytes went: EFA, InfiniBand, TCP or none
///
/// NCCL's log says what NCCL meant to use, counters say what the NICs carried; the two are held
/// against each other. Every run on several ranks does the same by itself.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench path",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench path --log FILE... [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    /// Log that NCCL wrote with `NCCL_DEBUG=INFO`, of one process or of several
    #[arg(long, value_name = "FILE", num_args = 1.., action = clap::ArgAction::Append, required = true)]
    log: Vec<PathBuf>,
    /// A host's counters before the run: a copy of its `/sys/class/infiniband`, or of `/sys` and
    /// `/proc/net/dev` as `DIR/sys/...` and `DIR/proc/net/dev`. Once for each host
    #[arg(long, value_name = "DIR", num_args = 1.., action = clap::ArgAction::Append, requires = "counters_after")]
    counters_before: Vec<PathBuf>,
    /// The same after the run, in the same order
    #[arg(long, value_name = "DIR", num_args = 1.., action = clap::ArgAction::Append, requires = "counters_before")]
    counters_after: Vec<PathBuf>,
    /// Instance type, so that missing NICs can be told, e.g. `p5.48xlarge`
    #[arg(long, value_name = "TYPE", value_parser = label)]
    instance: Option<String>,
    /// The run's file (`--output`) that the counters belong to, so that bytes can be forecast
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// Exit 6 unless the path is `efa`, `infiniband`, `nvlink`, or `any` of the fast ones
    #[arg(long, value_name = "PATH", value_parser = gate)]
    require_path: Option<Gate>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "\
Verdicts:
  EFA            AWS EFA, all of it
  EFA_DEGRADED   EFA, with NICs that are missing or idle, or staging through the host
  INFINIBAND     InfiniBand or RoCE
  SOCKET         NCCL's own TCP
  TCP_PROVIDER   Libfabric over TCP: the plugin is loaded, the fast path is not used
  INTRA_NODE     nothing left a node
  UNKNOWN        not to be told from this evidence

Examples:
  ncclbench path --log nccl.*.log
  ncclbench path --log rank0.log --instance p5.48xlarge --require-path efa
  ncclbench path --log log --counters-before before --counters-after after --json

Counters are kept by this, on every host, before and after the run:
  cd /sys/class/infiniband; for d in *; do mkdir -p /tmp/before/$d
    cp -rL $d/ports $d/hw_counters /tmp/before/$d/; done; cat /proc/net/dev > /tmp/before/net_dev

Exit codes:
  0  a verdict is given, and it is what was required
  2  usage
  3  a file or a folder cannot be read
  6  the path is not what was required
  7  the verdict is UNKNOWN
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let instance = options.instance.as_deref().map(known).transpose()?;
    let (before, after) = (options.counters_before, options.counters_after);
    if before.len() != after.len() {
        return Err(Fault::usage(format!(
            "{} folders of counters before and {} after; expected one of each for each host",
            before.len(),
            after.len()
        )));
    }
    Ok(Parsed::Path(Box::new(PathArgs {
        logs: options.log,
        counters: before.into_iter().zip(after).collect(),
        instance,
        run: options.run,
        require: options.require_path,
        json: options.json,
    })))
}

fn known(text: &str) -> Result<&'static Instance, Fault> {
    instance::by_name(text).ok_or_else(|| {
        let names: Vec<_> = instance::ALL.iter().map(|one| one.name).collect();
        Fault::usage(format!(
            "unknown instance type `{text}`; known: {}",
            names.join(", ")
        ))
        .hint("leave `--instance` out: then NICs are not counted against a table")
    })
}

/// The page of `help path`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
