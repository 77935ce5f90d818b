//! `ncclbench ladder`: its options and its page of help.

use super::Parsed;
use super::values::{MANY, whole};
use super::world_of_one_host::{OneHost, OneHostOptions};
use crate::base::Fault;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "ladder",
    summary: "what a small operation's latency is made of, step by step",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench ladder …`, read and checked.
#[derive(Debug, Clone)]
pub struct LadderArgs {
    /// The ranks.
    pub world: OneHost,
    /// Timed operations of a rung.
    pub iterations: u32,
    /// Operations in a graph.
    pub graph_operations: u32,
    /// Whether NCCL is measured too.
    pub nccl: bool,
}

/// Says what the latency of a small all-reduce is made of, step by step
///
/// Each rung does a little more than the one before: launching a kernel that does nothing, a flag
/// within a GPU, a flag to the next GPU, a barrier of all, an all-reduce of 8 bytes by packets and by
/// reading, and NCCL's. Once enqueued one by one on a stream, once replayed from a CUDA graph. A rung
/// that stands out says where to look: a slow launch, a slow link, a slow host.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench ladder",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench ladder [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    /// Timed operations of each rung
    #[arg(short = 'n', long, value_name = "N", default_value = "1000", value_parser = whole(1, MANY), allow_negative_numbers = true)]
    iters: u32,
    /// Operations in a graph, which is launched as often as makes as many operations
    #[arg(long, value_name = "N", default_value = "50", value_parser = whole(1, MANY), allow_negative_numbers = true)]
    graph_operations: u32,
    /// Leave NCCL out
    #[arg(long)]
    no_nccl: bool,

    #[command(flatten)]
    world: OneHostOptions,
}

const AFTER: &str = "\
Examples:
  ncclbench ladder -g 8
  ncclbench ladder --spawn 8 --no-nccl

Times are microseconds per operation, the mean over ranks.

Exit codes:
  0  the ladder is printed; a rung that cannot be measured here has `-` and a note
  2  usage
  3  not even an empty kernel can be launched
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    Ok(Parsed::Ladder(Box::new(LadderArgs {
        world: options.world.resolve()?,
        iterations: options.iters,
        graph_operations: options.graph_operations.min(options.iters),
        nccl: !options.no_nccl,
    })))
}

/// The page of `help ladder`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
