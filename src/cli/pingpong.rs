//! `ncclbench pingpong`: its options and its page of help.

use super::options::WorldOptions;
use super::values::{MANY, label, seconds, size, whole};
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
    summary: "latency and bandwidth of two processes: NCCL, TCP, libfabric",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench pingpong …`, read and checked.
#[derive(Debug, Clone)]
pub struct PingpongArgs {
    /// How the processes were started and how they meet.
    pub launch: launcher::Wish,
    /// Who carries the messages.
    pub backend: &'static dyn Backend,
    /// Libfabric's own program instead of a backend.
    pub fabric: Option<FabricWish>,
    /// Two ranks on one GPU are allowed.
    pub allow_shared_gpu: bool,
    /// The NCCL library to load.
    pub nccl_lib: Option<String>,
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

/// How `fi_pingpong` is to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FabricWish {
    /// `efa`, `tcp`.
    pub provider: String,
    /// `efa`: of the provider's fabrics the one that has two-way sends.
    pub fabric: Option<String>,
    /// Round trips of each size.
    pub iterations: u32,
    /// The one size; none is all that it knows.
    pub size: Option<u64>,
    /// How long it may take.
    pub limit: Duration,
}

/// Measures two processes alone: latency and one-way bandwidth
///
/// By a backend's sends and receives, as `osu_latency` and `osu_bw` do: latency is half a round trip;
/// for the bandwidth 64 messages are started together, all are waited for, and 4 bytes come back;
/// what has arrived is checked. `nccl` goes from GPU to GPU, `host` by TCP between hosts and by
/// shared memory within one. Or, with `--provider`, by libfabric's own `fi_pingpong` between the two
/// hosts, which needs no GPU.
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

    /// Run libfabric's `fi_pingpong` with this provider: `efa`, `tcp`, `tcp;ofi_rxm`; of the sizes
    /// one is taken where `-b` and `-e` are the same, else those that it knows
    #[arg(long, value_name = "NAME", value_parser = label, help_heading = "By libfabric")]
    provider: Option<String>,
    /// Its fabric [default: `efa` with the provider `efa`, whose other one has no two-way sends]
    #[arg(long, value_name = "NAME", value_parser = label, requires = "provider", help_heading = "By libfabric")]
    fabric: Option<String>,
    /// Seconds that it may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true, help_heading = "By libfabric")]
    timeout_fabric: Duration,

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
  srun -N2 --ntasks-per-node=1 --gpus-per-node=1 ncclbench pingpong          GPU to GPU, by NCCL
  srun -N2 --ntasks-per-node=1 ncclbench pingpong --backend host             by TCP
  srun -N2 --ntasks-per-node=1 ncclbench pingpong --provider efa              fi_pingpong on EFA
  mpirun -n 2 ncclbench pingpong --backend mpi --launcher mpi                (a build with `mpi`)
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
    let timeout_fabric = resolve::positive("--timeout-fabric", options.timeout_fabric)?;
    let fabric = options.provider.map(|provider| FabricWish {
        fabric: options
            .fabric
            .or_else(|| (provider == "efa").then(|| "efa".to_owned())),
        provider,
        iterations: options.iters,
        size: (options.minbytes == options.maxbytes).then_some(options.minbytes.0),
        limit: timeout_fabric,
    });
    let words = argv.iter().map(|word| word.to_string_lossy().into_owned());
    Ok(Parsed::Pingpong(Box::new(PingpongArgs {
        backend: backend(world.backend.as_deref())?,
        fabric,
        allow_shared_gpu: world.allow_shared_gpu,
        nccl_lib: world.nccl_lib.clone(),
        sweep: Sweep::new(options.minbytes, options.maxbytes, step)?,
        iterations: options.iters,
        warmups: options.warmup_iters,
        host_label: world.host_label.clone(),
        timeout_op: (!options.timeout_op.is_zero()).then_some(options.timeout_op),
        launch: resolve::launch(world, timeout_init)?,
        argv: words.collect(),
    })))
}

/// One that has messages between two ranks; in a build for comparing with MPI that is the default.
fn backend(name: Option<&str>) -> Result<&'static dyn Backend, Fault> {
    let usual = cfg!(feature = "mpi").then_some("mpi");
    let found = registry::backend(name.or(usual))?;
    if ["mpi", "host", "nccl"].contains(&found.name()) {
        return Ok(found);
    }
    Err(Fault::usage(format!(
        "`pingpong` does not run on `--backend {}`; accepted: nccl, host, mpi",
        found.name()
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
    fn a_pair_takes_one_rank_a_process_and_no_backend_without_messages() {
        let args = read("ncclbench pingpong --backend host").unwrap();
        assert_eq!((args.backend.name(), args.iterations), ("host", 1000));
        assert_eq!(
            (args.sweep.sizes().last(), args.fabric),
            (Some(Bytes(4 << 20)), None)
        );
        for wrong in [
            "--backend sim",
            "-g 2",
            "-t 2",
            "-d float",
            "-f 1",
            "--fabric efa",
        ] {
            let fault = read(&format!("ncclbench pingpong {wrong}")).unwrap_err();
            assert_eq!(fault.kind, crate::base::Kind::Usage, "{wrong}");
        }
    }

    #[test]
    fn on_efa_the_fabric_with_two_way_sends_is_asked_for() {
        let fabric = |line: &str| {
            read(&format!("ncclbench pingpong {line}"))
                .unwrap()
                .fabric
                .unwrap()
        };
        let efa = fabric("--provider efa -b 64 -e 64 -n 500");
        assert_eq!(
            (efa.fabric.as_deref(), efa.size, efa.iterations),
            (Some("efa"), Some(64), 500)
        );
        let tcp = fabric("--provider tcp;ofi_rxm");
        assert_eq!(
            (tcp.provider.as_str(), tcp.fabric, tcp.size),
            ("tcp;ofi_rxm", None, None)
        );
    }
}
