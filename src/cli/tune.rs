//! `ncclbench tune`: its options and its page of help.

use super::Parsed;
use super::values::{MANY, file, size, whole};
use super::world_of_one_host::{OneHost, OneHostOptions};
use crate::backend::kernel;
use crate::base::sweep::{Step, Sweep};
use crate::base::{Bytes, Fault};
use crate::collective;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "tune",
    summary: "which algorithm of backend kernel is best for which size, into a table",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench tune …`, read and checked.
#[derive(Debug, Clone)]
pub struct TuneArgs {
    /// The collectives, by their one spelling.
    pub collectives: Vec<String>,
    /// The ranks.
    pub world: OneHost,
    /// Smallest and largest size, and the factor between two.
    pub sizes: (Bytes, Bytes, u32),
    /// Timed operations of each size.
    pub iterations: u32,
    /// Threads of a block that are tried beside what the backend takes by itself.
    pub block_threads: Vec<u32>,
    /// Where the table goes.
    pub output: String,
}

/// Measures which algorithm of backend `kernel` is best for which size, and writes the table
///
/// Each algorithm runs in processes of its own, with every result checked; the time is that of the
/// slowest rank. The table is for worlds of this shape on this GPU: give it to a run with
/// `--tuning FILE` or `NCCLBENCH_TUNING`.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench tune",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench tune [COLLECTIVE…] [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    /// What to tune for; all that backend `kernel` has where none is named
    #[arg(value_name = "COLLECTIVE")]
    collectives: Vec<String>,
    /// Smallest size in bytes; K, M and G are powers of 1024
    #[arg(short = 'b', long, value_name = "SIZE", default_value = "64", value_parser = size, allow_negative_numbers = true, help_heading = "Sizes and loops")]
    minbytes: Bytes,
    /// Largest size in bytes
    #[arg(short = 'e', long, value_name = "SIZE", default_value = "64M", value_parser = size, allow_negative_numbers = true, help_heading = "Sizes and loops")]
    maxbytes: Bytes,
    /// From one size to the next: multiply by this
    #[arg(short = 'f', long, value_name = "N", default_value = "4", value_parser = whole(2, MANY), allow_negative_numbers = true, help_heading = "Sizes and loops")]
    stepfactor: u32,
    /// Timed operations of each size
    #[arg(short = 'n', long, value_name = "N", default_value = "100", value_parser = whole(1, MANY), allow_negative_numbers = true, help_heading = "Sizes and loops")]
    iters: u32,
    /// Threads of a block to try beside what is taken by itself, separated by commas; `none` for none
    #[arg(
        long,
        value_name = "LIST",
        default_value = "128,256",
        help_heading = "Sizes and loops"
    )]
    block_threads: String,
    /// The table's file; one that is there is replaced
    #[arg(short = 'o', long, value_name = "FILE", default_value = "tuning.json", value_parser = file)]
    output: String,

    #[command(flatten)]
    world: OneHostOptions,
}

const AFTER: &str = "\
Examples:
  ncclbench tune --spawn 8                        one process for each of eight GPUs
  ncclbench tune allreduce -g 8 -e 16M -o box.json
  ncclbench allreduce --backend kernel --spawn 8 --tuning tuning.json

Exit codes:
  0  the table is written
  2  usage
  3  nothing could be measured, or the table not written
  5  an algorithm gave a wrong result; nothing is written
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let step = Step::Factor(options.stepfactor.into());
    Sweep::new(options.minbytes, options.maxbytes, step)?;
    Ok(Parsed::Tune(Box::new(TuneArgs {
        collectives: collectives(&options.collectives)?,
        sizes: (options.minbytes, options.maxbytes, options.stepfactor),
        iterations: options.iters,
        block_threads: block_threads(&options.block_threads)?,
        output: options.output,
        world: options.world.resolve()?,
    })))
}

fn collectives(words: &[String]) -> Result<Vec<String>, Fault> {
    let able = kernel::collectives();
    if words.is_empty() {
        return Ok(able.iter().map(|name| (*name).to_owned()).collect());
    }
    let mut names = Vec::new();
    for word in words {
        let name = collective::by_name(word)?.name();
        if !able.contains(&name) {
            return Err(Fault::usage(format!(
                "backend `kernel` has no `{name}`; it has: {}",
                able.join(", ")
            )));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn block_threads(text: &str) -> Result<Vec<u32>, Fault> {
    if text == "none" {
        return Ok(Vec::new());
    }
    let one = |word: &str| match word.trim().parse() {
        Ok(threads @ 32..=512) => Ok(threads),
        _ => Err(Fault::usage(format!(
            "invalid value `{word}` in `--block-threads`; expected numbers from 32 to 512, or `none`"
        ))),
    };
    text.split(',').map(one).collect()
}

/// The page of `help tune`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<TuneArgs, Fault> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match parse(&words)? {
            Parsed::Tune(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_that_the_backend_has_is_tuned_unless_some_is_named() {
        let args = read("ncclbench tune --spawn 4").unwrap();
        assert_eq!(args.collectives.len(), 5);
        assert_eq!(args.block_threads, [128, 256]);
        let args = read("ncclbench tune all_reduce -g 2 --block-threads none").unwrap();
        assert_eq!(args.collectives, ["allreduce"]);
        assert!(args.block_threads.is_empty());
        for wrong in ["gather", "--block-threads 16", "-b 8 -e 4", "--spawn 0"] {
            let fault = read(&format!("ncclbench tune {wrong}")).unwrap_err();
            assert_eq!(fault.kind, crate::base::Kind::Usage, "{wrong}");
        }
    }
}
