//! `ncclbench contrast`: every process starts a child for each arm, the children measure together, and
//! the first process lays their files side by side.

mod compare;
mod text;

use super::signals;
use super::spawn;
use crate::base::Clock;
use crate::base::Env;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Ending;
use crate::bootstrap::Step;
use crate::cli::ContrastArgs;
use crate::engine::SystemClock;
use crate::launcher;
use crate::launcher::ChildPlace;
use crate::launcher::ChildWish;
use crate::launcher::Joined;
use crate::launcher::Rendezvous;
use crate::probe;
use crate::record::Run;
use crate::record::contrast::Arm;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// How long the processes wait for each other's children; a child has deadlines of its own.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// Codes after which another arm is of no use: nothing was measured, or somebody ended it.
const ENDS: [u8; 3] = [2, 3, 4];

/// Runs all arms; gives the most severe of their exit codes.
pub(super) fn run(args: &ContrastArgs, env: &Env) -> u8 {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let done = if args.run.launch.spawn.is_some() {
        spawn::run(&args.run.launch, env, &args.argv, &clock)
    } else {
        take_part(args, env, &clock)
    };
    done.unwrap_or_else(|ending| spawn::leave_with(&ending))
}

fn take_part(args: &ContrastArgs, env: &Env, clock: &Arc<dyn Clock>) -> Result<u8, Ending> {
    let (pass_on, signals) = std::sync::mpsc::channel();
    let pass_on = move |signal| {
        // nobody listens any more once the last child has ended
        let _ = pass_on.send(signal);
    };
    let _watch = signals::Watch::start(Arc::clone(clock), Box::new(pass_on))?;
    let here = probe::here(args.run.host_label.as_deref())?;
    let joined = launcher::join(&args.run.launch, env, &here, clock)?;
    let process = Process {
        args,
        joined: &joined,
        clock,
        signals,
        folder: None,
    };
    match process.conduct(env) {
        Ok(code) => {
            joined.plane.leave();
            Ok(code)
        }
        Err(fault) => Err(joined.plane.fail(fault)),
    }
}

/// This process among the others.
struct Process<'a> {
    args: &'a ContrastArgs,
    joined: &'a Joined,
    clock: &'a Arc<dyn Clock>,
    signals: Receiver<i32>,
    /// Where the first process's children write.
    folder: Option<Folder>,
}

impl Process<'_> {
    fn conduct(mut self, env: &Env) -> Result<u8, Fault> {
        self.folder = self.open_folder(env)?;
        let mut codes = Vec::new();
        let arms = &self.args.arms;
        for round in 0..self.args.rounds {
            let order: Vec<&Arm> = if round % 2 == 0 {
                arms.iter().collect()
            } else {
                arms.iter().rev().collect()
            };
            for arm in order {
                let code = self.run_arm(arm, round)?;
                codes.push(code);
                if ENDS.contains(&code) {
                    self.say(&format!(
                        "error: arm `{}` ended with exit code {code}",
                        arm.name
                    ));
                    return Ok(code);
                }
            }
        }
        if let Some(folder) = &self.folder {
            self.compare(&folder.path)?;
        }
        Ok(bootstrap::most_severe(codes))
    }

    /// The first process's folder for the runs' files; all know whether it is there.
    fn open_folder(&self, env: &Env) -> Result<Option<Folder>, Fault> {
        let made = (self.member() == 0).then(|| Folder::open(self.args.save.as_deref(), env));
        let (folder, outcome) = match made.transpose() {
            Ok(folder) => (folder, Ok(())),
            Err(fault) => (None, Err(fault)),
        };
        let step = step("the folder of the runs", self.args.run.timeout_init);
        self.plane().agree(step, outcome)?;
        Ok(folder)
    }

    /// One arm in fresh processes; the exit code that they agreed on.
    fn run_arm(&self, arm: &Arm, round: u32) -> Result<u8, Fault> {
        self.say(&format!(
            "contrast: arm {} {}",
            arm.name,
            text::settings(arm)
        ));
        let (rendezvous, listener) = self.meet()?;
        let mut arguments = self.args.words.clone();
        arguments.extend(
            self.folder
                .iter()
                .map(|folder| format!("--output={}", file(&folder.path, arm, round).display())),
        );
        let seat = &self.joined.seat;
        let place = match self.args.start.as_slice() {
            [] => ChildPlace::Told {
                rank: seat.process,
                world: seat.processes,
                rendezvous: &rendezvous,
                listener,
            },
            words => ChildPlace::By(words),
        };
        let wish = ChildWish {
            arguments: &arguments,
            arm,
            place,
        };
        let done = launcher::run_child(wish, self.clock, &self.signals);
        let (code, outcome) = match done {
            Ok(done) => {
                done.notes
                    .iter()
                    .for_each(|note| super::say(&format!("note: {note}")));
                (done.exit_code, Ok(()))
            }
            Err(fault) => (Kind::Call.exit_code(), Err(fault)),
        };
        let step = step("the end of an arm", LONGEST);
        self.plane().agree(step, outcome)?;
        let said = self
            .plane()
            .decide(step, &bootstrap::encode(&code)?, &severest)?;
        bootstrap::decode(&said)
    }

    /// Where the children meet: on the first process's host, at a port that is free there.
    fn meet(&self) -> Result<(Rendezvous, Option<std::net::TcpListener>), Fault> {
        let step = step("where the arm's processes meet", self.args.run.timeout_init);
        let made = (self.member() == 0).then(|| Rendezvous::fresh(self.joined.plane.place()));
        let (made, outcome) = match made.transpose() {
            Ok(made) => (made, Ok(())),
            Err(fault) => (None, Err(fault)),
        };
        self.plane().agree(step, outcome)?;
        let (mine, listener) = made.unzip();
        let said = self.plane().broadcast(step, &bootstrap::encode(&mine)?)?;
        let told: Option<Rendezvous> = bootstrap::decode(&said)?;
        let nowhere = || Fault::new(Kind::Peer, "the first process names no place to meet");
        // in a world of one nobody comes to a socket
        let listener = listener.filter(|_| self.joined.seat.processes > 1);
        Ok((told.ok_or_else(nowhere)?, listener))
    }

    fn compare(&self, folder: &Path) -> Result<(), Fault> {
        let mut runs = Vec::new();
        for arm in &self.args.arms {
            let of_arm: Result<Vec<Run>, Fault> = (0..self.args.rounds)
                .map(|round| read(&file(folder, arm, round)))
                .collect();
            runs.push((arm.clone(), of_arm?));
        }
        let record = compare::record(&self.args.run.plan, self.args.rounds, runs);
        let text = if self.args.json {
            serde_json::to_string_pretty(&record)
                .map_err(|error| Fault::new(Kind::Output, error.to_string()))?
                + "\n"
        } else {
            text::of(&record)
        };
        match super::tell(&text) {
            0 => Ok(()),
            _ => Err(Fault::new(
                Kind::Output,
                "the comparison could not be written",
            )),
        }
    }

    fn say(&self, text: &str) {
        if self.member() == 0 {
            super::say(text);
        }
    }

    fn member(&self) -> usize {
        self.joined.plane.member()
    }

    fn plane(&self) -> &dyn Bootstrap {
        &*self.joined.plane
    }
}

fn step(name: &str, limit: Duration) -> Step<'_> {
    Step { name, limit }
}

/// The most severe of all processes' codes.
fn severest(said: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let codes: Result<Vec<u8>, Fault> = said.iter().map(|bytes| bootstrap::decode(bytes)).collect();
    bootstrap::encode(&bootstrap::most_severe(codes?))
}

fn file(folder: &Path, arm: &Arm, round: u32) -> PathBuf {
    folder.join(format!("{}-{}.jsonl", arm.name, round + 1))
}

fn read(file: &Path) -> Result<Run, Fault> {
    let name = || format!("reading `{}`", file.display());
    let bytes = std::fs::read(file)
        .map_err(|error| Fault::new(Kind::Missing, error.to_string()))
        .while_doing(name)?;
    Run::read(&bytes).while_doing(name)
}

/// A folder for the runs' files; removed with them unless the user wants to keep it.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn open(save: Option<&Path>, env: &Env) -> Result<Self, Fault> {
        let own = || {
            let name = format!("ncclbench-contrast-{}", std::process::id());
            Path::new(env.get("TMPDIR").unwrap_or("/tmp")).join(name)
        };
        let keep = save.is_some();
        let path = save.map_or_else(own, Path::to_owned);
        let made = std::fs::DirBuilder::new()
            .mode(0o700)
            .recursive(keep)
            .create(&path);
        made.map_err(|error| {
            let text = format!("cannot make the folder `{}`: {error}", path.display());
            Fault::new(Kind::Output, text)
        })?;
        Ok(Self { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            // what cannot be removed is left to the system, which empties such places
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}
