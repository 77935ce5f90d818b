//! `ncclbench pingpong` (cargo feature `mpi`): its options and its page of help.

use super::options::WorldOptions;
use super::values::{MANY, seconds, size, whole};
use super::{Parsed, registry, resolve};
use crate::backend::Backend;
use crate::base::sweep::{Step, Sweep};
use crate::base::{Bytes, Fault};
use crate::launcher;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::time::Duration;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "pingpong",
    summary: "latency and bandwidth between two ranks alone",
    help,
    parse,
};

/// `ncclbench pingpong …`, read and checked.
#[derive(Debug, Clone)]
pub struct PingpongArgs {
    /// How the processes were started and how they meet.
    pub launch: launcher::Wish,
    /// Who carries the messages.
    pub backend: &'static dyn Backend,
    /// Sizes of the messages.
    pub sweep: Sweep,
    /// Timed round trips and windows.
    pub iterations: u32,
    /// Those before the clock is read.
    pub warmups: u32,
    /// What to call this host instead of what it is.
    pub host_label: Option<String>,
    /// How long a message may go without progress; none is for ever.
    pub timeout_op: Option<Duration>,
    /// The command line, as given.
    pub argv: Vec<String>,
}

/// Measures two ranks alone: latency and one-way bandwidth of messages in host memory
///
/// As `osu_latency` and `osu_bw` do: latency is half a round trip; for the bandwidth 64 messages are
/// started together, all are waited for, and 4 bytes come back. Each rank is a process. What has
/// arrived is checked.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench pingpong",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench pingpong [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    /// Smallest message in bytes; K, M and G are powers of 1024
    #[arg(short = 'b', long, value_name = "SIZE", default_value = "1", value_parser = size, allow_negative_numbers = true, help_heading = "Sizes and loops")]
    minbytes: Bytes,
    /// Largest message in bytes
    #[arg(short = 'e', long, value_name = "SIZE", default_value = "4M", value_parser = size, allow_negative_numbers = true, help_heading = "Sizes and loops")]
    maxbytes: Bytes,
    /// From one size to the next: multiply by this
    #[arg(short = 'f', long, value_name = "N", default_value = "2", value_parser = whole(2, MANY), allow_negative_numbers = true, help_heading = "Sizes and loops")]
    stepfactor: u32,
    /// Timed round trips, and timed windows, of each size
    #[arg(short = 'n', long, value_name = "N", default_value = "1000", value_parser = whole(1, MANY), allow_negative_numbers = true, help_heading = "Sizes and loops")]
    iters: u32,
    /// Untimed ones before
    #[arg(short = 'w', long = "warmup_iters", alias = "warmup-iters", value_name = "N", default_value = "100", value_parser = whole(0, MANY), allow_negative_numbers = true, help_heading = "Sizes and loops")]
    warmup_iters: u32,

    #[command(flatten)]
    world: WorldOptions,

    /// Seconds that each step of starting up may take
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, allow_negative_numbers = true, help_heading = "Results and limits")]
    timeout_init: Duration,
    /// Seconds that a message may go without progress; 0 is for ever
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds, allow_negative_numbers = true, help_heading = "Results and limits")]
    timeout_op: Duration,
}

const AFTER: &str = "\
Examples:
  mpirun -n 2 ncclbench pingpong --launcher mpi
  ncclbench pingpong --backend host --spawn 2 -e 64K
";

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let options = match Options::try_parse_from(argv.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let world = options.world;
    if world.ngpus != 1 || world.nthreads != 1 {
        return Err(Fault::usage(
            "`pingpong` has one rank in each process: `-t 1 -g 1`",
        ));
    }
    let step = Step::Factor(options.stepfactor.into());
    let timeout_init = resolve::positive("--timeout-init", options.timeout_init)?;
    let words = argv.iter().map(|word| word.to_string_lossy().into_owned());
    Ok(Parsed::Pingpong(Box::new(PingpongArgs {
        backend: backend(world.backend.as_deref())?,
        sweep: Sweep::new(options.minbytes, options.maxbytes, step)?,
        iterations: options.iters,
        warmups: options.warmup_iters,
        host_label: world.host_label.clone(),
        timeout_op: (!options.timeout_op.is_zero()).then_some(options.timeout_op),
        launch: resolve::launch(world, timeout_init)?,
        argv: words.collect(),
    })))
}

/// `mpi` unless another one is named; one that has messages in host memory.
fn backend(name: Option<&str>) -> Result<&'static dyn Backend, Fault> {
    let name = name.unwrap_or("mpi");
    let found = registry::backend(Some(name))?;
    if ["mpi", "host"].contains(&found.name()) {
        return Ok(found);
    }
    Err(Fault::usage(format!(
        "`pingpong` does not run on `--backend {name}`; accepted: mpi, host"
    )))
}

/// The page of `help pingpong`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<PingpongArgs, Fault> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match parse(&words)? {
            Parsed::Pingpong(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pair_takes_what_mpi_measures_by_default_and_no_other_ranks_or_devices() {
        let args = read("ncclbench pingpong").unwrap();
        assert_eq!((args.backend.name(), args.iterations), ("mpi", 1000));
        assert_eq!(args.sweep.sizes().last(), Some(Bytes(4 << 20)));
        assert_eq!(
            read("ncclbench pingpong --backend host")
                .unwrap()
                .backend
                .name(),
            "host"
        );
        for wrong in [
            "--backend nccl",
            "--backend sim",
            "-g 2",
            "-t 2",
            "-d float",
            "-f 1",
        ] {
            let fault = read(&format!("ncclbench pingpong {wrong}")).unwrap_err();
            assert_eq!(fault.kind, crate::base::Kind::Usage, "{wrong}");
        }
    }
}
