//! `ncclbench doctor`: what is wrong with the machines, in one table of all processes.
//!
//! The processes meet as for a run; nothing is measured and no communicator is opened. A process
//! that meets nobody looks at itself.

mod report;
mod text;

use super::narrator;
use super::spawn;
use super::tell;
use crate::base::Clock;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::moment;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Ending;
use crate::bootstrap::Step;
use crate::bootstrap::peer;
use crate::cli::DoctorArgs;
use crate::doctor;
use crate::doctor::Scene;
use crate::doctor::against::Acceptance;
use crate::engine::SystemClock;
use crate::launcher;
use crate::launcher::Here;
use crate::launcher::Joined;
use crate::probe;
use crate::record::Checkup;
use crate::record::Checkups;
use report::Report;
use std::fs;
use std::io::Write as _;
use std::sync::Arc;

/// Looks; gives the exit code.
pub(super) fn run(args: &DoctorArgs, env: &Env) -> u8 {
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

/// All have met: one table of all.
fn together(args: &DoctorArgs, env: &Env, here: &Here, joined: &Joined) -> u8 {
    let plane = &joined.plane;
    match conduct(args, env, here, joined) {
        Ok(code) => {
            plane.leave();
            code
        }
        Err(fault) => spawn::leave_with(&plane.fail(fault)),
    }
}

fn conduct(args: &DoctorArgs, env: &Env, here: &Here, joined: &Joined) -> Result<u8, Fault> {
    let plane: &dyn Bootstrap = &*joined.plane;
    let step = |name| Step {
        name,
        limit: args.launch.timeout_init,
    };
    let peers = joined.plane.peers();
    let is_first = peer::local_place(peers, plane.member()).index == 0;
    let ranks = peer::ranks_of(args.ranks, plane.member());
    let mine = checkup(args, env, here, (ranks, is_first))?;
    // equal findings go to all once, so that what comes back stays small where hosts are alike
    let all = plane.decide(
        step("what each process found"),
        &bootstrap::encode(&mine)?,
        &|all| {
            let all: Result<Vec<Checkup>, Fault> =
                all.iter().map(|bytes| bootstrap::decode(bytes)).collect();
            bootstrap::encode(&Checkups::of(all?))
        },
    )?;
    let mut code = 0;
    if plane.member() == 0 {
        code = conclude(args, &bootstrap::decode(&all)?, &joined.notes)?;
    }
    let said = plane.broadcast(step("the exit code"), &bootstrap::encode(&code)?)?;
    bootstrap::decode(&said)
}

/// What this process finds.
fn checkup(
    args: &DoctorArgs,
    env: &Env,
    here: &Here,
    (ranks, is_first): (String, bool),
) -> Result<Checkup, Fault> {
    let scene = scene(args, env)?;
    let copied = args.root.as_ref().and_then(|_| scene.host());
    let checks = args.selection.checks()?;
    Ok(Checkup {
        host: copied.unwrap_or_else(|| args.host_label.clone().unwrap_or(here.host.clone())),
        identity: here.identity.clone(),
        ranks,
        findings: doctor::examine(&checks, &scene, is_first),
    })
}

/// This machine, or the copy that is named.
fn scene(args: &DoctorArgs, env: &Env) -> Result<Scene, Fault> {
    if let Some(root) = &args.root {
        let scene = Scene::under(root.into(), args.ranks);
        return scene.map_err(|why| Fault::usage(format!("`--root`: {why}")));
    }
    let nccl = args.nccl_lib.as_deref().or(env.get("NCCLBENCH_NCCL"));
    Ok(Scene::here(
        env.clone(),
        args.ranks,
        nccl.map(str::to_owned),
    ))
}

/// Nobody was met: the fault, and what this process finds; of many that fail alike one is enough.
fn alone(args: &DoctorArgs, env: &Env, here: &Here, ending: &Ending) -> u8 {
    let code = spawn::leave_with(ending);
    let is_first = launcher::index(&args.launch, env).is_none_or(|index| index == "0");
    if ending.fault.kind == Kind::Usage || !is_first {
        return code;
    }
    let ranks = "this process alone, which did not meet the others".to_owned();
    let concluded = checkup(args, env, here, (ranks, true))
        .and_then(|mine| conclude(args, &Checkups::of(vec![mine]), &[]));
    if let Err(fault) = concluded {
        super::refuse(&fault);
    }
    code
}

/// Compares, keeps and prints; gives the exit code that the findings call for.
fn conclude(args: &DoctorArgs, checkups: &Checkups, notes: &[String]) -> Result<u8, Fault> {
    let before = args.against.as_deref().map(read).transpose()?;
    if let Some(path) = &args.save {
        let taken = moment::rfc3339(narrator::now());
        write(path, &Acceptance::new(checkups, taken))?;
    }
    let report = Report::new(args, checkups, notes, before.as_ref());
    let text = if args.json {
        let json = serde_json::to_string(&report)
            .map_err(|error| Fault::new(Kind::Output, format!("cannot write JSON: {error}")))?;
        json + "\n"
    } else {
        text::of(&report)
    };
    let code = if report.is_failure() { 3 } else { 0 };
    Ok(tell(&text).max(code))
}

fn read(path: &str) -> Result<Acceptance, Fault> {
    let text = fs::read_to_string(path)
        .map_err(|error| Fault::usage(format!("cannot read `--against {path}`: {error}")))?;
    Acceptance::parse(path, &text)
}

fn write(path: &str, record: &Acceptance) -> Result<(), Fault> {
    let cannot = |why: String| Fault::new(Kind::Output, format!("cannot write `{path}`: {why}"));
    let mut text =
        serde_json::to_string_pretty(record).map_err(|error| cannot(error.to_string()))?;
    text.push('\n');
    let file = fs::File::create_new(path);
    let mut file = file.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => cannot("it is already there".to_owned())
            .hint("name another file, or remove the old record first"),
        _ => cannot(error.to_string()),
    })?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| cannot(error.to_string()))
}
