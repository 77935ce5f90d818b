//! `ncclbench pingpong`: latency and one-way bandwidth of two processes, by a backend's sends and
//! receives, or by libfabric's own program.

mod fabric;

use super::berths;
use super::codes::Codes;
use super::ending::Exit;
use super::fleet::Card;
use super::fleet::Shape;
use super::measure;
use super::say;
use super::spawn;
use super::tell;
use crate::backend;
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
use crate::cli::FabricWish;
use crate::cli::PingpongArgs;
use crate::engine::SystemClock;
use crate::engine::Watch;
use crate::engine::pair::Figures;
use crate::engine::pair::Loops;
use crate::engine::pair::Pair;
use crate::launcher;
use crate::launcher::Here;
use crate::launcher::Joined;
use crate::probe;
use crate::record::Mismatches;
use std::sync::Arc;

/// This process among the two.
struct Process<'a> {
    args: &'a PingpongArgs,
    env: &'a Env,
    here: Here,
    joined: Joined,
    exit: Exit,
    clock: Arc<dyn Clock>,
}

/// Measures; gives the exit code that both processes agreed on.
pub(super) fn run(args: &PingpongArgs, env: &Env) -> u8 {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let done = if args.launch.spawn.is_some() {
        spawn::run(&args.launch, env, &args.argv, &clock)
    } else {
        take_part(args, env, &clock)
    };
    done.unwrap_or_else(|ending| spawn::leave_with(&ending))
}

fn take_part(args: &PingpongArgs, env: &Env, clock: &Arc<dyn Clock>) -> Result<u8, Ending> {
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
        let planes = ThreadPlane::join(plane, 1, Arc::clone(&self.clock));
        let planes: Vec<Arc<dyn Bootstrap>> = planes
            .into_iter()
            .map(|plane| Arc::new(plane) as Arc<dyn Bootstrap>)
            .collect();
        let _watch = self.watch(&planes)?;
        let [plane] = planes.as_slice() else {
            return Err(Fault::new(
                Kind::Launch,
                "a process of a pair is one thread",
            ));
        };
        self.work(&**plane)
    }

    fn work(&self, plane: &dyn Bootstrap) -> Result<u8, Fault> {
        if plane.members() != 2 {
            let text = format!(
                "`pingpong` is for 2 processes; {} were started",
                plane.members()
            );
            return Err(Fault::new(Kind::Launch, text));
        }
        match &self.args.fabric {
            Some(wish) => self.by_fabric(plane, wish),
            None => self.by_backend(plane),
        }
    }

    /// Libfabric's own program between the two hosts.
    fn by_fabric(&self, plane: &dyn Bootstrap, wish: &FabricWish) -> Result<u8, Fault> {
        let rows = fabric::run(self, plane, wish)?;
        if plane.member() == 0 {
            let rows: String = rows.iter().map(fabric_row).collect();
            tell(&(self.heading_of_fabric(wish) + &rows));
        }
        plane.barrier(self.step("the end of the run"))?;
        Ok(0)
    }

    fn by_backend(&self, plane: &dyn Bootstrap) -> Result<u8, Fault> {
        let seed = super::seed::agree(plane, self.step("the seed"), None, true)?;
        let seat = self.seat(plane, seed)?;
        let mut session = self.args.backend.open(&seat, plane)?;
        self.exit.add(session.aborter());
        let sizes: Vec<_> = self.args.sweep.sizes().collect();
        let most = sizes.last().copied().unwrap_or_default();
        let known = (self.args.launch.timeout_init, seed);
        let clock = Arc::clone(&self.clock);
        let mut pair = Pair::new(session.as_mut(), plane, clock, most, known)?;
        let is_first = plane.member() == 0;
        if is_first {
            tell(&self.heading());
        }
        let loops = Loops {
            warmups: self.args.warmups,
            iterations: self.args.iterations,
        };
        let mut wrong = 0;
        for size in sizes {
            let (figures, found) = pair.run(size, loops)?;
            let all = self.gather(plane, &found)?;
            wrong += all.wrong;
            if is_first {
                tell(&row(size.0, figures, &all));
                all.first
                    .iter()
                    .for_each(|bad| say(&format!("error: {bad:?}")));
            }
        }
        drop(session);
        plane.barrier(self.step("the end of the run"))?;
        Ok(if wrong > 0 { 5 } else { 0 })
    }

    /// What both ranks found.
    fn gather(&self, plane: &dyn Bootstrap, mine: &Mismatches) -> Result<Mismatches, Fault> {
        let mut all = Mismatches::default();
        let step = self.step("what the ranks found");
        for theirs in plane.all_gather(step, &bootstrap::encode(mine)?)? {
            all.add(bootstrap::decode(&theirs)?);
        }
        Ok(all)
    }

    fn watch(&self, planes: &[Arc<dyn Bootstrap>]) -> Result<Option<Watch>, Fault> {
        let Some(limit) = self.args.timeout_op else {
            return Ok(None);
        };
        let (plane, exit) = (Arc::clone(&self.joined.plane), self.exit.clone());
        let on_timeout = Box::new(move |fault| exit.begin(&plane.fail(fault)));
        Watch::start(planes, limit, Arc::clone(&self.clock), on_timeout).map(Some)
    }

    /// This rank's device, among those of both.
    fn seat(&self, plane: &dyn Bootstrap, seed: u64) -> Result<ThreadSeat, Fault> {
        let wish = self.wish(seed);
        let found = self.args.backend.probe(&wish);
        let outcome = found.as_ref().map(drop).map_err(Clone::clone);
        plane.agree(self.step("what the backend finds"), outcome)?;
        let shape = Shape {
            threads: 1,
            gpus: 1,
        };
        let identity = (self.here.host.clone(), self.here.identity.clone());
        let mut card = Card::new(identity, self.args.backend.name(), shape, &found?);
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
            wish,
        })
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

    fn heading_of_fabric(&self, wish: &FabricWish) -> String {
        let hosts: Vec<&str> = self
            .joined
            .plane
            .peers()
            .iter()
            .map(|peer| peer.host.as_str())
            .collect();
        let fabric = wish
            .fabric
            .as_deref()
            .map_or_else(String::new, |name| format!(", fabric {name}"));
        format!(
            "# ncclbench {}: pingpong by fi_pingpong, provider {}{fabric}, hosts {}\n\
             # latency is half a round trip, a mean; bandwidth is that of one message at a time\n\
             #       size   transfers     latency   bandwidth\n\
             #        (B)                    (us)      (GB/s)\n",
            env!("CARGO_PKG_VERSION"),
            wish.provider,
            hosts.join(" "),
        )
    }

    fn heading(&self) -> String {
        let (peers, seat) = (self.joined.plane.peers(), &self.joined.seat);
        let hosts: Vec<&str> = peers.iter().map(|peer| peer.host.as_str()).collect();
        format!(
            "# ncclbench {}: pingpong, backend {}, launcher {} ({}), hosts {}\n\
             # latency is half a round trip: the mean of all enqueued, then of single ones the middle, the 99th of 100\n\
             # and the slowest; bandwidth is one way with 64 messages in flight\n\
             #       size     latency         p50         p99         max   bandwidth    #wrong\n\
             #        (B)        (us)        (us)        (us)        (us)      (GB/s)\n",
            env!("CARGO_PKG_VERSION"),
            self.args.backend.name(),
            seat.launcher,
            seat.reason,
            hosts.join(" "),
        )
    }

    fn step<'n>(&self, name: &'n str) -> Step<'n> {
        Step {
            name,
            limit: self.args.launch.timeout_init,
        }
    }
}

fn row(size: u64, figures: Figures, found: &Mismatches) -> String {
    let (latency, bandwidth) = (figures.latency.0, figures.bandwidth.0);
    let [middle, late, most] = figures.single.map(|time| time.0);
    format!(
        "{size:>12} {latency:>11.2} {middle:>11.2} {late:>11.2} {most:>11.2} {bandwidth:>11.3} {:>9}\n",
        found.wrong
    )
}

fn fabric_row(row: &fabric::Row) -> String {
    let fabric::Row {
        bytes,
        transfers,
        us,
        mb_s,
    } = row;
    format!(
        "{bytes:>12} {transfers:>11} {us:>11.2} {:>11.3}\n",
        mb_s / 1e3
    )
}

/// `ADDRESS PORT` of the first process, on both.
fn meeting(process: &Process<'_>, plane: &dyn Bootstrap, port: &str) -> Result<String, Fault> {
    // two processes of one host may have no other address in common than loopback
    let shared = bootstrap::peer::one_host(process.joined.plane.peers());
    let own = process.here.addresses.first();
    let address = match own {
        Some(address) if !shared => address.to_string(),
        _ => "127.0.0.1".to_owned(),
    };
    let place = format!("{address} {port}");
    let said = plane.broadcast(process.step("where the first serves"), place.as_bytes())?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}
