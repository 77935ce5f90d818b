//! `--iters auto`: batch after batch until the median is known well enough or the time is spent.
//!
//! Whatever decides how to go on (how long a batch is, when to look, whether to stop) follows from
//! figures that all threads of the world share, so that all do the same. They are exchanged between
//! batches, never inside a timed window. `docs/METHOD.md` explains the method.

use super::Engine;
use super::batch::Timing;
use crate::base::Fault;
use crate::base::stats::interval;
use crate::base::stats::order;
use crate::bootstrap;
use crate::plan::Job;
use crate::plan::Precision;
use crate::plan::effort;
use crate::record::Sampling;
use crate::record::Stop;
use std::time::Duration;

/// What this thread measured, and what all came to.
#[derive(Debug)]
pub(super) struct Sampled {
    /// One operation in µs on this thread, the median of its batches.
    pub(super) time_us: f64,
    /// The part spent enqueueing, likewise.
    pub(super) issue_us: f64,
    /// How long this thread waited at the last start line.
    pub(super) waited: Duration,
    /// This thread's time inside timed windows.
    pub(super) timed: Duration,
    /// The same on all threads.
    pub(super) sampling: Sampling,
}

/// This thread's batches that the others do not know yet, and all that all know.
#[derive(Debug, Default)]
struct Series {
    mine_us: Vec<f64>,
    issue_us: Vec<f64>,
    /// Of the slowest thread; as long as what was exchanged.
    slowest_us: Vec<f64>,
    waited: Duration,
    timed: Duration,
}

impl Engine<'_> {
    /// Measures a job until its median is known as well as `wanted` says.
    pub(super) fn sample(&mut self, job: &Job, wanted: Precision) -> Result<Sampled, Fault> {
        let mut series = Series::default();
        let iterations = self.pilot(job, &mut series)?;
        let job = with_iterations(job, iterations);
        let per_op = self.operations(&job.case);
        let stop = loop {
            let known = series.slowest_us.len();
            let next =
                effort::next_look(known).min(known + fitting(&series, per_op, wanted.budget));
            while series.mine_us.len() < next {
                let timing = self.time(&job)?;
                series.take(timing, per_op);
            }
            self.exchange(&mut series)?;
            if let Some(stop) = why_stop(&series.slowest_us, per_op, wanted) {
                break stop;
            }
        };
        Ok(series.finish(wanted, stop, iterations))
    }

    /// How many iterations make a batch, from batches that are not counted: what comes first on a size
    /// is not what follows. The longest of all threads' times decides.
    fn pilot(&mut self, job: &Job, series: &mut Series) -> Result<u32, Fault> {
        let mut iterations = 1;
        for _ in 0..2 {
            let timing = self.time(&with_iterations(job, iterations))?;
            series.timed += timing.total;
            let longest = self.longest(timing.total / iterations)?;
            iterations = effort::batch_iterations(longest);
            if iterations < effort::FEWEST_PER_BATCH {
                break; // a single one is long enough to be timed well
            }
        }
        Ok(iterations)
    }

    pub(super) fn longest(&self, mine: Duration) -> Result<Duration, Fault> {
        let mine = bootstrap::encode(&mine)?;
        let said = self
            .plane
            .decide(self.step("the length of a batch"), &mine, &|all| {
                let mut longest = Duration::ZERO;
                for theirs in all {
                    longest = longest.max(bootstrap::decode(theirs)?);
                }
                bootstrap::encode(&longest)
            })?;
        bootstrap::decode(&said)
    }

    /// Each new batch's time on the slowest thread, on all threads.
    fn exchange(&self, series: &mut Series) -> Result<(), Fault> {
        let fresh = &series.mine_us[series.slowest_us.len()..];
        let said = self.plane.decide(
            self.step("the times of batches"),
            &bootstrap::encode(&fresh)?,
            &slowest,
        )?;
        let slowest: Vec<f64> = bootstrap::decode(&said)?;
        series.slowest_us.extend(slowest);
        Ok(())
    }
}

impl Series {
    fn take(&mut self, timing: Timing, per_op: f64) {
        self.mine_us.push(timing.total.as_secs_f64() * 1e6 / per_op);
        self.issue_us
            .push(timing.issue.as_secs_f64() * 1e6 / per_op);
        self.waited = timing.waited;
        self.timed += timing.total;
    }

    fn finish(self, wanted: Precision, stop: Stop, batch_iterations: u32) -> Sampled {
        let found = interval::of_series(&self.slowest_us);
        let half_width = found.map(|found| found.half_width());
        let batches = self.slowest_us.len() as u64;
        let middle = |values: &[f64]| order::median(values).unwrap_or(f64::NAN);
        Sampled {
            time_us: middle(&self.mine_us),
            issue_us: middle(&self.issue_us),
            waited: self.waited,
            timed: self.timed,
            sampling: Sampling {
                iterations: batches * u64::from(batch_iterations),
                batch_iterations,
                median_us: middle(&self.slowest_us),
                interval_us: found.map(|found| found.ends),
                half_width: half_width.filter(|width| width.is_finite()),
                target: wanted.half_width,
                lag1: order::lag1(&self.slowest_us),
                merged: found.map_or(1, |found| u32::try_from(found.merged).unwrap_or(u32::MAX)),
                stop,
                batch_us: self.slowest_us,
            },
        }
    }
}

/// The job with so many iterations.
pub(super) fn with_iterations(job: &Job, iterations: u32) -> Job {
    let mut job = job.clone();
    job.case.iterations = iterations;
    job
}

/// The largest of each batch's times; all threads must have as many.
fn slowest(all: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let mut slowest: Vec<f64> = Vec::new();
    for (thread, theirs) in all.iter().enumerate() {
        let theirs: Vec<f64> = bootstrap::decode(theirs)?;
        if thread == 0 {
            slowest.clone_from(&theirs);
        }
        if theirs.len() != slowest.len() {
            return Err(Fault::new(
                crate::base::Kind::Disagree,
                format!(
                    "thread {thread} measured {} batches, the first thread {}",
                    theirs.len(),
                    slowest.len()
                ),
            ));
        }
        for (most, theirs) in slowest.iter_mut().zip(theirs) {
            *most = most.max(theirs);
        }
    }
    bootstrap::encode(&slowest)
}

/// Time in timed windows, by what all threads know.
fn spent(slowest_us: &[f64], per_op: f64) -> Duration {
    let micros = slowest_us.iter().sum::<f64>() * per_op;
    Duration::try_from_secs_f64(micros / 1e6).unwrap_or(Duration::MAX)
}

/// How many batches fit into what is left of the budget; at least one.
fn fitting(series: &Series, per_op: f64, budget: Duration) -> usize {
    let known = u32::try_from(series.slowest_us.len()).unwrap_or(u32::MAX);
    if known == 0 {
        return 1; // one tells how long they are
    }
    let spent = spent(&series.slowest_us, per_op);
    let each = (spent / known).as_nanos().max(1);
    let left = budget.saturating_sub(spent).as_nanos();
    usize::try_from(left / each)
        .unwrap_or(usize::MAX)
        .clamp(1, effort::MOST_BATCHES)
}

/// Why to stop; none to go on.
fn why_stop(slowest_us: &[f64], per_op: f64, wanted: Precision) -> Option<Stop> {
    let found = interval::of_series(slowest_us);
    if found.is_some_and(|found| found.half_width() <= wanted.half_width) {
        return Some(Stop::Narrow);
    }
    let spent = spent(slowest_us, per_op);
    let each = spent / u32::try_from(slowest_us.len().max(1)).unwrap_or(u32::MAX);
    if spent.saturating_add(each) > wanted.budget {
        return Some(Stop::Budget);
    }
    (slowest_us.len() >= effort::MOST_BATCHES).then_some(Stop::Batches)
}

#[cfg(test)]
mod tests;
