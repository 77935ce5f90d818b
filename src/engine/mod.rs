//! The only room that times: it takes jobs one by one and yields what it measured.
//!
//! No printer, no progress bar and no verdict here. Every engine thread of the world runs the same
//! jobs in the same order; samples meet over the control plane between jobs, never inside a timed window.

mod auto;
pub mod batch;
pub mod clock;
mod distribution;
pub mod exchange;
mod graph;
mod lane;
mod marks;
pub mod pair;
mod self_test;
#[cfg(test)]
mod tests;
mod told;
mod tweaks;
mod verify;
pub mod watch;

pub use clock::SystemClock;
pub use lane::Seats;
pub use tweaks::padding;
pub use watch::Watch;

use crate::backend::Session;
use crate::base::Bytes;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::World;
use crate::base::pattern;
use crate::base::pattern::Recipe;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::plan::Job;
use crate::plan::Work;
use crate::probe::throttle::Throttle;
use crate::record::Blocking;
use crate::record::Case;
use crate::record::Mismatches;
use crate::record::Sample;
use crate::record::Tweaks;
use std::sync::Arc;
use std::time::Duration;

/// Into how many parts operations that are not timed are cut, after each of which they are waited
/// for: only then is it known that they have got on.
const MARKS: u32 = 8;

/// How an engine measures.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Whether operations are waited for one by one.
    pub blocking: Blocking,
    /// How long members may wait for each other between operations.
    pub control_limit: Duration,
    /// Whether an operation is complete when its call returns.
    pub launches_block: bool,
    /// Seed of the data; every check draws a fresh one from it.
    pub seed: u64,
    /// What is different from the usual loop.
    pub tweaks: Tweaks,
}

/// What a job gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// Times of all threads, and what the check found; none where it was not checked.
    Timed(Sample, Option<Mismatches>),
    /// The backend does not offer it; the reason.
    Waived(String),
}

/// One engine thread: a session, its buffers and its place on the control plane.
pub struct Engine<'a> {
    session: &'a mut dyn Session,
    plane: &'a dyn Bootstrap,
    lanes: Vec<lane::Lane>,
    world: World,
    /// Size of each send and each receive buffer.
    capacity: Bytes,
    clock: Arc<dyn Clock>,
    rules: Rules,
    draws: u64,
    /// What was warmed up before anything was measured, and the measurements so far.
    warm_ups: u64,
    rows: u64,
    /// What warming up has taken since the last row.
    warming: Duration,
    /// What tells whether something holds the clocks back.
    throttle: Option<Throttle>,
}

impl<'a> Engine<'a> {
    /// Allocates a send and a receive buffer of `capacity` bytes on each lane, and what the tweaks need
    /// beyond it.
    ///
    /// # Errors
    /// `Call` where the memory is not to be had, `Usage` for tweaks that exclude each other.
    pub fn new(
        session: &'a mut dyn Session,
        plane: &'a dyn Bootstrap,
        clock: Arc<dyn Clock>,
        seats: &Seats,
        capacity: Bytes,
        rules: Rules,
    ) -> Result<Self, Fault> {
        let world = seats.world;
        tweaks::check(&rules.tweaks, rules.blocking)?;
        let lanes = lane::allocate(session, seats, capacity, &rules.tweaks)?;
        let clock = session.clock().unwrap_or(clock);
        Ok(Self {
            session,
            plane,
            lanes,
            world,
            capacity,
            clock,
            rules,
            draws: 0,
            warm_ups: 0,
            rows: 0,
            warming: Duration::ZERO,
            throttle: None,
        })
    }

    /// Asks after each row's timed loop what holds the clocks back.
    pub fn watch_clocks(&mut self, throttle: Option<Throttle>) {
        self.throttle = throttle;
    }

    /// Runs one job; `None` for a warm-up.
    ///
    /// # Errors
    /// Whatever ends the run, on any thread of the world.
    pub fn run(&mut self, job: &Job) -> Result<Option<Measured>, Fault> {
        self.plane.pulse().work(true);
        let done = match job.work {
            Work::WarmUp => {
                let begun = self.clock.now();
                let done = self.warm_up(job);
                self.warming += self.since(begun);
                done.map(|()| None)
            }
            Work::Measure => self.measure(job).map(Some),
        };
        self.plane.pulse().work(false);
        done
    }

    /// Untimed operations on one size; what the backend does not offer is left to the rows.
    fn warm_up(&mut self, job: &Job) -> Result<(), Fault> {
        self.warm_ups += u64::from(self.rows == 0);
        self.enter(&job.case, "warming up");
        let part = job.case.iterations.div_ceil(MARKS);
        for iteration in 1..=job.case.iterations {
            match self.enqueue_once(job) {
                Err(fault) if fault.kind == Kind::Unsupported => return Ok(()),
                other => other?,
            }
            if iteration.is_multiple_of(part) {
                self.drain()?;
            }
        }
        self.drain()
    }

    fn measure(&mut self, job: &Job) -> Result<Measured, Fault> {
        let started = self.clock.now();
        self.enter(&job.case, "preparing");
        if let Some(reason) = self.try_once(job)? {
            return Ok(Measured::Waived(reason));
        }
        self.rows += 1;
        self.enter(&job.case, "measuring");
        let begun = self.clock.now();
        let mut told = self.headline(job)?;
        told.throttled = self.throttle.as_ref().map_or_else(Vec::new, Throttle::now);
        told.iterations_us = self.iteration_times(&job.case)?;
        self.single_operations(job, &mut told)?;
        let checking = self.clock.now();
        told.found = self.check(job)?;
        told.spent.warming_ms = told::millis(std::mem::take(&mut self.warming));
        told.spent.preparing_ms = told::millis(begun.saturating_sub(started));
        told.spent.checking_ms = told::millis(self.since(checking));
        told.spent.whole_ms = told::millis(self.since(started));
        self.gather(&job.case, told)
    }

    /// One untimed operation on fresh data, and agreement on whether there is such a thing here.
    ///
    /// The data is made even where nothing will be checked: what memory happens to hold may be
    /// slow to compute with (subnormal numbers) or draw another power.
    ///
    /// Only whether it is offered is agreed on. Any other fault is returned at once: the other
    /// ranks wait for this one inside the library and would not come to an agreement.
    fn try_once(&mut self, job: &Job) -> Result<Option<String>, Fault> {
        let recipe = self.draw(job);
        self.fill(job, &recipe, batch::slots_used(self.capacity, job))?;
        let refused = match self.enqueue_once(job) {
            Ok(()) => None,
            Err(fault) if fault.kind == Kind::Unsupported => Some(fault.message),
            Err(fault) => return Err(fault),
        };
        let reason = self.agree_on_offer(refused.as_deref())?;
        if reason.is_none() {
            self.drain()?;
        }
        Ok(reason)
    }

    /// Why an operation is not offered, if no thread's session offers it.
    fn agree_on_offer(&self, refused: Option<&str>) -> Result<Option<String>, Fault> {
        let step = self.step("the first operation of a size");
        let mut said = Vec::new();
        for bytes in self.plane.all_gather(step, &bootstrap::encode(&refused)?)? {
            said.push(bootstrap::decode::<Option<String>>(&bytes)?);
        }
        let without = said.iter().position(Option::is_some);
        let with = said.iter().position(Option::is_none);
        match (without, with) {
            (Some(without), Some(with)) => Err(Fault::new(
                Kind::Disagree,
                format!("thread {with} can run an operation that thread {without} cannot"),
            )
            .detail(said.swap_remove(without).unwrap_or_default())
            .hint("use the same libraries and the same sort of GPU on every rank")),
            _ => Ok(said.into_iter().flatten().next()),
        }
    }

    /// Whether this is the first row and nothing came before it.
    fn is_cold(&self) -> bool {
        self.rows == 1 && self.warm_ups == 0
    }

    /// A recipe with a seed that no other operation of this run has had.
    fn draw(&mut self, job: &Job) -> Recipe {
        self.draws += 1;
        Recipe {
            seed: self
                .rules
                .seed
                .wrapping_add(self.draws.wrapping_mul(pattern::SEED_STEP)),
            dtype: job.case.dtype,
            redop: job.case.redop.filter(|_| job.reduces()),
            world: self.world,
        }
    }

    fn enter(&self, case: &Case, doing: &str) {
        self.plane
            .pulse()
            .enter(format!("{doing} {} {}", case.size, case.placement));
    }

    fn step<'s>(&self, name: &'s str) -> Step<'s> {
        Step {
            name,
            limit: self.rules.control_limit,
        }
    }
}

impl std::fmt::Debug for Engine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("lanes", &self.lanes)
            .field("capacity", &self.capacity)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
