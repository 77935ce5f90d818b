//! `ncclbench plot`: its options and its page of help.

use super::Parsed;
use super::sources::{SourceOptions, Sources};
use crate::base::Fault;
use crate::report::plot::{self, Plot};
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "plot",
    summary: "a run's file, or several, as a picture",
    help,
    parse: |argv, _| parse(argv),
};

/// What a picture is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// Scalable vector graphics.
    Svg,
    /// Portable network graphics.
    Png,
}

/// `ncclbench plot …`, read and checked.
#[derive(Debug, Clone)]
pub struct PlotArgs {
    /// What to draw.
    pub kind: &'static Plot,
    /// From what.
    pub sources: Sources,
    /// A file with figures of pairs.
    pub matrix: Option<String>,
    /// Where to; none is stdout.
    pub output: Option<String>,
    /// As what.
    pub format: PictureFormat,
}

impl PlotArgs {
    /// Whether there is anything to draw from: runs, or what stands for itself.
    pub fn has_material(&self) -> bool {
        let Sources {
            runs,
            verdict,
            references,
            ..
        } = &self.sources;
        !runs.is_empty() || !references.is_empty() || verdict.is_some() || self.matrix.is_some()
    }
}

/// Draws runs as a picture
///
/// Reads the files that runs were written to and draws one picture; nothing is measured. Sizes that were
/// measured several times are drawn as their median with a bar from the smallest to the largest. Wrong data
/// is marked, simulated runs are stamped as such.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench plot",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench plot [OPTIONS] RUN…",
    after_help = after()
)]
struct Options {
    #[command(flatten)]
    sources: SourceOptions,

    /// What to draw; the kinds are listed below
    #[arg(
        long,
        value_name = "KIND",
        default_value = "busbw",
        help_heading = "Picture"
    )]
    kind: String,
    /// Where to write it; `.svg` or `.png` says as what [default: SVG on stdout]
    #[arg(short, long, value_name = "FILE", help_heading = "Picture")]
    output: Option<String>,
    /// The figures of pairs for `--kind matrix`, as `ncclbench hunt` writes them
    #[arg(long, value_name = "FILE", help_heading = "Picture")]
    matrix: Option<String>,
}

/// What follows the options.
fn after() -> String {
    let kinds = plot::ALL
        .iter()
        .map(|kind| format!("  {:<10}{}\n", kind.name, kind.summary));
    format!(
        "Kinds:\n{}\n\
Examples:
  ncclbench plot run.jsonl -o busbw.svg
  ncclbench plot --kind latency monday.jsonl tuesday.jsonl -o latency.png
  ncclbench plot --collective allreduce --ceiling 400='line rate' --reference docs/gallery/published.csv run.jsonl > run.svg
  ncclbench plot --kind history --size 1G results/ -o history.svg

Units:
  Sizes are bytes for each rank, powers of 1024. Times are microseconds for one operation.
  Bandwidths are GB/s, with GB = 10^9 bytes.

Exit codes:
  0  drawn
  2  usage: an option, or a file that is not a run's, or nothing in the runs to draw
  3  environment: a file cannot be read or written
",
        kinds.collect::<String>()
    )
}

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let kind = plot::by_name(&options.kind).ok_or_else(|| {
        let names: Vec<&str> = plot::ALL.iter().map(|kind| kind.name).collect();
        Fault::usage(format!(
            "unknown kind `{}` for `--kind`; accepted: {}",
            options.kind,
            names.join(", ")
        ))
    })?;
    let format = format(options.output.as_deref())?;
    let sources = options.sources.resolve()?;
    let args = PlotArgs {
        kind,
        sources,
        matrix: options.matrix,
        output: options.output,
        format,
    };
    if !args.has_material() {
        return Err(Fault::usage("no run was given").hint("run `ncclbench plot --help`"));
    }
    Ok(Parsed::Plot(Box::new(args)))
}

fn format(output: Option<&str>) -> Result<PictureFormat, Fault> {
    let Some(path) = output else {
        return Ok(PictureFormat::Svg);
    };
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "svg" => Ok(PictureFormat::Svg),
        "png" => Ok(PictureFormat::Png),
        _ => Err(Fault::usage(format!(
            "`--output`: `{path}` must end in `.svg` or `.png`"
        ))),
    }
}

/// The page of `help plot`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
