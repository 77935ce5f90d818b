//! The options as clap reads them: names, headings, help. [`super::resolve`] makes `Args` of them.

use super::effort::{EffortOptions, iterations};
use super::kernel::KernelOptions;
use super::values::{
    MANY, MOST_PROCESSES, file, json_file, label, release, rendezvous, root, seconds, seed, size,
    switch, whole,
};
use crate::base::Bytes;
use crate::plan::Roots;
use crate::record::Release;
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
    after_help = super::help::after()
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
    pub path: super::path::RunOptions,
    #[command(flatten)]
    pub results: ResultOptions,
    #[command(flatten)]
    pub kernel: KernelOptions,

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
    /// Fail where the memory does not allow all sizes, instead of leaving the largest out
    #[arg(long)]
    pub no_clamp: bool,
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
    /// Timed iterations of each measurement, or `auto`: as many as the median needs (`--ci`,
    /// `--budget`)
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = iterations, allow_negative_numbers = true)]
    pub iters: u32,
    #[command(flatten)]
    pub effort: EffortOptions,
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
    /// Launch the whole timed loop N times as one CUDA graph; 0 is no graph
    #[arg(short = 'G', long, value_name = "N", default_value = "0", value_parser = whole(0, MANY), allow_negative_numbers = true)]
    pub cudagraph: u32,
    /// Wait within the timed loop: 0 no; 1 wait and barrier after each operation; 2 wait, no
    /// barrier; 3 wait and barrier after each iteration, not timed
    #[arg(short = 'z', long, value_name = "0-3", default_value = "0", value_parser = whole(0, 3), allow_negative_numbers = true)]
    pub blocking: u32,
    /// 1: enqueue on the null stream
    #[arg(short = 'y', long = "stream_null", alias = "stream-null", value_name = "0-1", default_value = "0", action = ArgAction::Set, value_parser = switch, allow_negative_numbers = true)]
    pub stream_null: bool,
    /// Buffers: 0 as they are; 1 registered with the communicator; 2 symmetric windows
    #[arg(short = 'R', long = "local_register", alias = "local-register", value_name = "0-2", default_value = "0", value_parser = whole(0, 2), allow_negative_numbers = true)]
    pub local_register: u32,
    /// Thread blocks that NCCL takes: 0 its default, 1 few, 2 none where copy engines do it
    /// [default: the communicator's own setting]
    #[arg(short = 'x', long = "cta_policy", alias = "cta-policy", value_name = "0-2", value_parser = whole(0, 2), allow_negative_numbers = true)]
    pub cta_policy: Option<u32>,
    /// Shift both buffers by this many elements, out of their alignment
    #[arg(short = 'u', long, value_name = "N", default_value = "0", value_parser = whole(0, MANY), allow_negative_numbers = true)]
    pub unalign: u32,
    /// nccl-tests' collectives of its own on the device API: only 0, none, is offered
    #[arg(short = 'D', long = "device_implementation", alias = "device-implementation", value_name = "0", default_value = "0", value_parser = whole(0, 4), allow_negative_numbers = true)]
    pub device_implementation: u32,
    /// Thread blocks of `-D`; of no effect without it
    #[arg(short = 'V', long = "device_cta_count", alias = "device-cta-count", value_name = "1-128", value_parser = whole(1, 128), allow_negative_numbers = true)]
    pub device_cta_count: Option<u32>,
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
    /// 1: every thread makes its communicators by itself
    #[arg(short = 'p', long = "parallel_init", alias = "parallel-init", value_name = "0-1", default_value = "0", action = ArgAction::Set, value_parser = switch, allow_negative_numbers = true)]
    pub parallel_init: bool,
    /// Who runs the collective; `--list` names all, the default first. `NCCLBENCH_BACKEND` names one too
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are switches of nccl-tests, each apart from the others"
)]
pub(super) struct ResultOptions {
    /// Write the run to this file too, as JSON lines; an existing file is not overwritten
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub output: Option<String>,
    /// 1: end each row of the table with the local time
    #[arg(short = 'S', long = "report_timestamps", alias = "report-timestamps", value_name = "0-1", default_value = "0", action = ArgAction::Set, value_parser = switch, allow_negative_numbers = true)]
    pub report_timestamps: bool,
    /// 1: show the first rank's time of enqueueing instead of the whole time
    #[arg(short = 'C', long = "report_cputime", alias = "report-cputime", value_name = "0-1", default_value = "0", action = ArgAction::Set, value_parser = switch, allow_negative_numbers = true)]
    pub report_cputime: bool,
    /// 1: time each iteration by the GPU's clock too, with columns for it
    #[arg(short = 'I', long = "per_iter_timing", alias = "per-iter-timing", value_name = "0-1", default_value = "0", action = ArgAction::Set, value_parser = switch, allow_negative_numbers = true)]
    pub per_iter_timing: bool,
    /// Iterations that the columns of `-I` leave out at the start
    #[arg(short = 'K', long = "per_iter_skip", alias = "per-iter-skip", value_name = "N", default_value = "0", value_parser = whole(0, MANY), allow_negative_numbers = true)]
    pub per_iter_skip: u32,
    /// 1: end with what the GPU's memory went into
    #[arg(short = 'M', long, value_name = "0-1", default_value = "0", action = ArgAction::Set, value_parser = switch, allow_negative_numbers = true)]
    pub memory: bool,
    /// Write nccl-tests' JSON to this file too, whose name ends in `.json`; if it exists, to
    /// `FILE.0`, `FILE.1` and so on
    #[arg(short = 'J', long = "output_file", alias = "output-file", value_name = "FILE", value_parser = json_file)]
    pub output_file: Option<String>,
    /// Print the first and last lines of the table as this release of nccl-tests does, from 2.13.0 on
    /// [default: 2.19.6]
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub compat: Option<Release>,
    /// Seconds that an operation may go without progress; 0 leaves it to `--timeout-op`. Under
    /// nccl-tests' names: seconds that all that is enqueued at a go may take; 0 is for ever
    #[arg(short = 'T', long, value_name = "SECONDS", default_value = "0", value_parser = whole(0, MANY), allow_negative_numbers = true)]
    pub timeout: u32,
    /// Seconds that each step of starting up may take
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout_init: Duration,
    /// Seconds that an operation may go without progress; 0 is for ever
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout_op: Duration,
}
