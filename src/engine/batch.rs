//! The timed loop: nothing in it but launch and mark.
//!
//! # Source
//! nccl-tests 2.19.6, `src/common.cu`, `BenchTime`: barrier, host clock, n×m operations enqueued
//! back to back over rotating parts of the buffers, poll to completion, clock; time / (n·m).

use super::Engine;
use super::lane::Lane;
use crate::base::Bytes;
use crate::base::Fault;
use crate::collective::Call;
use crate::plan::Job;
use crate::plan::effort;
use crate::record::Blocking;
use crate::record::Case;
use std::time::Duration;

/// How long a timed loop took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// From the start line to the completion of the last operation.
    pub total: Duration,
    /// The part spent enqueueing.
    pub issue: Duration,
    /// The wait at the start line before it.
    pub waited: Duration,
}

/// How many parts of the buffers the operations of a job rotate over. Under `--iters auto` a batch has
/// up to a thousand iterations, and data for all of them would take longer to make than to send.
pub(super) fn slots(capacity: Bytes, job: &Job) -> u64 {
    let slots = capacity.0.checked_div(job.case.size.0);
    let slots = slots.map_or(1, |slots| slots.max(1));
    match job.effort.precision {
        None => slots,
        Some(_) => slots.min(effort::ROTATED * u64::from(job.case.ops_per_batch)),
    }
}

/// How many of them one timed loop touches.
pub(super) fn slots_used(capacity: Bytes, job: &Job) -> u64 {
    let operations = u64::from(job.case.iterations) * u64::from(job.case.ops_per_batch);
    let slots = slots(capacity, job);
    match operations {
        0 => slots, // as many as are needed
        operations => slots.min(operations),
    }
}

/// How many polls pass between two looks at whether the run has ended elsewhere.
const POLLS_BETWEEN_LOOKS: u32 = 256;

impl Engine<'_> {
    /// Times one job from a common start line.
    pub(super) fn time(&mut self, job: &Job) -> Result<Timing, Fault> {
        self.prepare_marks(&job.case)?;
        let arrived = self.clock.now();
        self.plane.start_line(self.step("the start line"))?;
        let waited = self.since(arrived);
        let timing = match self.rules.blocking {
            _ if self.rules.tweaks.graph_launches > 0 => {
                self.time_graph(job, self.rules.tweaks.graph_launches)
            }
            Blocking::BarrierOutside => self.time_each_iteration(job),
            _ => self.time_all(job),
        }?;
        Ok(Timing { waited, ..timing })
    }

    /// Operations in a timed loop of a case.
    pub(super) fn operations(&self, case: &Case) -> f64 {
        let launches = f64::from(self.rules.tweaks.graph_launches.max(1));
        f64::from(case.iterations) * f64::from(case.ops_per_batch) * launches
    }

    fn time_all(&mut self, job: &Job) -> Result<Timing, Fault> {
        let start = self.clock.now();
        for iteration in 0..job.case.iterations {
            self.mark_start(iteration)?;
            self.iterate(job, iteration)?;
        }
        self.mark_start(job.case.iterations)?;
        let issue = self.since(start);
        self.drain()?;
        Ok(Timing {
            total: self.since(start),
            issue,
            waited: Duration::ZERO,
        })
    }

    fn time_each_iteration(&mut self, job: &Job) -> Result<Timing, Fault> {
        let mut sum = Timing::default();
        for iteration in 0..job.case.iterations {
            let start = self.clock.now();
            self.mark_start(iteration)?;
            self.iterate(job, iteration)?;
            sum.issue += self.since(start);
            self.drain()?;
            self.mark_end(iteration)?;
            sum.total += self.since(start);
            self.plane
                .start_line(self.step("the barrier after an iteration"))?;
        }
        Ok(sum)
    }

    /// One iteration: `ops_per_batch` operations, in one group if there are several. Where an
    /// operation has rounds, the group is one round of all of them.
    pub(super) fn iterate(&mut self, job: &Job, iteration: u32) -> Result<(), Fault> {
        let m = job.case.ops_per_batch;
        let first = u64::from(iteration) * u64::from(m);
        for round in 0..job.what.rounds(self.world) {
            if m == 1 {
                self.launch(job, first, round)?;
                continue;
            }
            let this = &*self;
            this.session.group(&mut || {
                (0..u64::from(m)).try_for_each(|op| this.launch(job, first + op, round))
            })?;
        }
        self.plane.pulse().accepted();
        if self.rules.launches_block {
            self.plane.pulse().caught_up();
        }
        self.after_operation()
    }

    /// Enqueues one round of operation `index` on every lane of this thread.
    fn launch(&self, job: &Job, index: u64, round: u32) -> Result<(), Fault> {
        let shift = index % slots(self.capacity, job) * job.case.size.0;
        if round == 0 {
            self.plane.pulse().issued(1);
        }
        let launch = |index: usize, lane: &Lane| {
            let call = Call {
                round,
                ..lane.call(&job.case, shift)
            };
            let ops = self.session.ops(index);
            job.what.launch(ops, &call, &job.layout)
        };
        if let [lane] = self.lanes.as_slice() {
            return launch(0, lane);
        }
        self.session.group(&mut || {
            let mut lanes = self.lanes.iter().enumerate();
            lanes.try_for_each(|(index, lane)| launch(index, lane))
        })
    }

    pub(super) fn since(&self, start: Duration) -> Duration {
        self.clock.now().saturating_sub(start)
    }

    fn after_operation(&mut self) -> Result<(), Fault> {
        match self.rules.blocking {
            Blocking::None | Blocking::BarrierOutside => Ok(()),
            Blocking::Wait => self.drain(),
            Blocking::WaitAndBarrier => {
                self.drain()?;
                self.plane
                    .barrier(self.step("the barrier after an operation"))
            }
        }
    }

    /// Enqueues one operation at the start of the buffers.
    pub(super) fn enqueue_once(&mut self, job: &Job) -> Result<(), Fault> {
        (0..job.what.rounds(self.world)).try_for_each(|round| self.launch(job, 0, round))?;
        self.plane.pulse().accepted();
        Ok(())
    }

    /// Polls until all enqueued work is complete; gives the processor away between polls.
    pub(super) fn drain(&mut self) -> Result<(), Fault> {
        let mut polls = 0u32;
        while !self.session.poll()? {
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_BETWEEN_LOOKS)
                && let Some(fault) = self.plane.ended()
            {
                return Err(fault);
            }
            std::thread::yield_now();
        }
        self.plane.pulse().caught_up();
        Ok(())
    }
}
