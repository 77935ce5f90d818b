//! What a thread tells the others about a row, and what all of it comes to.

use super::Engine;
use super::Measured;
use super::distribution;
use super::distribution::Singles;
use crate::base::Fault;
use crate::bootstrap;
use crate::plan::Job;
use crate::record::Arrival;
use crate::record::Case;
use crate::record::Distribution;
use crate::record::Mismatches;
use crate::record::Quality;
use crate::record::Sample;
use crate::record::Sampling;
use crate::record::Spent;
use serde::Deserialize;
use serde::Serialize;
use std::time::Duration;

/// What one thread tells the others about a job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Told {
    /// The thread's first rank.
    pub(super) rank: u32,
    pub(super) time_us: f64,
    pub(super) issue_us: f64,
    pub(super) waited_us: f64,
    pub(super) found: Option<Mismatches>,
    #[serde(skip)]
    pub(super) sampling: Option<Sampling>,
    #[serde(skip)]
    pub(super) spent: Spent,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) iterations_us: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) singles: Option<Singles>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) throttled: Vec<String>,
}

impl Engine<'_> {
    /// The headline's figures on this thread.
    pub(super) fn headline(&mut self, job: &Job) -> Result<Told, Fault> {
        let Some(wanted) = job.effort.precision else {
            let timing = self.time(job)?;
            let per_op = self.operations(&job.case);
            return Ok(self.told(
                micros(timing.total) / per_op,
                micros(timing.issue) / per_op,
                (timing.waited, timing.total),
            ));
        };
        let sampled = self.sample(job, wanted)?;
        let told = self.told(
            sampled.time_us,
            sampled.issue_us,
            (sampled.waited, sampled.timed),
        );
        Ok(Told {
            sampling: Some(sampled.sampling),
            ..told
        })
    }

    fn told(&self, time_us: f64, issue_us: f64, (waited, timed): (Duration, Duration)) -> Told {
        Told {
            rank: self.lanes.first().map_or(0, |lane| lane.rank.0),
            time_us,
            issue_us,
            waited_us: micros(waited),
            found: None,
            iterations_us: Vec::new(),
            singles: None,
            throttled: Vec::new(),
            sampling: None,
            spent: Spent {
                timed_ms: millis(timed),
                ..Spent::default()
            },
        }
    }

    /// Every thread's figures on every thread, so that all reach the same end.
    pub(super) fn gather(&self, case: &Case, mut told: Told) -> Result<Measured, Fault> {
        self.enter(case, "gathering");
        let sampling = told.sampling.take(); // the same on all threads already
        let (spent, mine) = (told.spent, told.singles.clone());
        let mut passes = Vec::new();
        let mut sample = Sample::default();
        let mut all: Option<Mismatches> = None;
        let mut waits = Vec::new();
        for bytes in self
            .plane
            .all_gather(self.step("a row's times"), &bootstrap::encode(&told)?)?
        {
            let told: Told = bootstrap::decode(&bytes)?;
            sample.time_us.push(told.time_us);
            sample.issue_us.push(told.issue_us);
            waits.push((told.waited_us, told.rank));
            if self.rules.tweaks.per_iteration.is_some() {
                sample.iterations_us.push(told.iterations_us);
            }
            passes.extend(told.singles);
            sample.throttled.extend(told.throttled);
            if let Some(found) = told.found {
                sample.wrong.push(found.wrong);
                all.get_or_insert_default().add(found);
            }
        }
        sample.launches_block = self.rules.launches_block;
        sample.is_cold = self.is_cold();
        sample.quality = Box::new(Quality {
            sampling,
            arrival: arrival(&waits),
            distribution: self.distribution(passes, mine.as_ref(), &sample.time_us),
            spent: Some(spent),
            ..Quality::default()
        });
        Ok(Measured::Timed(sample, all))
    }

    fn distribution(
        &self,
        passes: Vec<Singles>,
        mine: Option<&Singles>,
        times_us: &[f64],
    ) -> Option<Distribution> {
        let slowest = times_us.iter().copied().fold(0.0, f64::max);
        let on_gpu = self.lanes.iter().any(|lane| lane.gpu.is_some());
        let clock = if on_gpu { "gpu events" } else { "host clock" };
        distribution::distribution(passes, mine, slowest, clock)
    }
}

pub(super) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// How far apart threads came to the start line, by how long each waited there; none where there is one.
fn arrival(waits: &[(f64, u32)]) -> Option<Arrival> {
    let (least, last_rank) = waits.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (most, _) = waits.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (waits.len() > 1).then_some(Arrival {
        skew_us: most - least,
        last_rank,
    })
}
