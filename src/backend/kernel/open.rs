//! Opening a session: who is where, everybody's workspace on every process, streams and kernels.
//!
//! What makes our own collectives impossible here (another host, memory that cannot be reached, too
//! many ranks) is agreed on by all and becomes the reason of waived rows; the session opens anyway.

use super::abort::Links;
use super::census::Census;
use super::census::census;
use super::choice::Chooser;
use super::household::Home;
use super::household::Household;
use super::household::WORKSPACE;
use super::lanes::Opening;
use super::session::KernelSession;
use crate::backend::ThreadSeat;
use crate::base::Env;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::fault::Place;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::ffi::cuda::Driver;
use crate::ffi::cuda::Memory;
use crate::ffi::kernels::collective::FLAGS_AT;
use crate::ffi::kernels::collective::MAX_BLOCKS;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::TICKS_AT;
use crate::ffi::kernels::collective::workspace_bytes;
use std::sync::Arc;
use std::time::Duration;

/// The number that all ticks start from. Nothing that a user needs: a test sets it to see them wrap.
const FIRST_TICK: &str = "NCCLBENCH_FIRST_TICK";

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
    // Where memory is not shared, each lane allocates for itself alone.
    if let (Some(household), Some(_)) = (household, spaces) {
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

pub(super) fn place(seat: &ThreadSeat, index: usize) -> Place {
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
