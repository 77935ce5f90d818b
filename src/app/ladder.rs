//! `ncclbench ladder`: a run for each rung, and the table of what each adds.

use super::runs;
use super::runs::Runs;
use super::say;
use super::tell;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Placement;
use crate::cli::LadderArgs;
use crate::record::Run;
use std::fmt::Write as _;

/// A rung: its name, and what runs it.
struct Rung {
    name: &'static str,
    backend: &'static str,
    algo: Option<&'static str>,
    /// Whether its result can be checked.
    checked: bool,
    adds: &'static str,
}

const RUNGS: [Rung; 7] = [
    rung("empty kernel", Some("nothing"), false, "launching"),
    rung(
        "local flag",
        Some("local-flag"),
        false,
        "a flag through the GPU's own memory",
    ),
    rung(
        "peer flag",
        Some("peer-flag"),
        false,
        "a flag to the next rank, and waiting for the one before",
    ),
    rung(
        "barrier",
        Some("barrier"),
        false,
        "flags to and from everybody",
    ),
    rung(
        "ll 8 B",
        Some("ll"),
        true,
        "an all-reduce whose data is the flag",
    ),
    rung(
        "oneshot 8 B",
        Some("oneshot"),
        true,
        "an all-reduce between two barriers",
    ),
    Rung {
        backend: "nccl",
        ..rung("NCCL 8 B", None, true, "the library's all-reduce")
    },
];

const fn rung(
    name: &'static str,
    algo: Option<&'static str>,
    checked: bool,
    adds: &'static str,
) -> Rung {
    Rung {
        name,
        backend: "kernel",
        algo,
        checked,
        adds,
    }
}

/// Measures the ladder; gives the exit code.
pub(super) fn run(args: &LadderArgs, env: &Env) -> u8 {
    match climb(args, env) {
        Ok(text) => tell(&text),
        Err(fault) => super::refuse(&fault),
    }
}

fn climb(args: &LadderArgs, env: &Env) -> Result<String, Fault> {
    let mut runs = Runs::new(env)?;
    let mut text = format!(
        "# {} ranks; us per operation, the mean over ranks\n",
        args.world.ranks
    );
    let _ = writeln!(
        text,
        "{:<14} {:>9} {:>9}  what is added",
        "rung", "stream", "graph"
    );
    for (index, rung) in RUNGS.iter().enumerate() {
        if rung.backend == "nccl" && !args.nccl {
            continue;
        }
        let stream = time(&mut runs, &words(args, rung, false));
        if index == 0 {
            stream.as_ref().map_err(Clone::clone)?;
        }
        let graph = time(&mut runs, &words(args, rung, true));
        let cells = [stream, graph].map(|time| cell(rung, time));
        let _ = writeln!(
            text,
            "{:<14} {:>9} {:>9}  {}",
            rung.name, cells[0], cells[1], rung.adds
        );
    }
    Ok(text)
}

/// A rung that cannot be measured here is said to be so.
fn cell(rung: &Rung, time: Result<f64, Fault>) -> String {
    match time {
        Ok(us) => format!("{us:.2}"),
        Err(fault) => {
            say(&format!("note: {} is left out: {fault}", rung.name));
            "-".to_owned()
        }
    }
}

fn words(args: &LadderArgs, rung: &Rung, graph: bool) -> Vec<String> {
    let mut words = vec!["allreduce".to_owned()];
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    add("--backend", rung.backend.to_owned());
    if let Some(algo) = rung.algo {
        add("--algo", algo.to_owned());
    }
    add("-b", "8".to_owned());
    add("-e", "8".to_owned());
    add("-c", u32::from(rung.checked).to_string());
    if graph {
        add("-n", args.graph_operations.to_string());
        let launches = args.iterations.div_ceil(args.graph_operations);
        add("-G", launches.to_string());
    } else {
        add("-n", args.iterations.to_string());
    }
    words.extend(args.world.words.iter().cloned());
    words
}

fn time(runs: &mut Runs, words: &[String]) -> Result<f64, Fault> {
    let run: Run = runs.run(words)?;
    let row = run
        .rows
        .iter()
        .find(|row| row.case.placement == Placement::OutOfPlace);
    let row = row.ok_or_else(|| Fault::unsupported("nothing was measured"))?;
    match runs::times(row) {
        Ok((_, mean_us)) => Ok(mean_us),
        Err(reason) => Err(Fault::unsupported(reason.to_owned())),
    }
}
