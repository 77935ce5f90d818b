//! `ncclbench hunt`: from the command line to the name of what is slow.

mod campaign;
mod files;
mod report;
mod text;

use super::berths;
use super::codes::Codes;
use super::ending::Exit;
use super::fleet::Card;
use super::fleet::Shape;
use super::measure;
use super::seed;
use super::spawn;
use super::tell;
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
use crate::bootstrap::Ending;
use crate::bootstrap::Step;
use crate::bootstrap::threads::ThreadPlane;
use crate::cli::HuntArgs;
use crate::engine::SystemClock;
use crate::engine::Watch;
use crate::engine::exchange::Exchange;
use crate::engine::watch::Limits;
use crate::launcher;
use crate::launcher::Here;
use crate::launcher::Joined;
use crate::probe;
use campaign::Campaign;
use report::Report;
use std::sync::Arc;

/// This process among the others.
struct Process<'a> {
    args: &'a HuntArgs,
    env: &'a Env,
    here: Here,
    joined: Joined,
    exit: Exit,
    clock: Arc<dyn Clock>,
}

/// Hunts; gives the exit code that all processes agreed on.
pub(super) fn run(args: &HuntArgs, env: &Env) -> u8 {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let done = if args.launch.spawn.is_some() {
        spawn::run(&args.launch, env, &args.argv, &clock)
    } else {
        take_part(args, env, &clock)
    };
    done.unwrap_or_else(|ending| spawn::leave_with(&ending))
}

fn take_part(args: &HuntArgs, env: &Env, clock: &Arc<dyn Clock>) -> Result<u8, Ending> {
    let here = probe::here(args.host_label.as_deref())?;
    let joined = launcher::join(&args.launch, env, &here, clock)?;
    let process = Process {
        args,
        env,
        here,
        exit: Exit::new(&joined.meeting, Arc::clone(clock), Codes::Own, None),
        joined,
        clock: Arc::clone(clock),
    };
    Ok(process.run())
}

impl Process<'_> {
    fn run(&self) -> u8 {
        let (plane, exit) = (&self.joined.plane, self.exit.clone());
        plane.on_end(Box::new(move |ending| exit.begin(ending)));
        match self.conduct() {
            Ok(code) => {
                self.exit.complete();
                plane.leave();
                code
            }
            Err(fault) => {
                let ending = plane.fail(fault);
                self.exit.begin(&ending);
                self.exit.end_the_mute(&ending);
                ending.exit_code
            }
        }
    }

    fn conduct(&self) -> Result<u8, Fault> {
        let plane = Arc::clone(&self.joined.plane) as Arc<dyn Bootstrap>;
        if plane.members() < 2 {
            let text = "a hunt needs partners, and this is a world of one process";
            return Err(Fault::new(Kind::Launch, text)
                .hint("start one process for each GPU of several nodes, or `--spawn N`"));
        }
        let planes = ThreadPlane::join(plane, 1, Arc::clone(&self.clock));
        let planes: Vec<Arc<dyn Bootstrap>> = planes
            .into_iter()
            .map(|plane| Arc::new(plane) as Arc<dyn Bootstrap>)
            .collect();
        let _watch = self.watch(&planes)?;
        let [plane] = planes.as_slice() else {
            return Err(Fault::new(
                Kind::Launch,
                "a process of a hunt is one thread",
            ));
        };
        self.work(&**plane)
    }

    fn work(&self, plane: &dyn Bootstrap) -> Result<u8, Fault> {
        let args = self.args;
        let seed = seed::agree(
            plane,
            self.step("the seed"),
            args.seed,
            args.backend.measures(),
        )?;
        let seat = self.seat(plane, seed)?;
        plane.pulse().enter("opening the communicator");
        let mut session = args.backend.open(&seat, plane)?;
        self.exit.add(session.aborter());
        plane.barrier(self.step("the communicator"))?;
        let known = (args.launch.timeout_init, seed);
        let clock = Arc::clone(&self.clock);
        let exchange = Exchange::new(session.as_mut(), plane, clock, args.size, known)?;
        let hosts = self.joined.plane.peers();
        let mut campaign = Campaign::new(args, plane, exchange, hosts, seed);
        let report = campaign.conduct()?;
        let code = report.exit_code();
        let shown = if plane.member() == 0 {
            self.show(&report)
        } else {
            Ok(())
        };
        drop(campaign);
        drop(session);
        plane.agree(self.step("the report"), shown)?;
        Ok(code)
    }

    /// Prints and writes; the first process only.
    fn show(&self, report: &Report) -> Result<(), Fault> {
        if let Some(path) = &self.args.csv {
            files::write(path, &files::csv(report))?;
        }
        if let Some(path) = &self.args.picture {
            files::write(path, &files::picture(report))?;
        }
        let text = if self.args.json {
            let json = serde_json::to_string(report)
                .map_err(|error| Fault::new(Kind::Output, format!("cannot write JSON: {error}")))?;
            json + "\n"
        } else {
            text::of(report)
        };
        match tell(&text) {
            0 => Ok(()),
            _ => Err(Fault::new(Kind::Output, "the report could not be printed")),
        }
    }

    fn watch(&self, planes: &[Arc<dyn Bootstrap>]) -> Result<Option<Watch>, Fault> {
        let Some(limit) = self.args.timeout_op else {
            return Ok(None);
        };
        let limits = Limits {
            progress: Some(limit),
            ..Limits::default()
        };
        let (plane, exit) = (Arc::clone(&self.joined.plane), self.exit.clone());
        let on_timeout = Box::new(move |fault| exit.begin(&plane.fail(fault)));
        Watch::start(planes, limits, Arc::clone(&self.clock), on_timeout).map(Some)
    }

    /// This rank's device, among those of all.
    fn seat(&self, plane: &dyn Bootstrap, seed: u64) -> Result<ThreadSeat, Fault> {
        let found = self.equipment(plane, seed)?;
        let shape = Shape {
            threads: 1,
            gpus: 1,
        };
        let identity = (self.here.host.clone(), self.here.identity.clone());
        let mut card = Card::new(identity, self.args.backend.name(), shape, &found);
        card.first_device = measure::first_device(self.env)?;
        card.visible = self.env.get("CUDA_VISIBLE_DEVICES").map(str::to_owned);
        let step = self.step("who takes part");
        let (berths, _) = berths::muster(plane, step, &card, self.args.allow_shared_gpu)?;
        let rank = Rank(self.joined.seat.process);
        Ok(ThreadSeat {
            world: berths.world(),
            devices: vec![berths.device(rank).ordinal],
            ranks: vec![rank],
            host: self.here.host.clone(),
            host_identity: self.here.identity.clone(),
            limit: self.args.launch.timeout_init,
            op_limit: self.args.timeout_op,
            clock: Arc::clone(&self.clock),
            wish: self.wish(seed),
        })
    }

    fn equipment(&self, plane: &dyn Bootstrap, seed: u64) -> Result<Equipment, Fault> {
        let found = self.args.backend.probe(&self.wish(seed));
        let outcome = found.as_ref().map(drop).map_err(Clone::clone);
        plane.agree(self.step("what the backend finds"), outcome)?;
        found
    }

    fn wish(&self, seed: u64) -> backend::Wish {
        let variable = self.env.get("NCCLBENCH_NCCL").map(str::to_owned);
        backend::Wish {
            nccl_lib: self.args.nccl_lib.clone().or(variable),
            env: self.env.clone(),
            seed,
            comm: backend::CommWish::default(),
            kernel: backend::KernelWish::default(),
        }
    }

    fn step<'n>(&self, name: &'n str) -> Step<'n> {
        Step {
            name,
            limit: self.args.launch.timeout_init,
        }
    }
}

/// The times of a round by rank, in microseconds, and how many elements were wrong.
fn meet(
    plane: &dyn Bootstrap,
    step: Step<'_>,
    mine: Option<(f64, u64)>,
) -> Result<Vec<Option<(f64, u64)>>, Fault> {
    let said = plane.decide(step, &bootstrap::encode(&mine)?, &|all| {
        let all: Result<Vec<Option<(f64, u64)>>, Fault> =
            all.iter().map(|bytes| bootstrap::decode(bytes)).collect();
        bootstrap::encode(&all?)
    })?;
    bootstrap::decode(&said)
}
