//! `ncclbench where`: its options, which are a run's launch options, and its page of help.

use super::options::WorldOptions;
use super::values::seconds;
use super::{Parsed, registry, resolve};
use crate::backend::Backend;
use crate::base::Fault;
use crate::launcher;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::time::Duration;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "where",
    summary: "how the processes were started and what each sees: run it first on a new cluster",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench where …`, read and checked.
#[derive(Debug, Clone)]
pub struct WhereArgs {
    /// How the processes were started and how they meet.
    pub launch: launcher::Wish,
    /// Engine threads of each process (`-t`).
    pub threads: u32,
    /// GPUs of each thread (`-g`).
    pub gpus: u32,
    /// The backend that a run would be given, if one was named.
    pub backend: Option<&'static dyn Backend>,
    /// What to call this host instead of what it is.
    pub host_label: Option<String>,
    /// Two ranks on one GPU are allowed.
    pub allow_shared_gpu: bool,
    /// The NCCL library to load.
    pub nccl_lib: Option<String>,
    /// Print data instead of text.
    pub json: bool,
    /// The command line, as given.
    pub argv: Vec<String>,
}

/// Prints how the processes were started, what each of them sees, and what is odd about it
///
/// Start it exactly as a run is to be started: under the same launcher, with the same options. All
/// processes meet as they would for a run, and the first prints one report; nothing is measured and
/// no communicator is opened. It needs no GPU and no driver, and says where there is none.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench where",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench where [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    #[command(flatten)]
    world: WorldOptions,

    /// Print the report as one JSON object
    #[arg(long, help_heading = "Results and limits")]
    json: bool,
    /// Seconds that each step of meeting may take
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, allow_negative_numbers = true, help_heading = "Results and limits")]
    timeout_init: Duration,
}

const AFTER: &str = "\
Examples:
  srun -N2 --ntasks-per-node=8 --gpus-per-node=8 --cpus-per-task=24 ncclbench where
  mpirun -n 16 ncclbench where --json
  ncclbench where --spawn 8

Exit codes:
  0  a run that is started the same way would find its ranks and devices
  2  usage: an option or a variable says what is not accepted
  3  such a run would be refused, for the reason that is printed
  4  the processes did not meet, or one was lost
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let timeout_init = resolve::positive("--timeout-init", options.timeout_init)?;
    let world = options.world;
    let named = world.backend.as_deref();
    Ok(Parsed::Where(Box::new(WhereArgs {
        threads: world.nthreads,
        gpus: world.ngpus,
        backend: named
            .map(|name| registry::backend(Some(name)))
            .transpose()?,
        host_label: world.host_label.clone(),
        allow_shared_gpu: world.allow_shared_gpu,
        nccl_lib: world.nccl_lib.clone(),
        json: options.json,
        launch: resolve::launch(world, timeout_init)?,
        argv: argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
    })))
}

/// The page of `help where`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}
