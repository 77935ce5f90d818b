//! The only room that times: it takes jobs one by one and yields what it measured.
//!
//! No printer, no progress bar and no verdict here. Every engine thread of the world runs the same
//! jobs in the same order; samples meet over the control plane between jobs, never inside a timed window.

pub mod batch;
pub mod clock;
mod graph;
mod lane;
mod marks;
pub mod pair;
mod self_test;
#[cfg(test)]
mod tests;
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
use crate::record::Blocking;
use crate::record::Case;
use crate::record::Mismatches;
use crate::record::Sample;
use crate::record::Tweaks;
use serde::Deserialize;
use serde::Serialize;
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
}

/// What one thread tells the others about a job.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    time_us: f64,
    issue_us: f64,
    found: Option<Mismatches>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    iterations_us: Vec<f64>,
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
        })
    }

    /// Runs one job; `None` for a warm-up.
    ///
    /// # Errors
    /// Whatever ends the run, on any thread of the world.
    pub fn run(&mut self, job: &Job) -> Result<Option<Measured>, Fault> {
        self.plane.pulse().work(true);
        let done = match job.work {
            Work::WarmUp => self.warm_up(job).map(|()| None),
            Work::Measure => self.measure(job).map(Some),
        };
        self.plane.pulse().work(false);
        done
    }

    /// Untimed operations on one size; what the backend does not offer is left to the rows.
    fn warm_up(&mut self, job: &Job) -> Result<(), Fault> {
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
        self.enter(&job.case, "preparing");
        if let Some(reason) = self.try_once(job)? {
            return Ok(Measured::Waived(reason));
        }
        self.enter(&job.case, "measuring");
        let timing = self.time(job)?;
        let iterations_us = self.iteration_times(&job.case)?;
        let found = self.check(job)?;
        self.gather(&job.case, timing, iterations_us, found)
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
        self.fill(job, &recipe, batch::slots_used(self.capacity, &job.case))?;
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

    /// Every thread's figures on every thread, so that all reach the same end.
    fn gather(
        &self,
        case: &Case,
        timing: batch::Timing,
        iterations_us: Vec<f64>,
        found: Option<Mismatches>,
    ) -> Result<Measured, Fault> {
        self.enter(case, "gathering");
        let launches = f64::from(self.rules.tweaks.graph_launches.max(1));
        let per_op = f64::from(case.iterations) * f64::from(case.ops_per_batch) * launches;
        let micros = |spent: Duration| spent.as_secs_f64() * 1e6 / per_op;
        let told = Told {
            time_us: micros(timing.total),
            issue_us: micros(timing.issue),
            found,
            iterations_us,
        };
        let mut sample = Sample::default();
        let mut all: Option<Mismatches> = None;
        for bytes in self
            .plane
            .all_gather(self.step("a row's times"), &bootstrap::encode(&told)?)?
        {
            let told: Told = bootstrap::decode(&bytes)?;
            sample.time_us.push(told.time_us);
            sample.issue_us.push(told.issue_us);
            if self.rules.tweaks.per_iteration.is_some() {
                sample.iterations_us.push(told.iterations_us);
            }
            if let Some(found) = told.found {
                sample.wrong.push(found.wrong);
                all.get_or_insert_default().add(found);
            }
        }
        Ok(Measured::Timed(sample, all))
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
