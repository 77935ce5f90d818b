//! `ncclbench links`: its options and its page of help.

use super::Parsed;
use super::guise::link_names;
use crate::base::Fault;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "links",
    summary: "make links under nccl-tests' names, so that scripts written for it run this program",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench links …`, read and checked.
#[derive(Debug, Clone)]
pub struct LinksArgs {
    /// Where the links go.
    pub folder: PathBuf,
    /// What each is called.
    pub names: Vec<String>,
}

/// Makes links to this program under the names of nccl-tests' programs
///
/// Called by such a name it takes nccl-tests' options with nccl-tests' defaults, prints what
/// nccl-tests prints and leaves with its exit codes, so that scripts need another path and nothing
/// else. The folder is made if it is not there. What is there already and is no link to this program
/// is not overwritten. A folder beside the program gets relative links, so that both can be moved
/// together; any other gets absolute ones.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench links",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench links DIR [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    /// Where the links go
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// What follows each name, such as `_mpi` for `all_reduce_perf_mpi`
    #[arg(long, value_name = "TEXT", default_value = "", value_parser = suffix, allow_hyphen_values = true)]
    suffix: String,
}

const AFTER: &str = "\
Examples:
  ncclbench links /opt/nccl-tests/build
  ncclbench links /opt/nccl-tests/build --suffix _mpi
  /opt/nccl-tests/build/all_reduce_perf -b 8 -e 8G -f 2 -g 8

Exit codes:
  0  all links are there
  2  usage
  3  one could not be made, or something else has its name; then none was made
";

/// What may follow a program's name.
fn suffix(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is no end of a file's name"))
    }
}

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let names = link_names().map(|name| name + &options.suffix);
    Ok(Parsed::Links(LinksArgs {
        folder: options.folder,
        names: names.collect(),
    }))
}

/// The page of `help links`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
