//! `ncclbench compare`: its options and its page of help.

use super::Parsed;
use super::store::StoreOption;
use crate::base::Fault;
use crate::record::Limits;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "compare",
    summary: "say whether launches are slower than a baseline: pass, regress, inconclusive",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench compare …`, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareArgs {
    /// The launches that are judged.
    pub runs: Vec<String>,
    /// The baseline's name or file; none is the one with the runs' fingerprint.
    pub baseline: Option<String>,
    /// Launches to compare with in the place of a baseline.
    pub against: Vec<String>,
    /// Losses that matter, as fractions, where they were said.
    pub limits: Limits,
    /// A file with floors in the place of the sweep's.
    pub gate: Option<String>,
    /// Compare although fingerprints differ.
    pub force: bool,
    /// Print data instead of text.
    pub json: bool,
    /// Show every row.
    pub all: bool,
    /// The store's folder, where it was said.
    pub store: Option<String>,
}

/// Says whether launches are slower than a baseline
///
/// Several runs are several launches of one night: the launch is what is repeated, since rank order,
/// channels and neighbours are drawn anew with each, so give five of them, or as many as there are.
/// Sizes are judged in three bands: latency (up to 64 KiB), middle, bandwidth (from 64 MiB). A band
/// regresses if its whole 95 % interval is beyond the limit, passes if a loss as large as the limit is
/// ruled out, and is inconclusive otherwise; then the answer says how many more launches would settle
/// it. Rows that are missing or were waived rule out a pass.
///
/// A RUN is a file, the name of a stored run or the beginning of it, or `last`.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench compare",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench compare [OPTIONS] RUN…",
    after_help = AFTER
)]
struct Options {
    /// A launch to judge
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// Compare with this baseline, or with that of a file [default: the one in force that has the
    /// runs' fingerprint]
    #[arg(long, value_name = "NAME", help_heading = "Compared with")]
    baseline: Option<String>,
    /// Compare with these runs in the place of a baseline; once for each
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with = "baseline",
        help_heading = "Compared with"
    )]
    against: Vec<String>,
    /// Compare although the fingerprints differ (versions, devices, nodes, variables); each difference
    /// becomes a note
    #[arg(long, help_heading = "Compared with")]
    force: bool,
    /// Loss of speed in percent that matters in the latency band [default: the sweep's, else 10]
    #[arg(long, value_name = "PERCENT", value_parser = share, help_heading = "Limits")]
    limit_latency: Option<f64>,
    /// In the middle band [default: the sweep's, else 3]
    #[arg(long, value_name = "PERCENT", value_parser = share, help_heading = "Limits")]
    limit_middle: Option<f64>,
    /// In the bandwidth band [default: the sweep's, else 3]
    #[arg(long, value_name = "PERCENT", value_parser = share, help_heading = "Limits")]
    limit_bandwidth: Option<f64>,
    /// Hold the runs against the floors in this file's `[[gate.floor]]` too [default: the sweep's]
    #[arg(long, value_name = "FILE", help_heading = "Limits")]
    gate: Option<String>,
    /// Show every row and not only those that stand out
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// Print the verdict as one JSON object, for `plot` and `report --verdict FILE`
    #[arg(long, conflicts_with = "all", help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    store: StoreOption,
}

const AFTER: &str = "\
Examples:
  ncclbench compare last
  ncclbench compare --baseline nightly night-1.jsonl night-2.jsonl night-3.jsonl
  ncclbench compare --against before.jsonl --against before-2.jsonl after.jsonl after-2.jsonl
  ncclbench compare --json last > verdict.json && ncclbench plot --verdict verdict.json last.jsonl

A gate's file, TOML, which a sweep's configuration is as well:
  [[gate.floor]]
  collective = \"allreduce\"
  size = { from = \"1G\", to = \"16G\" }    # or size = \"1G\"
  busbw = 350                              # GB/s at least; algbw = GB/s, time = µs at most
  Also: datatype = \"float\", placement = \"out-of-place\". A floor that no row answers to is not met.

Exit codes:
  0  pass
  1  regressed
  2  usage
  3  no such run or baseline, or one that cannot be compared: the differences are listed
  5  a run's check found wrong data
  6  a floor of the gate was not met
  7  inconclusive
";

/// A loss in percent as a fraction.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>();
    let percent = number
        .ok()
        .filter(|percent| *percent > 0.0 && *percent < 100.0);
    percent.map(|percent| percent / 100.0).ok_or_else(|| {
        format!("`{text}` is no loss; expected percent above 0 and below 100, e.g., `3`")
    })
}

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    Ok(Parsed::Compare(Box::new(CompareArgs {
        runs: options.runs,
        baseline: options.baseline,
        against: options.against,
        limits: Limits {
            latency: options.limit_latency,
            middle: options.limit_middle,
            bandwidth: options.limit_bandwidth,
        },
        gate: options.gate,
        force: options.force,
        json: options.json,
        all: options.all,
        store: options.store.store,
    })))
}

/// The page of `help compare`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<CompareArgs, Fault> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match parse(&words)? {
            Parsed::Compare(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn limits_are_losses_in_percent_and_runs_are_launches() {
        let args = read("ncclbench compare a b --limit-middle 2.5 --limit-latency 20%").unwrap();
        assert_eq!(args.runs, ["a", "b"]);
        assert_eq!(args.limits.middle, Some(0.025));
        assert_eq!(
            (args.limits.latency, args.limits.bandwidth),
            (Some(0.2), None)
        );
        for wrong in [
            "",
            "a --limit-middle 0",
            "a --limit-middle -3",
            "a --limit-middle nan",
            "a --limit-middle 100",
            "a --baseline x --against b",
            "a --json --all",
        ] {
            let fault = read(format!("ncclbench compare {wrong}").trim_end()).unwrap_err();
            assert_eq!(fault.kind, crate::base::Kind::Usage, "{wrong}");
        }
    }
}
