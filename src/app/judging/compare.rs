//! `ncclbench compare`.

use super::launches::Side;
use super::most_severe;
use crate::app::say;
use crate::app::tell;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::baseline::Question;
use crate::baseline::Rules;
use crate::baseline::fingerprint;
use crate::baseline::judge;
use crate::cli;
use crate::cli::CompareArgs;
use crate::record::Floor;
use crate::record::Limits;
use crate::record::Verdict;
use crate::record::baseline::BaselineEntry;
use crate::record::baseline::Launch;
use crate::record::verdict::Decision;
use crate::record::verdict::GateResult;
use crate::report::verdict as text;
use crate::store::Store;

/// Compares; gives the exit code.
pub(in crate::app) fn run(args: &CompareArgs, env: &Env) -> u8 {
    let store = Store::at(cli::store_folder(args.store.as_deref(), env));
    match compared(&store, args) {
        Ok(code) => code,
        Err(fault) => crate::app::refuse(&fault),
    }
}

fn compared(store: &Store, args: &CompareArgs) -> Result<u8, Fault> {
    let now = Side::read(store, &args.runs, args.force)?;
    let baseline = match (&args.baseline, args.against.as_slice()) {
        (Some(name), _) => Some(store.baseline(name)?),
        (None, []) => in_force(store, &now)?,
        (None, against) => Some(by_hand(&Side::read(store, against, args.force)?)),
    };
    let baseline = baseline.ok_or_else(|| no_baseline(store, &now))?;
    let wish = Wish {
        limits: args.limits,
        floors: args.gate.as_deref().map(floors_of).transpose()?,
        force: args.force,
    };
    let verdict = verdict(store, &now, &baseline, &wish)?;
    let printed = if args.json {
        tell(&super::json(&verdict)?)
    } else {
        tell(&text::text(&verdict, args.all))
    };
    Ok(most_severe(&[code(&verdict, &now.launches), printed]))
}

/// What a person wishes besides what the runs say.
#[derive(Debug, Clone)]
struct Wish {
    limits: Limits,
    /// Floors in the place of the sweep's.
    floors: Option<Vec<Floor>>,
    force: bool,
}

fn verdict(
    store: &Store,
    now: &Side,
    baseline: &BaselineEntry,
    wish: &Wish,
) -> Result<Verdict, Fault> {
    let (earlier, faults) = store.launches_of(&fingerprint::digest(&now.fingerprint))?;
    for fault in faults {
        say(&format!("warning: left out of the history: {fault}"));
    }
    let sweep = now.header.sweep.as_ref();
    let question = Question {
        baseline,
        now: &now.launches,
        fingerprint: &now.fingerprint,
        earlier: &before(earlier, now),
        floors: wish.floors.as_deref().unwrap_or_else(|| floors(now)),
        force: wish.force,
    };
    let theirs = sweep.map_or_else(Limits::default, |sweep| sweep.limits);
    judge(&question, &Rules::with(either(wish.limits, theirs)))
}

/// The floors of a gate's file.
fn floors_of(path: &str) -> Result<Vec<Floor>, Fault> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Fault::new(Kind::Missing, error.to_string()).while_doing(format!("reading `{path}`"))
    })?;
    cli::gate_of(path, &text)
}

fn floors(now: &Side) -> &[Floor] {
    now.header.sweep.as_ref().map_or(&[], |sweep| &sweep.gate)
}

/// What was measured after the judged launches is no history of theirs.
fn before(mut earlier: Vec<Launch>, now: &Side) -> Vec<Launch> {
    let last = now
        .launches
        .last()
        .map_or("", |launch| launch.started.as_str());
    earlier.retain(|launch| launch.started.as_str() <= last);
    earlier
}

fn either(said: Limits, theirs: Limits) -> Limits {
    Limits {
        latency: said.latency.or(theirs.latency),
        middle: said.middle.or(theirs.middle),
        bandwidth: said.bandwidth.or(theirs.bandwidth),
    }
}

/// The baseline with the runs' fingerprint.
fn in_force(store: &Store, now: &Side) -> Result<Option<BaselineEntry>, Fault> {
    let (found, faults) = store.baseline_for(&now.fingerprint)?;
    for fault in faults {
        say(&format!("warning: {fault}"));
    }
    Ok(found)
}

fn no_baseline(store: &Store, now: &Side) -> Fault {
    let digest = fingerprint::digest(&now.fingerprint);
    let text = format!("no baseline in force has the fingerprint {digest} of these runs");
    Fault::new(Kind::Missing, text)
        .detail(format!("looked for it in `{}`", store.root().display()))
        .hint("make one with `ncclbench baseline accept --name NAME --reason TEXT RUN…`")
        .hint("compare with one that differs by `--baseline NAME --force`, or with runs by `--against RUN`")
}

/// Runs in the place of a baseline.
fn by_hand(side: &Side) -> BaselineEntry {
    let names: Vec<&str> = side
        .launches
        .iter()
        .map(|launch| launch.run.as_str())
        .collect();
    BaselineEntry {
        schema: crate::record::baseline::BASELINE_SCHEMA,
        name: names.join(", "),
        entry: 0,
        retired: false,
        author: "nobody".to_owned(),
        at: side.header.started.clone(),
        reason: "runs that were given in the place of a baseline".to_owned(),
        fingerprint: side.fingerprint.clone(),
        launches: side.launches.clone(),
    }
}

/// The exit code of a verdict.
fn code(verdict: &Verdict, launches: &[Launch]) -> u8 {
    let decided = match verdict.decision {
        Decision::Pass => 0,
        Decision::Regress => 1,
        Decision::Inconclusive => 7,
    };
    most_severe(&[decided, gate_code(&verdict.gate), wrong_code(launches)])
}

fn gate_code(results: &[GateResult]) -> u8 {
    if results.iter().all(|result| result.met) {
        0
    } else {
        6
    }
}

fn wrong_code(launches: &[Launch]) -> u8 {
    if launches.iter().any(|launch| launch.wrong > 0) {
        5
    } else {
        0
    }
}
