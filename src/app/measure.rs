//! `ncclbench COLLECTIVE`: from the command line to the exit code.

use super::ending::Exit;
use super::fleet::Card;
use super::fleet::Fleet;
use super::fleet::Shape;
use super::narrator::Facts;
use super::narrator::Narrator;
use super::say;
use super::worker;
use super::worker::Common;
use super::worker::Tally;
use crate::backend;
use crate::backend::Equipment;
use crate::backend::ThreadSeat;
use crate::base::Clock;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::bootstrap::threads::ThreadPlane;
use crate::cli::Args;
use crate::engine::Rules;
use crate::engine::SystemClock;
use crate::engine::Watch;
use crate::launcher;
use crate::launcher::Here;
use crate::launcher::Joined;
use crate::plan;
use crate::probe;
use std::sync::Arc;
use std::time::Duration;

/// This process among the others, once they have met.
struct Process<'a> {
    args: &'a Args,
    env: &'a Env,
    here: Here,
    joined: &'a Joined,
    exit: Exit,
    clock: Arc<dyn Clock>,
    /// How long it took to meet the others.
    met: Duration,
}

/// Measures; gives the exit code that all processes agreed on.
pub(super) fn run(args: &Args, env: &Env) -> u8 {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    if args.launch.spawn.is_some() {
        return spawn(args, &clock);
    }
    let started = clock.now();
    match join(args, env, &clock) {
        Ok((here, joined)) => {
            let exit = Exit::default();
            let met = clock.now().saturating_sub(started);
            Process {
                args,
                env,
                here,
                joined: &joined,
                exit,
                clock,
                met,
            }
            .run()
        }
        Err(fault) => super::refuse(&fault),
    }
}

fn spawn(args: &Args, clock: &Arc<dyn Clock>) -> u8 {
    match launcher::spawn(&args.launch, &args.argv[1..], clock) {
        Ok(spawned) => {
            for note in spawned.notes {
                say(&format!("note: {note}"));
            }
            spawned.exit_code
        }
        Err(fault) => super::refuse(&fault),
    }
}

fn join(args: &Args, env: &Env, clock: &Arc<dyn Clock>) -> Result<(Here, Joined), Fault> {
    let here = probe::here(args.host_label.as_deref())?;
    let joined = launcher::join(&args.launch, env, &here, clock)?;
    Ok((here, joined))
}

impl Process<'_> {
    fn run(&self) -> u8 {
        self.end_with_the_others();
        let mut narrator = None;
        match self.conduct(&mut narrator) {
            Ok(tally) => {
                self.joined.plane.leave();
                tally.exit_code()
            }
            Err(fault) => self.fail(fault, narrator),
        }
    }

    /// When the run is ended elsewhere, this process must not go on waiting inside a library.
    fn end_with_the_others(&self) {
        let exit = self.exit.clone();
        self.joined
            .plane
            .on_end(Box::new(move |ending| exit.begin(ending)));
    }

    fn fail(&self, fault: Fault, narrator: Option<Narrator<'_>>) -> u8 {
        let ending = self.joined.plane.fail(fault);
        self.exit.begin(&ending);
        if let Some(mut narrator) = narrator {
            narrator.cut_short(&ending.fault, ending.exit_code);
        }
        if ending.report.is_some() {
            self.joined
                .meeting
                .abort(ending.exit_code, &ending.fault.message);
        }
        ending.exit_code
    }

    fn conduct<'s>(&'s self, narrator: &mut Option<Narrator<'s>>) -> Result<Tally, Fault>
    where
        Self: 's,
    {
        let started = self.clock.now();
        let found = self.probe()?;
        let probed = self.clock.now().saturating_sub(started);
        let fleet = Fleet::seat(self.cards(&found)?, self.args.allow_shared_gpu)?;
        plan::check(&self.args.plan, fleet.world())?;
        let seed = self.seed()?;
        if self.joined.plane.member() == 0 {
            let narrator = narrator.insert(self.narrator(fleet.clone(), &found)?);
            narrator.took("bootstrap", self.met);
            narrator.took("libraries", probed);
        }
        self.run_threads(&self.common(&fleet, seed), narrator.as_mut())
    }

    /// What the backend finds here; a process where it finds nothing ends the run for all.
    fn probe(&self) -> Result<Equipment, Fault> {
        let found = self.args.backend.probe(&self.backend_wish());
        let (found, outcome) = match found {
            Ok(found) => (Some(found), Ok(())),
            Err(fault) => (None, Err(fault)),
        };
        self.plane()
            .agree(self.step("what the backend finds"), outcome)?;
        found.ok_or_else(|| Fault::new(Kind::Peer, "another process found no backend"))
    }

    fn cards(&self, found: &Equipment) -> Result<Vec<Card>, Fault> {
        let mut card = Card::new(
            (self.here.host.clone(), self.here.identity.clone()),
            self.args.backend.name(),
            Shape {
                threads: self.args.threads,
                gpus: self.args.gpus,
            },
            found,
        );
        card.first_device = first_device(self.env)?;
        let mine = bootstrap::encode(&card)?;
        let all = self
            .plane()
            .all_gather(self.step("who takes part"), &mine)?;
        all.iter().map(|bytes| bootstrap::decode(bytes)).collect()
    }

    /// The first process's seed, so that all ranks make the same data; a fresh one unless it is given.
    fn seed(&self) -> Result<u64, Fault> {
        let mine = self.args.seed;
        let said = self
            .plane()
            .broadcast(self.step("the seed"), &bootstrap::encode(&mine)?)?;
        bootstrap::decode(&said)
    }

    fn narrator(&self, fleet: Fleet, found: &Equipment) -> Result<Narrator<'_>, Fault> {
        let mut notes = self.joined.notes.clone();
        notes.extend(found.notes.iter().cloned());
        notes.extend(fleet.notes.iter().cloned());
        let facts = Facts {
            args: self.args.argv.clone(),
            env: self.env,
            fleet,
            launch: &self.joined.seat,
            wished: &self.args.plan,
            measured: self.args.backend.measures(),
            average: self.args.average,
            timestamps: self.args.timestamps,
            notes,
        };
        Narrator::new(facts, self.args.output.as_deref())
    }

    fn common<'f>(&self, fleet: &'f Fleet, seed: u64) -> Common<'f> {
        Common {
            backend: self.args.backend,
            fleet,
            spec: self.args.plan.clone(),
            average: self.args.average,
            exit: self.exit.clone(),
            clock: Arc::clone(&self.clock),
            rules: Rules {
                blocking: self.args.plan.blocking,
                control_limit: self.control_limit(),
                seed,
            },
            init_limit: self.args.timeout_init,
        }
    }

    /// Between operations ranks wait for the slowest one's check and for its operation's own deadline.
    fn control_limit(&self) -> Duration {
        self.args.timeout_op.unwrap_or(Duration::from_hours(1)) + Duration::from_secs(5)
    }

    /// Runs every engine thread of this process, the first one on a thread of its own too, so that
    /// all can be left behind if they are stuck.
    fn run_threads(
        &self,
        common: &Common<'_>,
        narrator: Option<&mut Narrator<'_>>,
    ) -> Result<Tally, Fault> {
        let lanes = if self.args.backend.lanes_share_a_thread() {
            self.args.gpus
        } else {
            1
        };
        let threads = self.args.threads * self.args.gpus / lanes;
        let planes: Vec<Arc<dyn Bootstrap>> =
            ThreadPlane::join(self.plane(), threads as usize, Arc::clone(&self.clock))
                .into_iter()
                .map(|plane| Arc::new(plane) as Arc<dyn Bootstrap>)
                .collect();
        let _watch = self.watch(&planes)?;
        let mut narrator = narrator;
        std::thread::scope(|scope| {
            let running: Vec<_> = (0u32..)
                .zip(&planes)
                .map(|(thread, plane)| {
                    let seat = self.thread_seat(common.fleet, thread, lanes);
                    let narrator = narrator.take();
                    scope.spawn(move || self.work(common, &seat, &**plane, narrator))
                })
                .collect();
            let outcomes: Vec<_> = running.into_iter().map(join_thread).collect();
            outcomes.into_iter().reduce(Result::and).unwrap_or_else(|| {
                Err(Fault::new(
                    Kind::Usage,
                    "a process needs at least one thread",
                ))
            })
        })
    }

    /// One thread's work; a thread that fails tells everybody at once, or they would wait for it.
    fn work(
        &self,
        common: &Common<'_>,
        seat: &ThreadSeat,
        plane: &dyn Bootstrap,
        mut narrator: Option<&mut Narrator<'_>>,
    ) -> Result<Tally, Fault> {
        let done = worker::work(common, seat, plane, narrator.as_deref_mut());
        let done = match (done, narrator) {
            (Ok(tally), Some(narrator)) => narrator.end(&tally).map(|()| tally),
            (done, _) => done,
        };
        done.inspect_err(|fault| {
            let ending = self
                .joined
                .plane
                .fail(fault.clone().at(worker::place(seat)));
            self.exit.begin(&ending);
        })
    }

    fn watch(&self, planes: &[Arc<dyn Bootstrap>]) -> Result<Option<Watch>, Fault> {
        let Some(limit) = self.args.timeout_op else {
            return Ok(None);
        };
        let plane = Arc::clone(&self.joined.plane);
        let exit = self.exit.clone();
        let on_timeout = Box::new(move |fault| exit.begin(&plane.fail(fault)));
        Watch::start(planes, limit, Arc::clone(&self.clock), on_timeout).map(Some)
    }

    fn thread_seat(&self, fleet: &Fleet, thread: u32, lanes: u32) -> ThreadSeat {
        let process = self.joined.seat.process;
        let first = process * self.args.threads * self.args.gpus + thread * lanes;
        let ranks: Vec<_> = (first..first + lanes).map(Rank).collect();
        let device = |rank: &Rank| fleet.seats[rank.0 as usize].device.ordinal;
        ThreadSeat {
            world: fleet.world(),
            devices: ranks.iter().map(device).collect(),
            ranks,
            host: self.here.host.clone(),
            host_identity: self.here.identity.clone(),
            limit: self.args.timeout_init,
            op_limit: self.args.timeout_op,
            clock: Arc::clone(&self.clock),
            wish: self.backend_wish(),
        }
    }

    fn backend_wish(&self) -> backend::Wish {
        let variable = self.env.get("NCCLBENCH_NCCL").map(str::to_owned);
        backend::Wish {
            nccl_lib: self.args.nccl_lib.clone().or(variable),
            env: self.env.clone(),
            seed: self.args.seed,
        }
    }

    fn plane(&self) -> Arc<dyn Bootstrap> {
        Arc::clone(&self.joined.plane) as Arc<dyn Bootstrap>
    }

    fn step<'n>(&self, name: &'n str) -> Step<'n> {
        Step {
            name,
            limit: self.args.timeout_init,
        }
    }
}

/// The index of the first device, as nccl-tests takes it.
///
/// # Source
/// nccl-tests 2.19.6, `src/common.cu`, `NCCL_TESTS_DEVICE`.
fn first_device(env: &Env) -> Result<Option<u32>, Fault> {
    let Some(text) = env.get("NCCL_TESTS_DEVICE") else {
        return Ok(None);
    };
    text.trim().parse().map(Some).map_err(|_| {
        Fault::usage(format!(
            "`NCCL_TESTS_DEVICE` is `{text}`; expected the index of a device"
        ))
    })
}

fn join_thread(
    thread: std::thread::ScopedJoinHandle<'_, Result<Tally, Fault>>,
) -> Result<Tally, Fault> {
    thread.join().unwrap_or_else(|_| {
        Err(Fault::new(
            Kind::Call,
            "an engine thread panicked; its message is above",
        ))
    })
}
