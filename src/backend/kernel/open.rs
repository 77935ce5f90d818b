//! Opening a session: who is where, everybody's workspace on every process, streams and kernels.
//!
//! What makes our own collectives impossible here (another host, memory that cannot be reached, too
//! many ranks) is agreed on by all and becomes the reason of waived rows; the session opens anyway.

use super::abort::Line;
use super::abort::Links;
use super::choice::Chooser;
use super::household::Home;
use super::household::Household;
use super::household::WORKSPACE;
use super::lane::Lane;
use super::lane::Means;
use super::order::Ground;
use super::session::KernelSession;
use crate::backend::ThreadSeat;
use crate::backend::check::Checker;
use crate::base::Env;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::fault::Place;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::ffi::cuda::Driver;
use crate::ffi::cuda::Memory;
use crate::ffi::cuda::Stream;
use crate::ffi::kernels::collective::ENGINE_FLAGS_AT;
use crate::ffi::kernels::collective::FLAGS_AT;
use crate::ffi::kernels::collective::MAX_BLOCKS;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::MAX_THREADS;
use crate::ffi::kernels::collective::Module;
use crate::ffi::kernels::collective::TICKS_AT;
use crate::ffi::kernels::collective::Team;
use crate::ffi::kernels::collective::report;
use crate::ffi::kernels::collective::workspace_bytes;
use crate::record::Shape;
use serde::Deserialize;
use serde::Serialize;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The oldest compute capability whose launches can be made ready early, and the oldest driver.
///
/// # Source
/// CUDA programming guide, "Programmatic Dependent Launch"; PTX ISA 7.8 came with CUDA 11.8.
const EARLY_CAPABILITY: u32 = 90;
const EARLY_DRIVER: i32 = 11_080;

/// The number that all ticks start from. Nothing that a user needs: a test sets it to see them wrap.
const FIRST_TICK: &str = "NCCLBENCH_FIRST_TICK";

/// A wait ends by itself a little before the run's own patience does, so that it can say for whom
/// it waited.
const EARLIER: Duration = Duration::from_secs(1);

/// Where an operation may take for ever, a wait takes this long at the most.
const LONGEST: Duration = Duration::from_hours(24);

/// What every thread tells the others first.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Told {
    host: String,
    identity: String,
    /// The world's number: the first thread's counts.
    number: u64,
    ranks: Vec<u32>,
    /// The GPU of each rank.
    gpus: Vec<String>,
    name: String,
    multiprocessors: u32,
}

/// What all know of each other.
#[derive(Debug)]
struct Census {
    told: Vec<Told>,
    shape: Shape,
    /// Threads that one rank's launch may have resident.
    resident_threads: u32,
    /// Why there can be no collectives of ours here.
    refusal: Option<String>,
}

/// Opens this thread's ranks.
pub(super) fn open(seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<KernelSession, Fault> {
    seat.wish.comm.require_none("kernel")?;
    let driver = Arc::new(Driver::load(&seat.wish.env)?);
    let homes = homes(&driver, seat)?;
    let mut census = census(&driver, seat, &homes, boot)?;
    let chooser = Arc::new(Chooser::new(&seat.wish.kernel, &census.shape)?);
    let links = Links::new(Arc::clone(&driver));
    let mut session = KernelSession::new(Arc::clone(&driver), Arc::clone(&links), seat);
    let household = match &census.refusal {
        None => Some(household(&driver, seat, &homes, &mut census, boot)?),
        Some(_) => None,
    };
    let spaces = match &household {
        Some(household) => share(&driver, seat, &homes, household, &mut census, boot)?,
        None => None,
    };
    for (index, &home) in homes.iter().enumerate() {
        let lane = Opening {
            driver: &driver,
            seat,
            census: &census,
            links: &links,
            chooser: &chooser,
        }
        .lane(index, home, household.as_ref(), spaces.as_ref());
        session.add(lane.map_err(|fault: Fault| fault.at(place(seat, index)))?);
    }
    if let Some(household) = household {
        session.set_household(household);
    }
    boot.barrier(step(seat, "the ranks' workspaces"))?;
    Ok(session)
}

fn homes(driver: &Driver, seat: &ThreadSeat) -> Result<Vec<Home>, Fault> {
    let home = |(index, &ordinal): (usize, &u32)| {
        let device = driver.device(ordinal)?;
        let context = driver
            .primary_context(device)
            .while_doing(|| format!("taking device {ordinal}"))
            .map_err(|fault| fault.at(place(seat, index)))?;
        Ok(Home {
            ordinal,
            device,
            context,
        })
    };
    seat.devices.iter().enumerate().map(home).collect()
}

fn census(
    driver: &Driver,
    seat: &ThreadSeat,
    homes: &[Home],
    boot: &dyn Bootstrap,
) -> Result<Census, Fault> {
    let mut mine = Told {
        host: seat.host.clone(),
        identity: seat.host_identity.clone(),
        number: random(),
        ranks: seat.ranks.iter().map(|rank| rank.0).collect(),
        gpus: Vec::new(),
        name: String::new(),
        multiprocessors: u32::MAX,
    };
    for home in homes {
        mine.gpus.push(driver.device_uuid(home.device)?);
        mine.name = driver.device_name(home.device)?;
        let here = driver.multiprocessors(home.device)?;
        mine.multiprocessors = mine.multiprocessors.min(here);
    }
    let step = step(seat, "who shares memory with whom");
    let mut told = Vec::new();
    for bytes in boot.all_gather(step, &bootstrap::encode(&mine)?)? {
        told.push(bootstrap::decode::<Told>(&bytes)?);
    }
    Ok(take_census(told, seat.world.0))
}

fn take_census(told: Vec<Told>, world: u32) -> Census {
    let mut gpus: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for one in &told {
        for gpu in &one.gpus {
            *gpus.entry((&one.identity, gpu)).or_default() += 1;
        }
    }
    let ranks_per_gpu = gpus.values().copied().max().unwrap_or(1);
    let multiprocessors = told.iter().map(|one| one.multiprocessors).min();
    // A launch that is made ready early is resident beside the one that runs.
    let threads = multiprocessors.unwrap_or(0) * MAX_THREADS / (2 * ranks_per_gpu);
    let refusal = refusal(&told, world, ranks_per_gpu, threads);
    Census {
        shape: Shape {
            world,
            ranks_per_gpu,
            gpu: told.first().map(|one| one.name.clone()).unwrap_or_default(),
            processes: 0,
        },
        resident_threads: threads.min(MAX_BLOCKS * MAX_THREADS),
        told,
        refusal,
    }
}

/// Why these ranks cannot have collectives of ours, if they cannot.
fn refusal(told: &[Told], world: u32, ranks_per_gpu: u32, threads: u32) -> Option<String> {
    if world as usize > MAX_RANKS {
        return Some(format!(
            "backend `kernel` takes {MAX_RANKS} ranks at the most, and there are {world}"
        ));
    }
    let first = told.first()?;
    if let Some(other) = told.iter().find(|one| one.identity != first.identity) {
        return Some(format!(
            "backend `kernel` works within one host; rank {} is on {} and rank {} on {}",
            first.ranks.first()?,
            first.host,
            other.ranks.first()?,
            other.host
        ));
    }
    (threads < 64).then(|| {
        format!("{ranks_per_gpu} ranks share a GPU, more than its multiprocessors can hold at once")
    })
}

/// Finds this process's household and lets it know the others.
fn household(
    driver: &Arc<Driver>,
    seat: &ThreadSeat,
    homes: &[Home],
    census: &mut Census,
    boot: &dyn Bootstrap,
) -> Result<Arc<Household>, Fault> {
    let number = census.told.first().map_or(0, |first| first.number);
    let household = Household::join(number, driver, &seat.clock, homes)?;
    let step = step(seat, "the processes' doorways");
    let mut names: Vec<String> = Vec::new();
    for bytes in boot.all_gather(step, household.doorway().as_bytes())? {
        let name = String::from_utf8_lossy(&bytes).into_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    census.shape.processes = u32::try_from(names.len()).unwrap_or(u32::MAX);
    household.meet(&names);
    Ok(household)
}

/// Gives everybody this thread's workspaces and waits for everybody else's; where that cannot be,
/// all get to know why.
fn share(
    driver: &Driver,
    seat: &ThreadSeat,
    homes: &[Home],
    household: &Household,
    census: &mut Census,
    boot: &dyn Bootstrap,
) -> Result<Option<[u64; MAX_RANKS]>, Fault> {
    let shared = homes.iter().zip(&seat.ranks).try_for_each(|(home, rank)| {
        driver.set_current(home.context)?;
        let bytes = workspace_bytes(seat.world.0 as usize);
        let memory = household.share(rank.0, WORKSPACE, home, bytes)?;
        clear(driver, memory, first_tick(&seat.wish.env)?, seat)
    });
    let alive = || boot.ended().map_or(Ok(()), Err);
    let found =
        shared.and_then(|()| household.everybodys(WORKSPACE, seat.world.0, seat.limit, &alive));
    let mine = found.as_ref().err().map(|fault| fault.message.clone());
    let step = step(seat, "whose memory can be reached");
    for (member, bytes) in boot
        .all_gather(step, &bootstrap::encode(&mine)?)?
        .iter()
        .enumerate()
    {
        if let Some(reason) = bootstrap::decode::<Option<String>>(bytes)? {
            let rank = census.told.get(member).and_then(|one| one.ranks.first());
            census.refusal = Some(format!(
                "rank {} cannot share memory with the others: {reason}",
                rank.copied().unwrap_or(0)
            ));
            return Ok(None);
        }
    }
    found.map(Some)
}

/// Zeroes a workspace and sets its ticks.
fn clear(driver: &Driver, memory: Memory, tick: u32, seat: &ThreadSeat) -> Result<(), Fault> {
    let stream = driver.stream()?;
    driver.zero(memory, stream)?;
    if tick != 0 {
        let blocks = u64::from(MAX_BLOCKS);
        let ticks = Memory {
            address: memory.address + TICKS_AT,
            len: 4 * blocks,
        };
        let flags = Memory {
            address: memory.address + FLAGS_AT,
            len: 128 * blocks,
        };
        driver.set_words(ticks, tick, stream)?;
        driver.set_words(flags, tick, stream)?;
    }
    while !driver.is_idle(stream)? {
        seat.clock.pause(Duration::from_micros(100));
    }
    driver.destroy_stream(stream)
}

fn first_tick(env: &Env) -> Result<u32, Fault> {
    let Some(text) = env.get(FIRST_TICK) else {
        return Ok(0);
    };
    text.parse().map_err(|_| {
        Fault::usage(format!(
            "invalid value `{text}` for `{FIRST_TICK}`; expected a number of 32 bits"
        ))
    })
}

/// What all lanes of a session are made of.
struct Opening<'a> {
    driver: &'a Arc<Driver>,
    seat: &'a ThreadSeat,
    census: &'a Census,
    links: &'a Arc<Links>,
    chooser: &'a Arc<Chooser>,
}

impl Opening<'_> {
    fn lane(
        &self,
        index: usize,
        home: Home,
        household: Option<&Arc<Household>>,
        spaces: Option<&[u64; MAX_RANKS]>,
    ) -> Result<Lane, Fault> {
        self.driver.set_current(home.context)?;
        let stream = self.driver.stream()?;
        let rank = self.seat.ranks[index];
        let means = match (household, spaces) {
            (Some(household), Some(spaces)) => {
                let means = self.means(rank, home, household, spaces)?;
                household.functions(home.ordinal, Module::Copies, means.early)?;
                Ok(means)
            }
            _ => Err(self.census.refusal.clone().unwrap_or_default()),
        };
        Ok(Lane {
            driver: Arc::clone(self.driver),
            links: Arc::clone(self.links),
            chooser: Arc::clone(self.chooser),
            home,
            stream,
            checker: Checker::new(self.driver, home.device, stream)?,
            rank,
            world: self.seat.world,
            place: place(self.seat, index),
            buffers: Vec::new(),
            means,
            is_one_of_several: self.seat.ranks.len() > 1,
            functions: RefCell::new([const { None }; Module::ALL.len()]),
            last_rule: Cell::new(None),
            moved: Cell::new(true),
            recording: Cell::new(false),
        })
    }

    fn means(
        &self,
        rank: Rank,
        home: Home,
        household: &Arc<Household>,
        spaces: &[u64; MAX_RANKS],
    ) -> Result<Means, Fault> {
        let board = self.driver.board(report::WORDS)?;
        let own = spaces[rank.0 as usize];
        let team = Team {
            work: *spaces,
            report: board.address(),
            limit: u64::try_from(self.patience().as_nanos()).unwrap_or(u64::MAX),
            rank: rank.0.into(),
            world: self.seat.world.0.into(),
        };
        let line = Arc::new(Line {
            board,
            context: home.context,
            rescue: self.driver.stream()?,
            engine_flags: Memory {
                address: own + ENGINE_FLAGS_AT,
                len: 4 * MAX_RANKS as u64,
            },
            engine_count: AtomicU32::new(0),
        });
        self.links.add(Arc::clone(&line));
        Ok(Means {
            household: Arc::clone(household),
            ground: Ground {
                team,
                resident_threads: self.census.resident_threads,
            },
            line,
            early: self.is_early(home)?,
            engine_flags: spaces.map(|address| address.wrapping_add(ENGINE_FLAGS_AT)),
        })
    }

    fn patience(&self) -> Duration {
        let limit = self.seat.op_limit.unwrap_or(LONGEST);
        limit - EARLIER.min(limit / 10)
    }

    fn is_early(&self, home: Home) -> Result<bool, Fault> {
        let able = self.driver.compute_capability(home.device)? >= EARLY_CAPABILITY
            && self.driver.version()? >= EARLY_DRIVER
            && self.driver.launches_early();
        Ok(able && self.seat.wish.kernel.early.unwrap_or(true))
    }
}

/// A number that no other world of this process has.
fn random() -> u64 {
    let mut bytes = [0; 8];
    let flags = rustix::rand::GetRandomFlags::empty();
    match rustix::rand::getrandom(&mut bytes, flags) {
        Ok(8) => u64::from_le_bytes(bytes),
        // The process's id and an address of its stack tell worlds apart too.
        _ => u64::from(std::process::id()) << 32 ^ std::ptr::from_ref(&bytes).addr() as u64,
    }
}

fn place(seat: &ThreadSeat, index: usize) -> Place {
    Place {
        rank: seat.ranks[index].0,
        host: seat.host.clone(),
        gpu: Some(seat.devices[index]),
    }
}

fn step<'a>(seat: &ThreadSeat, name: &'a str) -> Step<'a> {
    Step {
        name,
        limit: seat.limit,
    }
}

/// What a lane's stream is left to: given back with the session.
pub(super) fn give_back_streams(driver: &Driver, stream: Stream, means: Option<&Means>) {
    drop(driver.destroy_stream(stream));
    if let Some(means) = means {
        drop(driver.destroy_stream(means.line.rescue));
    }
}

/// The kind of fault that a wait which was given up is.
pub(super) fn given_up(words: [u64; report::WORDS]) -> Fault {
    let [_, _, rank, block, phase, peer, want, seen] = words;
    let phase = match phase {
        1 => "to begin",
        2 => "to finish",
        3 => "to send its data",
        4 => "to send its result",
        _ => "to come halfway",
    };
    Fault::new(
        Kind::Timeout,
        format!(
            "rank {rank} gave up waiting for rank {peer} {phase} (block {block}: wanted tick {want}, saw {seen})"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rank: u32, host: &str, gpu: &str, multiprocessors: u32) -> Told {
        Told {
            host: host.to_owned(),
            identity: format!("{host}/boot"),
            number: 1,
            ranks: vec![rank],
            gpus: vec![gpu.to_owned()],
            name: "a GPU".to_owned(),
            multiprocessors,
        }
    }

    #[test]
    fn ranks_on_one_gpu_share_what_it_can_hold_twice_over() {
        let of = |gpus: &[&str]| {
            let ranks = (0..).zip(gpus).map(|(rank, gpu)| told(rank, "a", gpu, 132));
            take_census(ranks.collect(), u32::try_from(gpus.len()).unwrap())
        };
        let alone = of(&["x", "y"]);
        assert_eq!(alone.shape.ranks_per_gpu, 1);
        assert_eq!(alone.resident_threads, 64 * 512);
        let shared = of(&["x"; 8]);
        assert_eq!(shared.shape.ranks_per_gpu, 8);
        assert_eq!(shared.resident_threads, 132 * 512 / 16);
        assert!(shared.refusal.is_none());
    }

    #[test]
    fn what_cannot_be_is_said_with_names() {
        let two = vec![told(0, "a", "x", 132), told(1, "b", "x", 132)];
        let reason = take_census(two, 2).refusal.unwrap();
        assert!(
            reason.contains("rank 0 is on a and rank 1 on b"),
            "{reason}"
        );
        let many = (0..17).map(|rank| told(rank, "a", &rank.to_string(), 132));
        let reason = take_census(many.collect(), 17).refusal.unwrap();
        assert!(reason.contains("16 ranks"), "{reason}");
        let tight = (0..16).map(|rank| told(rank, "a", "x", 2));
        let reason = take_census(tight.collect(), 16).refusal.unwrap();
        assert!(reason.contains("share a GPU"), "{reason}");
    }

    #[test]
    fn a_wait_that_was_given_up_names_who_was_waited_for() {
        let fault = given_up([1, 1, 2, 3, 1, 5, 17, 16]);
        assert_eq!(fault.kind, Kind::Timeout);
        assert!(
            fault
                .message
                .contains("rank 2 gave up waiting for rank 5 to begin"),
            "{fault}"
        );
    }
}
