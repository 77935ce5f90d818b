//! `ncclbench hunt`: its options and its page of help.

use super::options::WorldOptions;
use super::values::{MANY, file, seconds, size, whole};
use super::{Parsed, registry, resolve};
use crate::backend::Backend;
use crate::base::{Bytes, Fault};
use crate::launcher;
use clap::{CommandFactory as _, Parser, ValueEnum};
use std::ffi::OsString;
use std::time::Duration;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "hunt",
    summary: "the slow node, rail or link, found in one job",
    help,
    parse: |argv, _| parse(argv),
};

/// What is held against what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Nodes: all their ranks at once, each with the rank of its rail.
    Node,
    /// Each node's rails apart.
    Rail,
    /// Every rank.
    Gpu,
}

/// Which pairs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rounds {
    /// All pairs up to 64 participants, above only some of them.
    Auto,
    /// Every pair: as many rounds as participants.
    Full,
    /// Three random partners for each, and more for those that look slow.
    Screen,
}

/// `ncclbench hunt …`, read and checked.
#[derive(Debug, Clone)]
pub struct HuntArgs {
    /// How the processes were started and how they meet.
    pub launch: launcher::Wish,
    /// Who carries the bytes.
    pub backend: &'static dyn Backend,
    /// What is held against what.
    pub by: By,
    /// Which pairs are measured.
    pub rounds: Rounds,
    /// Bytes that each rank sends in an exchange.
    pub size: Bytes,
    /// Timed exchanges of a round.
    pub iterations: u32,
    /// Those before the clock is read.
    pub warmups: u32,
    /// From which share on something counts as slow.
    pub slower: f64,
    /// Named sets of hosts, to be compared inside and between.
    pub groups: Vec<(String, Vec<String>)>,
    /// Numbers of nodes to be measured one after the other.
    pub scale: Vec<usize>,
    /// Write the matrix of pairs here.
    pub csv: Option<String>,
    /// Draw it here.
    pub picture: Option<String>,
    /// Print data instead of text.
    pub json: bool,
    /// Seed of random partners; none is another one each time.
    pub seed: Option<u64>,
    /// Two ranks on one GPU are allowed.
    pub allow_shared_gpu: bool,
    /// The NCCL library to load.
    pub nccl_lib: Option<String>,
    /// What to call this host instead of what it is.
    pub host_label: Option<String>,
    /// How long an exchange may go without progress; none is for ever.
    pub timeout_op: Option<Duration>,
    /// The command line, as given.
    pub argv: Vec<String>,
}

/// Finds the slow node, rail or link in one job
///
/// Every rank is a process. In each round every participant exchanges with one partner, all at once:
/// rank i of a node with rank i of the other. Then each node is measured alone, and its halves
/// together and apart. What looks slow is measured again with good partners, and only what is slow
/// again is named. The number of rounds grows with the number of nodes, not of pairs.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench hunt",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench hunt [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    /// What is held against what
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "node",
        value_enum,
        help_heading = "What is measured"
    )]
    by: By,
    /// Which pairs are measured
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "auto",
        value_enum,
        help_heading = "What is measured"
    )]
    rounds: Rounds,
    /// Bytes that each rank sends in an exchange; K, M and G are powers of 1024
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = size, allow_negative_numbers = true, help_heading = "What is measured")]
    size: Bytes,
    /// Timed exchanges of each round
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = whole(1, MANY), allow_negative_numbers = true, help_heading = "What is measured")]
    iters: u32,
    /// Untimed ones before
    #[arg(short = 'w', long = "warmup_iters", alias = "warmup-iters", value_name = "N", default_value = "3", value_parser = whole(0, MANY), allow_negative_numbers = true, help_heading = "What is measured")]
    warmup_iters: u32,
    /// From how many percent slower than usual on something is named
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = whole(1, 10000), allow_negative_numbers = true, help_heading = "What is measured")]
    limit: u32,
    /// Hosts that belong together, e.g. `--group spine1=gpu[01-08]`: pairs inside such a group are
    /// held against those between groups; may be repeated
    #[arg(long, value_name = "NAME=NODELIST", help_heading = "What is measured")]
    group: Vec<String>,
    /// Measure the first N nodes in a ring, for each of these numbers, and say where it bends
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        help_heading = "What is measured"
    )]
    scale: Vec<usize>,
    /// Seed of random partners [default: another one each time]
    #[arg(long, value_name = "N", help_heading = "What is measured")]
    seed: Option<u64>,

    #[command(flatten)]
    world: WorldOptions,

    /// Write the matrix of pairs, in GB/s, to this file
    #[arg(long, value_name = "FILE", value_parser = file, help_heading = "Results and limits")]
    csv: Option<String>,
    /// Draw the matrix as an SVG picture
    #[arg(long, value_name = "FILE", value_parser = file, help_heading = "Results and limits")]
    picture: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Results and limits")]
    json: bool,
    /// Seconds that each step of starting up may take
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, allow_negative_numbers = true, help_heading = "Results and limits")]
    timeout_init: Duration,
    /// Seconds that an exchange may go without progress; 0 is for ever
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds, allow_negative_numbers = true, help_heading = "Results and limits")]
    timeout_op: Duration,
}

const AFTER: &str = "\
Examples:
  srun -N64 --ntasks-per-node=8 --gpus-per-node=8 --cpus-per-task=24 ncclbench hunt
  srun -N64 --ntasks-per-node=8 … ncclbench hunt --by rail --csv pairs.csv --picture pairs.svg
  srun -N16 … ncclbench hunt --group a=gpu[01-08] --group b=gpu[09-16] --scale 1,2,4,8,16
  ncclbench hunt --backend host --spawn 4 --size 1M

Exit codes:
  0  nothing is slow
  2  usage: an option says what is not accepted
  3  environment: library, device, memory, launch, output
  4  other ranks: a timeout, a lost rank, a disagreement
  5  wrong data arrived
  6  a node, a rail or a pair is slow, and is named
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
            "`hunt` has one rank in each process: `-t 1 -g 1`, and a process for each GPU",
        ));
    }
    if options.size.0 == 0 || options.scale.contains(&0) {
        return Err(Fault::usage("`--size` and `--scale` must be above 0"));
    }
    let timeout_init = resolve::positive("--timeout-init", options.timeout_init)?;
    let groups: Result<Vec<_>, Fault> = options.group.iter().map(|text| group(text)).collect();
    Ok(Parsed::Hunt(Box::new(HuntArgs {
        backend: registry::backend(world.backend.as_deref())?,
        by: options.by,
        rounds: options.rounds,
        size: options.size,
        iterations: options.iters,
        warmups: options.warmup_iters,
        slower: f64::from(options.limit) / 100.0,
        groups: groups?,
        scale: options.scale,
        csv: options.csv,
        picture: options.picture,
        json: options.json,
        seed: options.seed,
        allow_shared_gpu: world.allow_shared_gpu,
        nccl_lib: world.nccl_lib.clone(),
        host_label: world.host_label.clone(),
        timeout_op: (!options.timeout_op.is_zero()).then_some(options.timeout_op),
        launch: resolve::launch(world, timeout_init)?,
        argv: argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
    })))
}

fn group(text: &str) -> Result<(String, Vec<String>), Fault> {
    let wrong = || {
        Fault::usage(format!(
            "invalid value `{text}` for `--group`; expected NAME=NODELIST, e.g. `a=gpu[01-08]`"
        ))
    };
    let (name, list) = text.split_once('=').ok_or_else(wrong)?;
    if name.trim().is_empty() || list.trim().is_empty() {
        return Err(wrong());
    }
    let hosts = launcher::node_list(list).map_err(|fault| Fault::usage(fault.message))?;
    Ok((name.trim().to_owned(), hosts))
}

/// The page of `help hunt`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<HuntArgs, Fault> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match parse(&words)? {
            Parsed::Hunt(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn groups_are_lists_of_nodes_and_what_is_none_is_refused() {
        let args = read("ncclbench hunt --group a=gpu[01-03] --group b=x,y --scale 1,2,4").unwrap();
        assert_eq!(args.groups[0].1, ["gpu01", "gpu02", "gpu03"]);
        assert_eq!((args.groups.len(), &args.scale[..]), (2, &[1, 2, 4][..]));
        for wrong in [
            "--group a",
            "--group =x",
            "-g 2",
            "--size 0",
            "--scale 0",
            "--limit 0",
            "--by rack",
        ] {
            let fault = read(&format!("ncclbench hunt {wrong}")).unwrap_err();
            assert_eq!(fault.kind, crate::base::Kind::Usage, "{wrong}");
        }
    }
}
