//! `ncclbench sweep`: its options, and where its configuration comes from.

mod config;
mod document;
mod part;
mod profiles;

pub use config::{Config, StepArgs, gate_of};

use super::options::WorldOptions;
use super::path::RunOptions;
use super::values::{file, seconds, seed, whole};
use super::{Args, Guise, Parsed, registry, resolve};
use crate::base::{Env, Fault};
use crate::digest::Average;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::time::Duration;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "sweep",
    summary: "several collectives on one communicator, as a configuration says; kept and compared",
    help,
    parse,
};

/// Where runs are kept, unless something else is asked for.
const STORE: &str = "results";

/// What a sweep is told besides what a measurement is.
#[derive(Debug, Clone)]
pub struct SweepArgs {
    /// What the configuration says.
    pub config: Config,
    /// The folder in which the run is kept.
    pub store: String,
    /// Whether to go on where an earlier run was interrupted.
    pub resume: Option<Resume>,
}

/// Which interrupted run to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// The newest of this sweep in the store.
    Newest,
    /// This file.
    File(String),
}

/// Measures several collectives, as a configuration says, on one communicator, and keeps the run
///
/// The run is kept in the store as it goes, so that an interrupted one can be resumed. At the end it
/// is compared with the baseline, where there is one, and the exit code says what came of it.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench sweep",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench sweep CONFIG [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    /// The configuration: a file, or the name of a profile that is built in
    #[arg(value_name = "CONFIG")]
    config: Option<String>,

    #[command(flatten)]
    world: WorldOptions,
    #[command(flatten)]
    path: RunOptions,

    /// Folder in which the run is kept [default: `NCCLBENCH_STORE`, else `results`]
    #[arg(long, value_name = "DIR", value_parser = file, help_heading = "Results and limits")]
    store: Option<String>,
    /// Go on where an interrupted run of this sweep ended: the newest in the store, or FILE. Rows that
    /// it has are not measured again; without an interrupted run the sweep starts from the beginning
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = "Results and limits")]
    resume: Option<String>,
    /// Seconds that each step of starting up may take
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, allow_negative_numbers = true, help_heading = "Results and limits")]
    timeout_init: Duration,
    /// Seconds that an operation may go without progress; 0 is for ever
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds, allow_negative_numbers = true, help_heading = "Results and limits")]
    timeout_op: Duration,
    /// Time shown: 0 the first rank's, 1 mean, 2 shortest, 3 longest of all ranks
    #[arg(short = 'a', long, value_name = "0-3", default_value = "1", value_parser = whole(0, 3), allow_negative_numbers = true, help_heading = "Results and limits")]
    average: u32,
    /// 1: end each row of the tables with the local time
    #[arg(short = 'S', long = "report_timestamps", alias = "report-timestamps", value_name = "0-1", default_value = "0", value_parser = whole(0, 1), allow_negative_numbers = true, help_heading = "Results and limits")]
    report_timestamps: u32,
    /// Seed of the data and of what is simulated [default: another one each time; 1 on `sim`]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true, help_heading = "Results and limits")]
    seed: Option<u64>,

    /// Print the plan with an estimate of time and memory, and end
    #[arg(long, help_heading = "Information")]
    dry_run: bool,
    /// List the profiles that are built in
    #[arg(long, help_heading = "Information")]
    list: bool,
    /// Print a built-in profile, to start a configuration of your own from, and end
    #[arg(long, help_heading = "Information")]
    print: bool,
}

const AFTER: &str = "\
Examples:
  ncclbench sweep quick -g 8                      a profile that is built in, 8 GPUs of this host
  srun -N2 --ntasks-per-node=8 ncclbench sweep bench-configs/nightly.toml --store /shared/results
  ncclbench sweep nightly --dry-run --world 16    what it would measure, how long, how much memory
  ncclbench sweep nightly --resume                goes on after an interruption
  ncclbench sweep quick --print > mine.toml       a configuration to start from

The keys of a configuration are explained in docs/sweep.md.

Exit codes:
  0  passed, or there was nothing to compare with
  1  slower than the baseline by more than the limit
  2  usage: an option, or the configuration (file, line and key are named)
  3  environment: library, device, memory, launch, output; or nothing could be measured
  4  other ranks: a timeout, a lost rank, a disagreement; or a signal ended the run
  5  wrong data
  6  a floor, the required path or the doctor's examination was not passed
  7  inconclusive: more launches are needed to tell
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString], env: &Env) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    if options.list {
        return Ok(Parsed::Text(profiles::list()));
    }
    let Some(word) = &options.config else {
        return Err(no_config());
    };
    let (name, text) = profiles::find(word)?;
    if options.print {
        return Ok(Parsed::Text(text));
    }
    let config = config::read(&name, &text)?;
    let words = argv.iter().map(|word| word.to_string_lossy().into_owned());
    let args = args(options, config, words.collect(), env)?;
    Ok(Parsed::Sweep(Box::new(args)))
}

fn no_config() -> Fault {
    Fault::usage(format!(
        "no configuration was named; expected a file, or a profile: {}",
        profiles::names().join(", ")
    ))
    .hint("run `ncclbench sweep --help` for the whole command line")
}

fn args(options: Options, config: Config, argv: Vec<String>, env: &Env) -> Result<Args, Fault> {
    let timeout_init = resolve::positive("--timeout-init", options.timeout_init)?;
    let plan = config.steps[0].parts[0].clone();
    let from_env = env.get("NCCLBENCH_STORE").filter(|dir| !dir.is_empty());
    let store = options.store.as_deref().or(from_env).unwrap_or(STORE);
    let resume = options.resume.map(|file| match file.as_str() {
        "" => Resume::Newest,
        _ => Resume::File(file),
    });
    let backend = registry::backend_of(options.world.backend.as_deref(), env)?;
    let mut path = options.path;
    let required = config.path.map(|gate| gate.name().to_owned());
    path.require_path = path.require_path.or(required);
    Ok(Args {
        path: path.wish(backend.name())?,
        guise: Guise::Own,
        plan,
        split: None,
        min_bw_gbps: None,
        threads: options.world.nthreads,
        gpus: options.world.ngpus,
        average: Average::ALL[options.average as usize],
        table_release: None,
        timestamps: options.report_timestamps != 0,
        kernel: crate::backend::KernelWish::default(),
        backend,
        allow_shared_gpu: options.world.allow_shared_gpu,
        no_clamp: false,
        nccl_lib: options.world.nccl_lib.clone(),
        host_label: options.world.host_label.clone(),
        launch: resolve::launch(options.world, timeout_init)?,
        output: None,
        json: None,
        timeout_init,
        timeout_op: resolve::op_limit(0, options.timeout_op, &Guise::Own),
        timeout_batch: None,
        seed: options.seed,
        dry_run: options.dry_run,
        sweep: Some(SweepArgs {
            config,
            store: store.to_owned(),
            resume,
        }),
        remarks: Vec::new(),
        argv,
    })
}

/// The page of `help sweep`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
