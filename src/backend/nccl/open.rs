//! Opening a session: the id, the communicators, a stream and the kernels for each rank.
//!
//! The library's calls cannot be given a deadline, so they run in a helper thread while this one
//! watches the clock and the other members. A helper that never comes back is left behind; the
//! process is on its way out then.

use super::Tools;
use super::abort::Links;
use super::ids;
use super::lane::Lane;
use super::lane::Seat;
use super::session::NcclSession;
use crate::backend::Session;
use crate::backend::ThreadSeat;
use crate::backend::check::Checker;
use crate::base::Bytes;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::base::fault::Place;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::ffi::cuda::Context;
use crate::ffi::cuda::Driver;
use crate::ffi::nccl::Comm;
use crate::ffi::nccl::Nccl;
use crate::ffi::nccl::Queue;
use crate::ffi::nccl::Tuning;
use crate::ffi::nccl::UniqueId;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

/// How often a wait looks round.
const LOOK: Duration = Duration::from_millis(1);

/// What every thread tells the others before a communicator exists.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Told {
    nccl: i32,
    oldest_gpu: u32,
}

/// Opens this thread's ranks.
pub(super) fn open(seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<NcclSession, Fault> {
    refuse_non_blocking(seat)?;
    let tools = Tools::load(&seat.wish)?;
    let contexts = contexts(&tools, seat)?;
    let oldest_gpu = compare_notes(&tools, seat, boot)?;
    tools.nccl.require_tuning(tuning(seat))?;
    let before = free_memory(&tools, &contexts)?;
    let ids = ids::share(&tools, seat, boot)?;
    let comms = join(&tools, seat, &contexts, ids, boot)?;
    let links = Links::new(
        Arc::clone(&tools.nccl),
        Arc::clone(&seat.clock),
        comms.clone(),
    );
    let after = free_memory(&tools, &contexts);
    let mut session = NcclSession::new(tools, links, seat);
    match after {
        Ok(after) => session.keep_initialization(&before, &after),
        Err(fault) => return Err(give_up(&session, fault)),
    }
    for (index, (&comm, &context)) in comms.iter().zip(&contexts).enumerate() {
        match lane(&session, seat, index, comm, context, oldest_gpu) {
            Ok(lane) => session.add(lane),
            Err(fault) => return Err(give_up(&session, fault)),
        }
    }
    Ok(session)
}

/// Aborts what was opened: destroying would wait for ranks that are not told to come.
fn give_up(session: &NcclSession, fault: Fault) -> Fault {
    session.aborter().abort();
    fault
}

fn tuning(seat: &ThreadSeat) -> Tuning {
    Tuning {
        cta_policy: seat.wish.comm.cta_policy,
        p2p_peers: seat.wish.comm.p2p_peers,
    }
}

/// Free bytes of each rank's device.
fn free_memory(tools: &Tools, contexts: &[Context]) -> Result<Vec<Bytes>, Fault> {
    let free = |&context: &Context| {
        tools.driver.set_current(context)?;
        Ok(Bytes(tools.driver.memory_info()?.0))
    };
    contexts.iter().map(free).collect()
}

/// A variable that would turn our blocking communicators into others, on which calls return
/// before they have done anything.
///
/// # Source
/// NCCL 2.30.7, `src/init.cc`, `envConfigOverride`.
fn refuse_non_blocking(seat: &ThreadSeat) -> Result<(), Fault> {
    match seat.wish.env.get("NCCL_COMM_BLOCKING") {
        Some("0") => Err(Fault::usage(
            "`NCCL_COMM_BLOCKING=0` would make NCCL start a thread for every operation that is timed",
        )
        .hint("unset `NCCL_COMM_BLOCKING`")),
        _ => Ok(()),
    }
}

fn contexts(tools: &Tools, seat: &ThreadSeat) -> Result<Vec<Context>, Fault> {
    let mut contexts = Vec::with_capacity(seat.devices.len());
    for (index, &ordinal) in seat.devices.iter().enumerate() {
        let context = tools
            .driver
            .device(ordinal)
            .and_then(|device| tools.driver.primary_context(device))
            .while_doing(|| format!("taking device {ordinal}"))
            .map_err(|fault| fault.at(place(seat, index)))?;
        contexts.push(context);
    }
    Ok(contexts)
}

/// Refuses two versions of NCCL in one world; returns the oldest compute capability.
fn compare_notes(tools: &Tools, seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<u32, Fault> {
    let mut mine = Told {
        nccl: tools.nccl.version(),
        oldest_gpu: u32::MAX,
    };
    for &ordinal in &seat.devices {
        let capability = tools
            .driver
            .compute_capability(tools.driver.device(ordinal)?)?;
        mine.oldest_gpu = mine.oldest_gpu.min(capability);
    }
    let said = boot.decide(
        step(seat, "NCCL's version on every rank"),
        &bootstrap::encode(&mine)?,
        &put_together,
    )?;
    let all: Told = bootstrap::decode(&said)?;
    Ok(all.oldest_gpu)
}

/// One version, and the oldest compute capability of all.
fn put_together(said: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let mut all: Option<Told> = None;
    for (member, bytes) in said.iter().enumerate() {
        let theirs: Told = bootstrap::decode(bytes)?;
        let all = all.get_or_insert(theirs);
        if theirs.nccl != all.nccl {
            return Err(two_versions(*all, member, theirs));
        }
        all.oldest_gpu = all.oldest_gpu.min(theirs.oldest_gpu);
    }
    bootstrap::encode(&all)
}

fn two_versions(first: Told, other: usize, theirs: Told) -> Fault {
    Fault::new(
        Kind::Disagree,
        format!(
            "threads disagree on NCCL: thread 0 has loaded version {}, thread {other} has {}",
            first.nccl, theirs.nccl
        ),
    )
    .hint("name the same library on every host with `--nccl-lib PATH` or `NCCLBENCH_NCCL`")
}

/// Joins the communicator in a helper thread and waits for that, for the limit or for the end of
/// the run elsewhere, whichever is first.
fn join(
    tools: &Tools,
    seat: &ThreadSeat,
    contexts: &[Context],
    ids: Vec<UniqueId>,
    boot: &dyn Bootstrap,
) -> Result<Vec<Comm>, Fault> {
    let (send, receive) = mpsc::channel();
    let call = Nccl::joining_call(ids.len());
    let (tools, contexts) = (tools.clone(), contexts.to_vec());
    let (world, tuning) = (seat.world.0, tuning(seat));
    let ranks: Vec<u32> = seat.ranks.iter().map(|rank| rank.0).collect();
    let job = move || {
        let select = |index: usize| tools.driver.set_current(contexts[index]);
        let joined = tools.nccl.join(&ids, world, &ranks, tuning, &select);
        // Nobody listens any more where the limit has passed.
        drop(send.send(joined));
    };
    std::thread::Builder::new()
        .name("nccl init".to_owned())
        .spawn(job)
        .map_err(|error| Fault::new(Kind::Call, format!("starting a thread: {error}")))?;
    let joined = wait_for_join(seat, &receive, call, boot)?;
    joined.map_err(|fault| fault.at(place(seat, 0)))
}

fn wait_for_join(
    seat: &ThreadSeat,
    joined: &mpsc::Receiver<Result<Vec<Comm>, Fault>>,
    call: &str,
    boot: &dyn Bootstrap,
) -> Result<Result<Vec<Comm>, Fault>, Fault> {
    let start = seat.clock.now();
    loop {
        match joined.try_recv() {
            Ok(joined) => return Ok(joined),
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return Err(helper_died()),
        }
        if let Some(fault) = boot.ended() {
            return Err(fault);
        }
        if seat.clock.now().saturating_sub(start) >= seat.limit {
            return Err(too_late(seat, call));
        }
        seat.clock.pause(LOOK);
    }
}

fn helper_died() -> Fault {
    Fault::new(Kind::Call, "the thread that initialises NCCL has died")
}

fn too_late(seat: &ThreadSeat, call: &str) -> Fault {
    Fault::new(
        Kind::Timeout,
        format!(
            "{call} has not come back within {} s",
            seat.limit.as_secs_f64()
        ),
    )
    .at(place(seat, 0))
    .hint("run once more with `NCCL_DEBUG=INFO` and look for the ranks that never connect")
    .hint("on AWS the security group must let its own members in and out")
}

fn lane(
    session: &NcclSession,
    seat: &ThreadSeat,
    index: usize,
    comm: Comm,
    context: Context,
    oldest_gpu: u32,
) -> Result<Lane, Fault> {
    let here = place(seat, index);
    let tools = session.tools().clone();
    let driver = &tools.driver;
    let make = || {
        driver.set_current(context)?;
        let stream = if seat.wish.comm.null_stream {
            Driver::null_stream()
        } else {
            driver.stream()?
        };
        let checker = Checker::new(driver, driver.device(seat.devices[index])?, stream)?;
        Ok((Queue { comm, stream }, checker))
    };
    let (queue, checker) = make().map_err(|fault: Fault| fault.at(here.clone()))?;
    Ok(Lane {
        links: session.links(),
        queue,
        context,
        buffers: Vec::new(),
        checker,
        seat: Seat {
            rank: seat.ranks[index],
            world: seat.world,
            place: here,
            oldest_gpu,
        },
        operators: Default::default(),
        tools,
    })
}

fn place(seat: &ThreadSeat, index: usize) -> Place {
    Place {
        rank: seat.ranks[index].0,
        host: seat.host.clone(),
        gpu: Some(seat.devices[index]),
    }
}

pub(super) fn step<'a>(seat: &ThreadSeat, name: &'a str) -> Step<'a> {
    Step {
        name,
        limit: seat.limit,
    }
}
