//! `ncclbench baseline`: its options and its page of help.

use super::Parsed;
use super::store::StoreOption;
use crate::base::Fault;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use std::ffi::OsString;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "baseline",
    summary: "keep launches as what is normal, with author, date and reason",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench baseline …`, read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineArgs {
    /// What is to be done.
    pub deed: Deed,
    /// The store's folder, where it was said.
    pub store: Option<String>,
}

/// What is to be done with baselines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Runs become what is normal.
    Accept {
        /// The baseline's name.
        name: String,
        /// Who and why.
        signed: Signed,
        /// The launches.
        runs: Vec<String>,
    },
    /// A baseline judges nothing any more.
    Retire {
        /// The baseline's name.
        name: String,
        /// Who and why.
        signed: Signed,
    },
    /// All are listed.
    List {
        /// As JSON lines.
        json: bool,
    },
    /// One is shown, with everything it ever was.
    Show {
        /// The baseline's name.
        name: String,
    },
}

/// Who does it, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Who; none leaves it to git or the account.
    pub author: Option<String>,
    /// Why.
    pub reason: String,
}

/// Keeps what is normal: launches that later ones are compared with
///
/// A baseline changes only here, with an author, a date and a reason, and everything it ever was stays
/// in the store.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench baseline",
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

#[derive(Debug, Args)]
struct SignOptions {
    /// Why, in a sentence that a colleague will understand in a year
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who [default: git's `user.name`, else the account]
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Makes runs the baseline: one run, or several launches, or imported logs
    Accept {
        /// The baseline's name
        #[arg(long, value_name = "NAME")]
        name: String,
        #[command(flatten)]
        signed: SignOptions,
        /// A file, the name of a stored run or the beginning of it, or `last`
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Lists the baselines
    List {
        /// Print one JSON object for each
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Shows a baseline: its fingerprint, its launches, everything it ever was
    Show {
        /// The baseline's name, or a file
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Puts a baseline out of force; its history stays
    Retire {
        /// The baseline's name
        #[arg(long, value_name = "NAME")]
        name: String,
        #[command(flatten)]
        signed: SignOptions,
        #[command(flatten)]
        store: StoreOption,
    },
}

const AFTER: &str = "\
Examples:
  ncclbench baseline accept --name nightly --reason 'driver 580, agreed with the vendor' a.jsonl b.jsonl c.jsonl
  ncclbench baseline list
  ncclbench baseline show nightly
  ncclbench baseline retire --name nightly --reason 'the cluster is being rebuilt'

Exit codes:
  0  done
  2  usage
  3  no such run or baseline, or the runs are not alike; or the store cannot be written
  5  a run's check found wrong data: it cannot be what is normal
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let (deed, store) = match options.what {
        What::Accept {
            name,
            signed,
            runs,
            store,
        } => {
            let signed = sign(signed)?;
            (Deed::Accept { name, signed, runs }, store)
        }
        What::Retire {
            name,
            signed,
            store,
        } => {
            let signed = sign(signed)?;
            (Deed::Retire { name, signed }, store)
        }
        What::List { json, store } => (Deed::List { json }, store),
        What::Show { name, store } => (Deed::Show { name }, store),
    };
    Ok(Parsed::Baseline(BaselineArgs {
        deed,
        store: store.store,
    }))
}

/// A reason and an author that are there must say something.
fn sign(signed: SignOptions) -> Result<Signed, Fault> {
    let empty = |text: &str| text.trim().is_empty();
    if empty(&signed.reason) {
        return Err(Fault::usage("`--reason` is empty").hint("say why in a sentence"));
    }
    if signed.author.as_deref().is_some_and(empty) {
        return Err(Fault::usage("`--author` is empty"));
    }
    Ok(Signed {
        author: signed.author.map(|author| author.trim().to_owned()),
        reason: signed.reason.trim().to_owned(),
    })
}

/// The page of `help baseline`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Parsed, Fault> {
        let words: Vec<OsString> = ["ncclbench", "baseline"]
            .iter()
            .chain(words)
            .map(OsString::from)
            .collect();
        parse(&words)
    }

    #[test]
    fn nothing_is_accepted_without_a_name_a_reason_and_a_run() {
        for wrong in [
            &["accept", "--name", "n", "run"][..],
            &["accept", "--reason", "r", "run"],
            &["accept", "--name", "n", "--reason", "r"],
            &["accept", "--name", "n", "--reason", "  ", "run"],
            &[
                "accept", "--name", "n", "--reason", "r", "--author", "", "run",
            ],
            &["retire", "--name", "n"],
            &["change"],
            &[],
        ] {
            assert!(
                matches!(read(wrong), Err(fault) if fault.kind == crate::base::Kind::Usage),
                "{wrong:?}"
            );
        }
        assert!(read(&["accept", "--name", "n", "--reason", "r", "run", "run"]).is_ok());
    }
}
