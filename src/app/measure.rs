//! `ncclbench COLLECTIVE`: from the command line to the exit code.

use super::berths;
use super::berths::Berths;
use super::codes::Codes;
use super::connections;
use super::ending::Exit;
use super::fleet::Card;
use super::fleet::Fleet;
use super::fleet::Shape;
use super::narrator::Facts;
use super::narrator::Narrator;
use super::output::Files;
use super::path;
use super::signals;
use super::spawn;
use super::sweep::Patient;
use super::sweep::Stop;
use super::worker::Common;
use super::worker::SweepWays;
use super::worker::Tally;
use crate::backend;
use crate::backend::Equipment;
use crate::base::Clock;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::fault::Place;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Ending;
use crate::bootstrap::Step;
use crate::bootstrap::peer;
use crate::cli::Args;
use crate::doctor::Scene;
use crate::engine;
use crate::engine::Rules;
use crate::engine::SystemClock;
use crate::launcher;
use crate::launcher::Here;
use crate::launcher::Joined;
use crate::plan;
use crate::probe;
use std::sync::Arc;
use std::time::Duration;

/// This process among the others, once they have met.
pub(super) struct Process<'a> {
    pub(super) args: &'a Args,
    pub(super) env: &'a Env,
    pub(super) here: Here,
    pub(super) joined: &'a Joined,
    pub(super) exit: Exit,
    log: Option<Arc<path::Log>>,
    pub(super) clock: Arc<dyn Clock>,
    /// How long it took to meet the others.
    met: Duration,
}

/// Measures; gives the exit code that all processes agreed on.
pub(super) fn run(args: &Args, env: &Env) -> u8 {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let spawned = args.launch.spawn.is_some();
    let done = if spawned {
        spawn::run(&args.launch, env, &args.argv, &clock)
    } else {
        take_part(args, env, &clock)
    };
    done.unwrap_or_else(|ending| {
        spawn::leave_with(&ending);
        Codes::of(&args.guise).ending(&ending)
    })
}

/// Meets the others and measures with them.
fn take_part(args: &Args, env: &Env, clock: &Arc<dyn Clock>) -> Result<u8, Ending> {
    connections::provide(args, env)?;
    let log = path::Log::follow_nccl(&args.path, env, clock)?;
    let started = clock.now();
    let is_first = args.launch.rank.is_none_or(|rank| rank == 0);
    let watch = signals::Watch::start(Arc::clone(clock), signals::before_all_met(is_first))?;
    let here = probe::here(args.host_label.as_deref())?;
    let joined = launcher::join(&args.launch, env, &here, clock)?;
    let process = Process {
        args,
        env,
        here,
        exit: Exit::new(
            &joined.meeting,
            Arc::clone(clock),
            Codes::of(&args.guise),
            log.clone(),
        ),
        log,
        joined: &joined,
        clock: Arc::clone(clock),
        met: clock.now().saturating_sub(started),
    };
    process.end_on_signals(&watch);
    Ok(process.run())
}

impl Process<'_> {
    fn run(&self) -> u8 {
        self.end_with_the_others();
        match self.conduct() {
            Ok(tally) => {
                self.exit.complete();
                self.exit.pass_on();
                self.joined.plane.leave();
                self.codes().outcome(tally.exit_code())
            }
            Err(fault) => self.fail(fault),
        }
    }

    /// When the run is ended elsewhere, this process must not go on waiting inside a library.
    fn end_with_the_others(&self) {
        let exit = self.exit.clone();
        self.joined
            .plane
            .on_end(Box::new(move |ending| exit.begin(ending)));
    }

    /// From now on a signal ends the run for all.
    fn end_on_signals(&self, watch: &signals::Watch) {
        let (plane, exit) = (Arc::clone(&self.joined.plane), self.exit.clone());
        let place = self.place();
        watch.act(Box::new(move |signal| {
            let fault = signals::fault(signal).at(place.clone());
            let (plane, exit) = (Arc::clone(&plane), exit.clone());
            // telling the others may take a while, and a second signal must not wait for it
            drop(std::thread::spawn(move || {
                if !exit.is_over() {
                    exit.begin(&plane.fail(fault));
                }
            }));
        }));
    }

    fn place(&self) -> Place {
        let member = self.joined.plane.member();
        bootstrap::peer::place(&self.joined.plane.peers()[member], member)
    }

    fn fail(&self, fault: Fault) -> u8 {
        let ending = self.joined.plane.fail(fault);
        self.exit.begin(&ending);
        self.exit.end_the_mute(&ending);
        self.codes().ending(&ending)
    }

    fn codes(&self) -> Codes {
        Codes::of(&self.args.guise)
    }

    fn conduct(&self) -> Result<Tally, Fault> {
        let seed = self.seed()?;
        let floor = self.floor()?;
        if let Some(stop) = self.examine()? {
            return Ok(Tally {
                stop: Some(stop),
                ..Tally::default()
            });
        }
        let started = self.clock.now();
        let found = self.probe(seed)?;
        let probed = self.clock.now().saturating_sub(started);
        let (card, step) = (self.card(&found)?, self.step("who takes part"));
        let shared = self.args.allow_shared_gpu;
        let (berths, fleet) = berths::muster(&*self.plane(), step, &card, shared)?;
        plan::check_all(&self.args.parts(), berths.world())?;
        let mut narrator = None;
        if let Some(fleet) = fleet {
            let narrator = narrator.insert(self.narrator(fleet, &found, seed)?);
            self.exit.keep(narrator.book());
            narrator.took("bootstrap", self.met);
            narrator.took("libraries", probed);
        }
        self.run_threads(&self.common(&berths, seed, floor), narrator.as_mut())
    }

    /// The bandwidth that the run must reach, on all processes alike.
    fn floor(&self) -> Result<Option<f64>, Fault> {
        let step = self.step("the bandwidth that is asked for");
        super::floor::agree(&*self.plane(), step, self.args.min_bw_gbps)
    }

    /// The machines' examination, where a sweep begins with one; why it ends there.
    fn examine(&self) -> Result<Option<Stop>, Fault> {
        let Some(sweep) = self.args.sweep.as_ref().filter(|sweep| sweep.config.doctor) else {
            return Ok(None);
        };
        let (peers, member) = (self.joined.plane.peers(), self.joined.plane.member());
        let ranks = self.args.threads * self.args.gpus;
        let nccl = self.backend_wish(0).nccl_lib;
        let patient = Patient {
            scene: Scene::here(self.env.clone(), ranks, nccl),
            host: self.here.host.clone(),
            identity: self.here.identity.clone(),
            ranks: peer::ranks_of(ranks, member),
            is_first: peer::local_place(peers, member).index == 0,
        };
        let stop = super::sweep::examine(&*self.plane(), self.step("the examination"), patient)?;
        if member == 0 {
            super::sweep::tell_examination(&sweep.config.name, stop.as_ref());
        }
        Ok(stop)
    }

    /// What the backend finds here; a process where it finds nothing ends the run for all.
    fn probe(&self, seed: u64) -> Result<Equipment, Fault> {
        let backend = self.args.backend;
        let found = backend
            .heed(super::wish::comm(self.args))
            .and_then(|()| backend.probe(&self.backend_wish(seed)));
        let (found, outcome) = match found {
            Ok(found) => (Some(found), Ok(())),
            Err(fault) => (None, Err(fault)),
        };
        self.plane()
            .agree(self.step("what the backend finds"), outcome)?;
        found.ok_or_else(|| Fault::new(Kind::Peer, "another process found no backend"))
    }

    fn card(&self, found: &Equipment) -> Result<Card, Fault> {
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
        card.visible = self.env.get("CUDA_VISIBLE_DEVICES").map(str::to_owned);
        Ok(card)
    }

    fn seed(&self) -> Result<u64, Fault> {
        super::seed::agree(
            &*self.joined.plane,
            self.step("the seed"),
            self.args.seed,
            self.args.backend.measures(),
        )
    }

    fn narrator(&self, fleet: Fleet, found: &Equipment, seed: u64) -> Result<Narrator<'_>, Fault> {
        let mut notes = self.args.remarks.clone();
        notes.extend(self.joined.notes.iter().cloned());
        notes.extend(found.notes.iter().cloned());
        let wish = self.backend_wish(seed);
        notes.extend(self.args.backend.joining(&wish, fleet.world()));
        notes.extend(fleet.notes.iter().cloned());
        let facts = Facts {
            args: self.args.argv.clone(),
            program: self.args.guise.program(self.args.plan.collective),
            table_release: self.args.table_release,
            env: self.env,
            fleet,
            launch: &self.joined.seat,
            wished: self.args.parts(),
            sweep: self.args.sweep.as_ref(),
            measured: self.args.backend.measures(),
            average: self.args.average,
            timestamps: self.args.timestamps,
            seed,
            notes,
        };
        let files = Files {
            run: self.args.output.as_deref(),
            json: self.args.json.as_deref(),
            has_sections: self.args.sweep.is_some(),
        };
        Narrator::new(facts, files)
    }

    fn common<'f>(&self, berths: &'f Berths, seed: u64, floor: Option<f64>) -> Common<'f> {
        Common {
            backend: self.args.backend,
            berths,
            parts: self.args.parts(),
            steps: self.args.steps(),
            sweep: self.sweep_ways(),
            may_clamp: !self.args.no_clamp,
            average: self.args.average,
            floor_gbps: floor,
            exit: self.exit.clone(),
            clock: Arc::clone(&self.clock),
            path: Arc::new(path::Watch::new(&self.args.path, self.log.clone())),
            rules: Rules {
                blocking: self.args.plan.blocking,
                control_limit: self.control_limit(),
                // with a limit for a whole batch, its operations are not finished one by one
                launches_block: self.args.backend.launches_block()
                    && self.args.timeout_batch.is_none(),
                seed,
                tweaks: self.args.plan.tweaks,
            },
            init_limit: self.args.timeout_init,
            threads_each: (self.args.threads * self.args.gpus / self.lanes()) as usize,
        }
    }

    /// The ranks that one engine thread drives.
    pub(super) fn lanes(&self) -> u32 {
        if self.args.backend.lanes_share_a_thread() {
            self.args.gpus
        } else {
            1
        }
    }

    fn sweep_ways(&self) -> Option<SweepWays> {
        self.args.sweep.as_ref().map(|sweep| SweepWays {
            resumes: sweep.resume.is_some(),
            path_is_required: self.args.path.require.is_some(),
        })
    }

    /// Between operations ranks wait for the slowest one's check and for its operation's own deadline.
    fn control_limit(&self) -> Duration {
        let patience = self.args.timeout_op.unwrap_or(Duration::from_hours(1));
        patience + engine::watch::BETWEEN_OPERATIONS
    }

    pub(super) fn backend_wish(&self, seed: u64) -> backend::Wish {
        super::wish::backend(self.args, self.env, seed)
    }

    pub(super) fn plane(&self) -> Arc<dyn Bootstrap> {
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
/// # Errors
/// `Usage` where it is no number.
///
/// # Source
/// nccl-tests 2.19.6, `src/common.cu`, `NCCL_TESTS_DEVICE`.
pub(super) fn first_device(env: &Env) -> Result<Option<u32>, Fault> {
    let Some(text) = env.get("NCCL_TESTS_DEVICE") else {
        return Ok(None);
    };
    text.trim().parse().map(Some).map_err(|_| {
        Fault::usage(format!(
            "`NCCL_TESTS_DEVICE` is `{text}`; expected the index of a device"
        ))
    })
}
