//! The options as clap reads them: names, headings, help. [`super::resolve`] makes `Args` of them.

use super::values::{
    MANY, MOST_PROCESSES, file, label, rendezvous, root, seconds, seed, size, whole,
};
use crate::base::Bytes;
use crate::plan::Roots;
use clap::{ArgAction, Args, Parser};
use std::time::Duration;

/// Measures and checks collective communication between GPUs
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench",
    version,
    disable_version_flag = true,
    disable_help_subcommand = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench COLLECTIVE [OPTIONS]",
    after_help = super::help::AFTER
)]
pub(super) struct Options {
    /// What to measure, e.g. `allreduce`; `--list` names all. nccl-tests' names, such as
    /// `all_reduce` and `all_reduce_perf`, are accepted too
    #[arg(value_name = "COLLECTIVE", hide_default_value = true)]
    pub collective: Option<String>,

    #[command(flatten)]
    pub sizes: SizeOptions,
    #[command(flatten)]
    pub loops: LoopOptions,
    #[command(flatten)]
    pub world: WorldOptions,
    #[command(flatten)]
    pub results: ResultOptions,

    /// List collectives, datatypes, reductions, backends and launchers
    #[arg(long, help_heading = "Information")]
    pub list: bool,
    /// Print the plan, one line for each measurement, and end
    #[arg(long, help_heading = "Information")]
    pub dry_run: bool,
    /// Print the version
    #[arg(long, action = ArgAction::Version, help_heading = "Information")]
    pub version: Option<bool>,
}

/// What is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sizes and data")]
pub(super) struct SizeOptions {
    /// Smallest size in bytes; K, M and G are powers of 1024
    #[arg(short = 'b', long, value_name = "SIZE", default_value = "32M", value_parser = size, allow_negative_numbers = true)]
    pub minbytes: Bytes,
    /// Largest size in bytes
    #[arg(short = 'e', long, value_name = "SIZE", default_value = "32M", value_parser = size, allow_negative_numbers = true)]
    pub maxbytes: Bytes,
    /// From one size to the next: multiply by this. 1 means: add `--stepbytes`
    /// [default: 2, or 1 where `--stepbytes` is given]
    #[arg(short = 'f', long, value_name = "N", value_parser = whole(1, MANY), allow_negative_numbers = true)]
    pub stepfactor: Option<u32>,
    /// From one size to the next: add this many bytes; a factor above 1 wins [default: 1M]
    #[arg(short = 'i', long, value_name = "SIZE", value_parser = size, allow_negative_numbers = true)]
    pub stepbytes: Option<Bytes>,
    /// Element type, or `all`
    #[arg(short = 'd', long, value_name = "TYPE", default_value = "float")]
    pub datatype: String,
    /// Reduction: sum, prod, max, min, avg, mulsum or `all`
    #[arg(short = 'o', long, value_name = "OP", default_value = "sum")]
    pub op: String,
    /// Root of collectives that have one: a rank, or -1 for all ranks one after the other
    #[arg(short = 'r', long, value_name = "RANK", default_value = "0", value_parser = root, allow_hyphen_values = true)]
    pub root: Roots,
}

/// How it is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub(super) struct LoopOptions {
    /// Timed iterations of each measurement
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = whole(1, MANY), allow_negative_numbers = true)]
    pub iters: u32,
    /// Untimed operations for each warm-up size
    #[arg(short = 'w', long = "warmup_iters", alias = "warmup-iters", value_name = "N", default_value = "1", value_parser = whole(0, MANY), allow_negative_numbers = true)]
    pub warmup_iters: u32,
    /// Operations enqueued as one group in each iteration
    #[arg(short = 'm', long = "agg_iters", alias = "agg-iters", value_name = "N", default_value = "1", value_parser = whole(1, MANY), allow_negative_numbers = true)]
    pub agg_iters: u32,
    /// Rounds of checking the result of each measurement; 0 checks nothing
    #[arg(short = 'c', long, value_name = "N", default_value = "1", value_parser = whole(0, MANY), allow_negative_numbers = true)]
    pub check: u32,
    /// How often to run the whole sweep; 0 is for ever
    #[arg(short = 'N', long = "run_cycles", alias = "run-cycles", value_name = "N", default_value = "1", value_parser = whole(0, MANY), allow_negative_numbers = true)]
    pub run_cycles: u32,
    /// Time shown: 0 the first rank's, 1 mean, 2 shortest, 3 longest of all ranks
    #[arg(short = 'a', long, value_name = "0-3", default_value = "1", value_parser = whole(0, 3), allow_negative_numbers = true)]
    pub average: u32,
    /// Wait within the timed loop: 0 no; 1 wait and barrier after each operation; 2 wait, no
    /// barrier; 3 wait and barrier after each iteration, not timed
    #[arg(short = 'z', long, value_name = "0-3", default_value = "0", value_parser = whole(0, 3), allow_negative_numbers = true)]
    pub blocking: u32,
    /// Seed of the data and of what is simulated [default: another one each time; 1 on `sim`]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
}

/// Who takes part.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ranks, devices and launch")]
pub(super) struct WorldOptions {
    /// GPUs driven by each thread; ranks = processes x threads x GPUs
    #[arg(short = 'g', long, value_name = "N", default_value = "1", value_parser = whole(1, 4096), allow_negative_numbers = true)]
    pub ngpus: u32,
    /// Threads of each process
    #[arg(short = 't', long, value_name = "N", default_value = "1", value_parser = whole(1, 4096), allow_negative_numbers = true)]
    pub nthreads: u32,
    /// Who runs the collective; `--list` names all, the default first
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// The NCCL library to load, instead of the one that the loader finds
    #[arg(long, value_name = "FILE", value_parser = label)]
    pub nccl_lib: Option<String>,
    /// Start N processes on this host
    #[arg(long, value_name = "N", value_parser = whole(1, 4096), allow_negative_numbers = true, conflicts_with_all = ["launcher", "rank", "world", "rendezvous"])]
    pub spawn: Option<u32>,
    /// Which launcher started the processes, instead of finding out; `--list` names all
    #[arg(long, value_name = "NAME", conflicts_with = "rank")]
    pub launcher: Option<String>,
    /// Index of this process, with `--world` and `--rendezvous`
    #[arg(long, value_name = "N", value_parser = whole(0, MANY), allow_negative_numbers = true, requires_all = ["world", "rendezvous"])]
    pub rank: Option<u32>,
    /// Number of processes
    #[arg(long, value_name = "N", value_parser = whole(1, MOST_PROCESSES), allow_negative_numbers = true)]
    pub world: Option<u32>,
    /// Where process 0 listens, or `file:///FOLDER`: a folder that all processes share
    #[arg(long, value_name = "HOST:PORT", value_parser = rendezvous)]
    pub rendezvous: Option<String>,
    /// File with a secret that all processes share
    #[arg(long, value_name = "FILE", value_parser = label)]
    pub secret_file: Option<String>,
    /// The libpmix to load, instead of the one that the loader finds
    #[arg(long, value_name = "FILE", value_parser = label)]
    pub pmix_lib: Option<String>,
    /// Take this for the identity of this host
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub host_label: Option<String>,
    /// Allow several ranks on one GPU
    #[arg(long)]
    pub allow_shared_gpu: bool,
}

/// What is written, and when to give up.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results and limits")]
pub(super) struct ResultOptions {
    /// Write the run to this file too, as JSON lines; an existing file is not overwritten
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub output: Option<String>,
    /// 1: end each row of the table with the local time
    #[arg(short = 'S', long = "report_timestamps", alias = "report-timestamps", value_name = "0-1", default_value = "0", value_parser = whole(0, 1), allow_negative_numbers = true)]
    pub report_timestamps: u32,
    /// Seconds that an operation may go without progress; 0 leaves it to `--timeout-op`
    #[arg(short = 'T', long, value_name = "SECONDS", default_value = "0", value_parser = whole(0, MANY), allow_negative_numbers = true)]
    pub timeout: u32,
    /// Seconds that each step of starting up may take
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout_init: Duration,
    /// Seconds that an operation may go without progress; 0 is for ever
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout_op: Duration,
}
