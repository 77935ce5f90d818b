//! `ncclbench import`: its options and its page of help.

use super::Parsed;
use super::values::file;
use crate::base::Fault;
use crate::collective;
use crate::collective::Collective;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "import",
    summary: "nccl-tests' output as runs' files",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench import …`, read and checked.
#[derive(Debug, Clone)]
pub struct ImportArgs {
    /// What to read.
    pub logs: Vec<PathBuf>,
    /// Where the run's file goes; stdout where nothing is said.
    pub output: Option<String>,
    /// The collective of a log that does not name one.
    pub collective: Option<&'static dyn Collective>,
}

/// Turns output of nccl-tests into runs' files, so that they can be compared, drawn and kept
///
/// It reads tables of every version since 2.13 and the JSON files of `-J`. Tags that `srun -l` and
/// `mpirun --tag-output` put before lines are taken off, and rows that NCCL's own lines cut in two
/// are put together again. What cannot be read is named by its line, on stderr.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench import",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench import [OPTIONS] LOG...",
    after_help = AFTER
)]
struct Options {
    /// Log or JSON file
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,
    /// Write the run to this file; an existing one is not overwritten. Of several runs the second
    /// goes to FILE with `-2` before its extension, and so on [default: to stdout]
    #[arg(long, value_name = "FILE", value_parser = file)]
    output: Option<String>,
    /// Collective of logs that do not name one, as those of before nccl-tests 2.16.7 do not
    #[arg(long, value_name = "NAME")]
    collective: Option<String>,
}

const AFTER: &str = "\
What nccl-tests does not print is left out of the record, or said in its notes: the times of single
ranks, the host's time of enqueueing, and, in a table, how the time combines ranks.

Examples:
  ncclbench import --output run.jsonl slurm-4711.out
  ncclbench import --output run.jsonl all_reduce.json
  for log in logs/*.txt; do ncclbench import --output runs/$(basename $log .txt).jsonl $log; done

Exit codes:
  0  at least one row was read
  2  none was, or an option says what is not accepted
  3  a file cannot be read or written
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let named = options.collective.as_deref();
    Ok(Parsed::Import(Box::new(ImportArgs {
        logs: options.logs,
        output: options.output,
        collective: named.map(collective::by_name).transpose()?,
    })))
}

/// The page of `help import`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
