//! `ncclbench report`: its options and its page of help.

use super::Parsed;
use super::sources::{SourceOptions, Sources};
use crate::base::Fault;
use crate::report::documents::{self, Document};
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "report",
    summary: "the same as a document: HTML, Markdown, CSV, JUnit, Prometheus",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench report …`, read and checked.
#[derive(Debug, Clone)]
pub struct ReportArgs {
    /// What to write.
    pub document: &'static Document,
    /// About what.
    pub sources: Sources,
    /// Where to; none is stdout.
    pub output: Option<String>,
}

/// Writes a document about runs
///
/// Reads the files that runs were written to; nothing is measured. The HTML page holds everything that it
/// shows (plots, tables, style and script) and loads nothing, so that it can be mailed, archived and printed.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench report",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench report [OPTIONS] RUN…",
    after_help = after()
)]
struct Options {
    #[command(flatten)]
    sources: SourceOptions,

    /// The format; listed below [default: what the output's name ends in, else html]
    #[arg(long, value_name = "FORMAT", help_heading = "Document")]
    format: Option<String>,
    /// Where to write it [default: stdout]
    #[arg(short, long, value_name = "FILE", help_heading = "Document")]
    output: Option<String>,
}

/// What follows the options.
fn after() -> String {
    let formats = documents::ALL
        .iter()
        .map(|one| format!("  {:<12}{}\n", one.name, one.summary));
    format!(
        "Formats:\n{}\n\
Examples:
  ncclbench report run.jsonl -o run.html
  ncclbench report --format md monday.jsonl tuesday.jsonl
  ncclbench report --format prometheus run.jsonl -o /var/lib/node_exporter/ncclbench.prom
  ncclbench report --format junit results/ -o junit.xml

Exit codes:
  0  written
  2  usage: an option, or a file that is not a run's
  3  environment: a file cannot be read or written
",
        formats.collect::<String>()
    )
}

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let document = document(options.format.as_deref(), options.output.as_deref())?;
    let sources = options.sources.resolve()?;
    if sources.runs.is_empty() {
        return Err(Fault::usage("no run was given").hint("run `ncclbench report --help`"));
    }
    Ok(Parsed::Report(Box::new(ReportArgs {
        document,
        sources,
        output: options.output,
    })))
}

/// By name, else by the ending of the file, else the first.
fn document(name: Option<&str>, output: Option<&str>) -> Result<&'static Document, Fault> {
    if let Some(name) = name {
        return documents::by_name(name).ok_or_else(|| {
            let names: Vec<&str> = documents::ALL.iter().map(|one| one.name).collect();
            Fault::usage(format!(
                "unknown format `{name}` for `--format`; accepted: {}",
                names.join(", ")
            ))
        });
    }
    let Some(path) = output else {
        return Ok(&documents::ALL[0]);
    };
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let found = documents::ALL.iter().find(|one| one.ending == ending);
    found.ok_or_else(|| {
        let endings: Vec<String> = documents::ALL
            .iter()
            .map(|one| format!(".{}", one.ending))
            .collect();
        Fault::usage(format!(
            "`--output`: `{path}` does not say the format; known endings are {}",
            endings.join(", ")
        ))
        .hint("name it: `--format`")
    })
}

/// The page of `help report`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
