//! `ncclbench path`: its options and its page of help.

use super::Parsed;
use super::values::label;
use crate::base::Fault;
use crate::path::Gate;
use crate::path::instance;
use crate::path::instance::Instance;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// The subcommand's word.
pub(super) const NAME: &str = "path";

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
    #[arg(long, value_name = "PATH")]
    require_path: Option<String>,
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
pub(super) fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let gate = options
        .require_path
        .as_deref()
        .map(str::parse)
        .transpose()?;
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
        require: gate,
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
pub(super) fn help() -> String {
    Options::command().render_long_help().to_string()
}
