//! `ncclbench where`: how the processes were started, what each of them sees, and what is odd.
//!
//! The processes meet as for a run, and the first prints one report of all; nothing is measured and
//! no communicator is opened. A process that meets nobody reports on itself.

mod judge;
mod odd;
mod odd_hosts;
mod report;
mod sighting;
#[cfg(test)]
mod tests;
mod text;

use super::spawn;
use super::tell;
use crate::base::Clock;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Ending;
use crate::bootstrap::Step;
use crate::bootstrap::peer;
use crate::cli::WhereArgs;
use crate::engine::SystemClock;
use crate::launcher;
use crate::launcher::Here;
use crate::launcher::Joined;
use crate::probe;
use report::Report;
use sighting::Launch;
use sighting::Sighting;
use std::sync::Arc;

/// Reports; gives the exit code.
pub(super) fn run(args: &WhereArgs, env: &Env) -> u8 {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    if args.launch.spawn.is_some() {
        return spawn::run(&args.launch, env, &args.argv, &clock)
            .unwrap_or_else(|ending| spawn::leave_with(&ending));
    }
    let here = match probe::here(args.host_label.as_deref()) {
        Ok(here) => here,
        Err(fault) => return super::refuse(&fault),
    };
    match launcher::join(&args.launch, env, &here, &clock) {
        Ok(joined) => together(args, env, &here, &joined),
        Err(ending) => alone(args, env, &here, &ending),
    }
}

/// All have met: one report of all.
fn together(args: &WhereArgs, env: &Env, here: &Here, joined: &Joined) -> u8 {
    let plane = &joined.plane;
    match conduct(args, env, here, joined) {
        Ok(code) => {
            plane.leave();
            code
        }
        Err(fault) => {
            let ending = plane.fail(fault);
            spawn::leave_with(&ending)
        }
    }
}

fn conduct(args: &WhereArgs, env: &Env, here: &Here, joined: &Joined) -> Result<u8, Fault> {
    let plane = &joined.plane;
    let step = |name| Step {
        name,
        limit: args.launch.timeout_init,
    };
    let launch = Launch::of(args, env, joined);
    let is_first = peer::local_place(plane.peers(), plane.member()).index == 0;
    let mine = Sighting::take(args, env, here, launch, is_first)?;
    let all = plane.all_gather(step("what each process sees"), &bootstrap::encode(&mine)?)?;
    let mut code = 0;
    if plane.member() == 0 {
        let sightings: Result<Vec<Sighting>, Fault> =
            all.iter().map(|bytes| bootstrap::decode(bytes)).collect();
        let report = Report::of_all(args, &sightings?, plane.place());
        code = print(args, &report)?;
    }
    let everybody: &dyn Bootstrap = &**plane;
    let said = everybody.broadcast(step("the report's exit code"), &bootstrap::encode(&code)?)?;
    bootstrap::decode(&said)
}

/// Nobody was met: the fault, and a report on this process; of many that fail alike one is enough.
fn alone(args: &WhereArgs, env: &Env, here: &Here, ending: &Ending) -> u8 {
    let code = spawn::leave_with(ending);
    let fault = &ending.fault;
    if fault.kind == Kind::Usage
        || launcher::index(&args.launch, env).is_some_and(|index| index != "0")
    {
        return code;
    }
    let launch = Launch::unmet(args, env, None);
    let printed = Sighting::take(args, env, here, launch, true)
        .map(|mine| Report::of_one(args, mine, fault))
        .and_then(|report| print(args, &report));
    if let Err(fault) = printed {
        super::refuse(&fault);
    }
    code
}

/// Prints the report; gives the exit code that it calls for.
fn print(args: &WhereArgs, report: &Report) -> Result<u8, Fault> {
    let text = if args.json {
        let json = serde_json::to_string(report)
            .map_err(|error| Fault::new(Kind::Output, format!("cannot write JSON: {error}")))?;
        json + "\n"
    } else {
        text::of(report)
    };
    let code = if report.refused.is_some() { 3 } else { 0 };
    Ok(tell(&text).max(code))
}
