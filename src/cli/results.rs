//! `ncclbench results`: its options and its page of help.

use super::Parsed;
use super::store::StoreOption;
use crate::base::Fault;
use clap::{CommandFactory as _, Parser, Subcommand};
use std::ffi::OsString;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "results",
    summary: "list and show what is stored",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench results …`, read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultsArgs {
    /// What is to be shown.
    pub what: Shown,
    /// The store's folder, where it was said.
    pub store: Option<String>,
}

/// What of a store is to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Its runs.
    List {
        /// Those whose fingerprint begins so.
        fingerprint: Option<String>,
        /// As JSON lines.
        json: bool,
    },
    /// A run: its fingerprint and its rows.
    Run(String),
}

/// Shows what is stored: runs, and what each was measured under
///
/// A store is a folder of plain files: runs by fingerprint under `runs`, baselines under `baselines`;
/// runs that lie elsewhere in it are found too. Sweeps write there; copy, rsync and git are fine.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench results",
    disable_version_flag = true,
    disable_help_subcommand = true,
    args_override_self = true,
    term_width = 100,
    after_help = AFTER
)]
struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists the runs, oldest first, one a line
    List {
        /// Only runs whose fingerprint begins so
        #[arg(long, value_name = "DIGITS")]
        fingerprint: Option<String>,
        /// Print one JSON object for each run
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Shows a run: its fingerprint, what ended it, its rows
    Show {
        /// A file, the name of a stored run or the beginning of it, or `last`
        #[arg(value_name = "RUN")]
        run: String,
        #[command(flatten)]
        store: StoreOption,
    },
}

const AFTER: &str = "\
Examples:
  ncclbench results list
  ncclbench results list --fingerprint 3fa2 --json
  ncclbench results show last

Exit codes:
  0  shown
  2  usage
  3  no such run; or one of them cannot be read, and the others were shown
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let (what, store) = match options.what {
        What::List {
            fingerprint,
            json,
            store,
        } => (Shown::List { fingerprint, json }, store),
        What::Show { run, store } => (Shown::Run(run), store),
    };
    Ok(Parsed::Results(ResultsArgs {
        what,
        store: store.store,
    }))
}

/// The page of `help results`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
