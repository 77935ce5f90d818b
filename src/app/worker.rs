//! One engine thread from opening its session to its last row.
//!
//! Every thread of the world goes through the same steps; the first one also writes.

use super::berths::Berths;
use super::conditions;
use super::memory::Gauge;
use super::memory_limit::clamp;
use super::memory_limit::memory_limit;
use super::narrator::Narrator;
use super::path;
use super::rounds;
use super::sweep::Stop;
use crate::backend::Backend;
use crate::backend::Session;
use crate::backend::ThreadSeat;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::fault::Place;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::digest::Average;
use crate::digest::Figures;
use crate::engine::Engine;
use crate::engine::Rules;
use crate::engine::Seats;
use crate::plan;
use crate::plan::PlanSpec;
use crate::plan::Work;
use crate::probe::throttle::Throttle;
use crate::record::BandwidthFloor;
use crate::record::MemoryUse;
use std::sync::Arc;
use std::time::Duration;

/// How a sweep goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SweepWays {
    /// Rows of an interrupted run may be there already.
    pub(super) resumes: bool,
    /// The bytes have to go some way.
    pub(super) path_is_required: bool,
}

/// What all threads of a process share.
#[derive(Debug)]
pub(super) struct Common<'a> {
    pub(super) backend: &'static dyn Backend,
    pub(super) berths: &'a Berths,
    /// What is measured, part by part.
    pub(super) parts: Vec<PlanSpec>,
    /// How many parts each step has.
    pub(super) steps: Vec<usize>,
    /// What only a sweep does; none of a plain measurement.
    pub(super) sweep: Option<SweepWays>,
    /// Sizes that do not fit into memory are left out; else they are an error.
    pub(super) may_clamp: bool,
    pub(super) average: Average,
    /// The mean bus bandwidth that is asked for, where one is.
    pub(super) floor_gbps: Option<f64>,
    pub(super) exit: super::ending::Exit,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) path: Arc<path::Watch>,
    pub(super) rules: Rules,
    pub(super) init_limit: Duration,
    /// Engine threads of each process.
    pub(super) threads_each: usize,
}

/// What a run came to; the same on every thread of the world.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) figures: Figures,
    /// The bytes did not go the way that was required.
    pub(super) path_missed: bool,
    /// What the run took of the devices' memory, where that was asked for and is known.
    pub(super) memory: Option<MemoryUse>,
    /// How the run stands against the bandwidth that is asked for, where one is.
    pub(super) floor: Option<BandwidthFloor>,
    /// The step that ended the sweep.
    pub(super) stop: Option<Stop>,
    /// The exit code that floors and the baseline call for; 0 where there are none.
    pub(super) judged: u8,
}

impl Tally {
    /// The exit code: wrong data before everything, and a run that measured nothing is no success.
    /// A bandwidth that was asked for is a gate.
    pub(super) fn exit_code(&self) -> u8 {
        let missed = self.path_missed || self.floor.is_some_and(|floor| !floor.met);
        match &self.stop {
            _ if self.figures.wrong_measurements > 0 => 5,
            Some(stop) => stop.code,
            None if self.figures.measured == 0 => 3,
            None if missed => 6,
            None => self.judged,
        }
    }
}

/// Runs one thread. `narrator` is there on the first thread of the world only.
///
/// # Errors
/// Whatever ends the run.
pub(super) fn work(
    common: &Common<'_>,
    seat: &ThreadSeat,
    plane: &dyn Bootstrap,
    mut narrator: Option<&mut Narrator<'_>>,
) -> Result<Tally, Fault> {
    plane.pulse().enter("opening the communicator");
    let started = common.clock.now();
    let mut session = open(common, seat, plane)?;
    let opened = common.clock.now();
    common.exit.add(session.aborter());
    common.path.opened();
    let limit = memory_limit(common, seat, &*session, plane)?;
    let parts = clamp(&common.parts, limit, common.may_clamp)?;
    agree_on_plan(common, &parts, plane)?;
    let call = call(&parts, &*session);
    let tweaks = &parts[0].tweaks;
    let mut gauge =
        Gauge::wished(tweaks, &*session, seat.ranks.len()).map_err(at_place(common, seat))?;
    let without = without_marks(common, &parts, &*session);
    let mut engine = engine(common, seat, &parts, session.as_mut(), plane)?;
    let prepared = engine.prepare(tweaks.registration);
    let mut notes = prepared.map_err(at_place(common, seat))?;
    notes.extend(without);
    let allocated = common.clock.now();
    if let Some(gauge) = &mut gauge {
        gauge.buffers(&engine).map_err(at_place(common, seat))?;
    }
    prove_checker(common, &parts[0], seat, plane, &mut engine)?;
    engine.watch_clocks(Throttle::open(conditions::uuids(common, seat)));
    let before = conditions::gather(common, seat, plane)?;
    if let Some(narrator) = narrator.as_deref_mut() {
        narrator.note(notes);
        narrator.took("communicator", opened.saturating_sub(started));
        narrator.took("buffers", allocated.saturating_sub(opened));
        narrator.seen(common.path.seen(&seat.host));
        narrator.conditions(before);
        narrator.begin(&parts, limit, call)?;
    }
    let mut tally = measured(common, (seat, plane), &parts, &mut engine, narrator)?;
    if let Some(mut gauge) = gauge {
        gauge.operations(&engine).map_err(at_place(common, seat))?;
        let all = gauge.agree(plane, step("the memory taken", common.init_limit))?;
        tally.memory = Some(all);
    }
    plane.pulse().enter("closing the communicator");
    drop(session);
    plane.barrier(step("the end of the run", common.init_limit))?;
    Ok(tally)
}

/// All rows, and what they come to.
fn measured(
    common: &Common<'_>,
    (seat, plane): (&ThreadSeat, &dyn Bootstrap),
    parts: &[PlanSpec],
    engine: &mut Engine<'_>,
    mut narrator: Option<&mut Narrator<'_>>,
) -> Result<Tally, Fault> {
    let ours = path::Ours {
        seat,
        berths: common.berths,
        plane,
    };
    common.path.before(&ours)?;
    let rows = (narrator.as_deref_mut(), &ours);
    let mut tally = rounds::run(common, parts, engine, rows)?;
    let after = conditions::gather(common, seat, plane)?;
    if let Some(narrator) = narrator.as_deref_mut() {
        narrator.conditions(after);
    }
    tally.path_missed = common.path.is_missed(&ours, narrator.as_deref())?;
    if common.sweep.is_some() {
        tally.judged = judged(common, plane, &tally, narrator)?;
    }
    Ok(tally)
}

/// Adds to a fault where it happened.
fn at_place<'a>(common: &'a Common<'_>, seat: &'a ThreadSeat) -> impl Fn(Fault) -> Fault + 'a {
    |fault| fault.at(place(common, seat))
}

/// The exit code that floors and the baseline call for, as the first thread finds it.
fn judged(
    common: &Common<'_>,
    plane: &dyn Bootstrap,
    tally: &Tally,
    narrator: Option<&mut Narrator<'_>>,
) -> Result<u8, Fault> {
    plane.pulse().enter("judging the sweep");
    let mine = match narrator {
        Some(narrator) => narrator.judge(tally.stop.as_ref(), tally.exit_code()),
        None => 0,
    };
    let step = step("the verdict", common.init_limit);
    bootstrap::decode(&plane.broadcast(step, &bootstrap::encode(&mine)?)?)
}

fn open(
    common: &Common<'_>,
    seat: &ThreadSeat,
    plane: &dyn Bootstrap,
) -> Result<Box<dyn Session>, Fault> {
    let opened = common.backend.open(seat, plane).while_doing(|| {
        format!(
            "opening a communicator of {} ranks on backend `{}`",
            seat.world,
            common.backend.name()
        )
    });
    // A fault ends the run at once instead of being agreed on: the other ranks wait for this one
    // inside the library, and what they would say after their deadline is not the cause.
    let session = opened.map_err(|fault| fault.at(place(common, seat)))?;
    plane.pulse().enter("waiting for the others' communicators");
    plane.barrier(step("the communicator", common.init_limit))?;
    Ok(session)
}

/// What a reader must know where single operations were wished for and cannot be timed.
fn without_marks(common: &Common<'_>, parts: &[PlanSpec], session: &dyn Session) -> Option<String> {
    let wished = parts.iter().any(|part| part.effort.distribution);
    (wished && session.events().is_none()).then(|| {
        let backend = common.backend.name();
        format!("single operations are not timed: backend `{backend}` has no marks")
    })
}

/// The header's word for how the library runs what is measured; `mixed` where that differs.
fn call(parts: &[PlanSpec], session: &dyn Session) -> &'static str {
    let is_native = |part: &PlanSpec| session.ops(0).has_native(part.collective.name());
    let native = parts.iter().filter(|part| is_native(part)).count();
    if native == parts.len() {
        "native"
    } else if native == 0 {
        "composed"
    } else {
        "mixed"
    }
}

/// The two halves of a result, so that the fault can travel and the value stay.
fn split<T>(result: Result<T, Fault>) -> (Option<T>, Result<(), Fault>) {
    match result {
        Ok(value) => (Some(value), Ok(())),
        Err(fault) => (None, Err(fault)),
    }
}

/// Compares digests before the first launch: ranks that would do different things stop here.
fn agree_on_plan(
    common: &Common<'_>,
    parts: &[PlanSpec],
    plane: &dyn Bootstrap,
) -> Result<(), Fault> {
    let mine = plan::digest_of(parts, common.berths.world());
    let step = step("the plan's digest", common.init_limit);
    plane.decide(step, mine.as_bytes(), &one_plan).map(drop)
}

/// Nothing, if all digests are one.
fn one_plan(all: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let differs = all.iter().position(|theirs| theirs != &all[0]);
    let Some(other) = differs else {
        return Ok(Vec::new());
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(Fault::new(
        Kind::Disagree,
        format!(
            "ranks disagree on the plan: the first thread has {}, thread {other} has {}",
            text(&all[0]),
            text(&all[other])
        ),
    )
    .hint(
        "start all processes with the same options; compare `ncclbench … --dry-run` on both hosts",
    ))
}

fn engine<'s>(
    common: &Common<'_>,
    seat: &ThreadSeat,
    parts: &[PlanSpec],
    session: &'s mut dyn Session,
    plane: &'s dyn Bootstrap,
) -> Result<Engine<'s>, Fault> {
    let seats = Seats {
        world: seat.world,
        gpus: seat
            .ranks
            .iter()
            .map(|&rank| gpu(common.berths, rank))
            .collect(),
        ranks: seat.ranks.clone(),
        host: seat.host.clone(),
    };
    let clock = Arc::clone(&common.clock);
    let made = Engine::new(
        session,
        plane,
        clock,
        &seats,
        plan::max_bytes_of(parts),
        common.rules,
    );
    let (engine, outcome) = split(made.map_err(|fault| fault.at(place(common, seat))));
    plane.agree(step("the buffers", common.init_limit), outcome)?;
    engine.ok_or_else(|| Fault::new(Kind::Peer, "another rank could not allocate its buffers"))
}

/// Shows the checker planted damage, with the plan's first datatype, before anything is measured.
fn prove_checker(
    common: &Common<'_>,
    spec: &PlanSpec,
    seat: &ThreadSeat,
    plane: &dyn Bootstrap,
    engine: &mut Engine<'_>,
) -> Result<(), Fault> {
    let jobs = plan::jobs(spec, common.berths.world(), 0)?;
    let first = jobs.iter().find(|job| job.work == Work::Measure);
    let proved = first.map_or(Ok(()), |job| engine.prove_checker(job));
    let proved = proved.map_err(|fault| fault.at(place(common, seat)));
    plane.agree(step("the checker's test", common.init_limit), proved)
}

pub(super) fn step(name: &str, limit: Duration) -> Step<'_> {
    Step { name, limit }
}

/// Where a thread is, for its faults.
pub(super) fn place(common: &Common<'_>, seat: &ThreadSeat) -> Place {
    let first = seat.ranks.first().copied().unwrap_or(Rank(0));
    Place {
        rank: first.0,
        host: seat.host.clone(),
        gpu: gpu(common.berths, first),
    }
}

/// The GPU of a rank; what has no UUID is none.
pub(super) fn gpu(berths: &Berths, rank: Rank) -> Option<u32> {
    let device = berths.device(rank);
    device.uuid.as_ref().map(|_| device.ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_measured_nothing_is_no_success_and_wrong_data_outweighs_it() {
        assert_eq!(Tally::default().exit_code(), 3);
        let figures = Figures {
            wrong_measurements: 1,
            ..Figures::default()
        };
        let tally = Tally {
            figures,
            path_missed: true,
            ..Tally::default()
        };
        assert_eq!(tally.exit_code(), 5);
    }
}
