//! Single operations, timed one by one in a pass of their own behind the headline's loop.
//!
//! A mark between two operations costs something, which is why this is not the headline; what it cost
//! is told as the perturbation.

use super::Engine;
use super::auto::with_iterations;
use super::told::Told;
use crate::base::Fault;
use crate::base::stats::order;
use crate::plan::Job;
use crate::plan::effort;
use crate::record::Distribution;
use crate::record::Percentiles;
use crate::record::RankTimes;
use serde::Deserialize;
use serde::Serialize;
use std::time::Duration;

/// The most threads' percentiles that a row keeps; of more ranks the slowest are kept.
const MOST_RANKS: usize = 64;
/// How many are kept of more.
const KEPT: usize = 16;
/// Operations before the pass that are not kept.
const LED_IN: u32 = 3;

/// A pass as one thread saw it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Singles {
    /// Its ranks' percentiles.
    ranks: Vec<RankTimes>,
    /// Of each operation's slowest thread of the world; every thread knows it.
    #[serde(skip)]
    slowest_us: Vec<f64>,
}

impl Engine<'_> {
    /// Measures the distribution of a job's operations, where that is wished and the session has marks.
    pub(super) fn single_operations(&mut self, job: &Job, told: &mut Told) -> Result<(), Fault> {
        if !job.effort.distribution || self.session.events().is_none() {
            return Ok(());
        }
        self.enter(&job.case, "timing single operations of");
        let begun = self.clock.now();
        let operation = Duration::try_from_secs_f64(told.time_us / 1e6).unwrap_or_default();
        let operations = effort::distribution_operations(job.case.size, self.longest(operation)?);
        let lanes_us = self.pass(job, operations)?;
        let slowest_us = self.slowest_of_all(&lanes_us)?;
        let ranks = self.lanes.iter().zip(&lanes_us);
        let ranks = ranks.filter_map(|(lane, times)| {
            Some(RankTimes {
                rank: lane.rank.0,
                times: percentiles(times)?,
            })
        });
        told.singles = Some(Singles {
            ranks: ranks.collect(),
            slowest_us,
        });
        told.spent.distribution_ms = super::told::millis(self.since(begun));
        Ok(())
    }

    /// Each lane's operations in µs.
    fn pass(&mut self, job: &Job, operations: u32) -> Result<Vec<Vec<f64>>, Fault> {
        let mut job = with_iterations(job, LED_IN + operations);
        job.case.ops_per_batch = 1;
        let marks = (operations + 1) as usize;
        let lanes = self.lanes.len();
        if let Some(events) = self.session.events() {
            events.prepare(marks)?;
        }
        self.plane.start_line(self.step("the start line"))?;
        for operation in 0..LED_IN + operations {
            self.mark_all(operation)?;
            self.iterate(&job, operation)?;
        }
        self.mark_all(LED_IN + operations)?;
        self.drain()?;
        let Some(events) = self.session.events() else {
            return Ok(Vec::new());
        };
        let lane = |lane| {
            let each = (1..marks).map(|mark| events.between_us(lane, mark - 1, mark));
            each.collect::<Result<Vec<f64>, Fault>>()
        };
        (0..lanes).map(lane).collect()
    }

    /// Puts the mark that stands before operation `operation` on every lane; none before those of the lead-in.
    fn mark_all(&self, operation: u32) -> Result<(), Fault> {
        let (Some(mark), Some(events)) = (operation.checked_sub(LED_IN), self.session.events())
        else {
            return Ok(());
        };
        (0..self.lanes.len()).try_for_each(|lane| events.mark(lane, mark as usize))
    }

    /// The longest of each operation's times, on all threads. It travels as 32-bit numbers, because
    /// there are many of them and one part in ten million is enough.
    fn slowest_of_all(&self, lanes_us: &[Vec<f64>]) -> Result<Vec<f64>, Fault> {
        let mine = lanes_us.iter().skip(1).fold(
            lanes_us.first().cloned().unwrap_or_default(),
            |slowest, lane| {
                let pairs = slowest.iter().zip(lane);
                pairs.map(|(one, other)| one.max(*other)).collect()
            },
        );
        let said = self.plane.decide(
            self.step("the times of single operations"),
            &packed(&mine),
            &longest_of_each,
        )?;
        Ok(unpacked(&said))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "seven digits of a time are enough"
)]
fn packed(times_us: &[f64]) -> Vec<u8> {
    times_us
        .iter()
        .flat_map(|time| (*time as f32).to_le_bytes())
        .collect()
}

fn unpacked(bytes: &[u8]) -> Vec<f64> {
    let (words, _) = bytes.as_chunks::<4>();
    words
        .iter()
        .map(|word| f64::from(f32::from_le_bytes(*word)))
        .collect()
}

fn longest_of_each(all: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let mut longest = unpacked(all.first().map_or(&[], Vec::as_slice));
    for (thread, theirs) in all.iter().enumerate() {
        let theirs = unpacked(theirs);
        if theirs.len() != longest.len() {
            return Err(Fault::new(
                crate::base::Kind::Disagree,
                format!("thread {thread} timed another number of single operations than the first"),
            ));
        }
        for (longest, time) in longest.iter_mut().zip(theirs) {
            *longest = longest.max(time);
        }
    }
    Ok(packed(&longest))
}

/// What a distribution comes to; none of no operation.
fn percentiles(times_us: &[f64]) -> Option<Percentiles> {
    let sorted = order::sorted(times_us);
    let p99 = order::percentile(&sorted, 99).filter(|_| sorted.len() >= 100);
    Some(Percentiles {
        p50_us: order::percentile(&sorted, 50)?,
        p90_us: order::percentile(&sorted, 90)?,
        p99_us: p99,
        max_us: *sorted.last()?,
        cv: order::variation(&sorted).unwrap_or(0.0),
    })
}

/// The row's distribution from all threads' passes; none where there was none. `headline_us` is the
/// headline's slowest thread.
pub(super) fn distribution(
    passes: Vec<Singles>,
    mine: Option<&Singles>,
    headline_us: f64,
    clock: &str,
) -> Option<Distribution> {
    let slowest_us = &mine?.slowest_us;
    let mean = order::mean(slowest_us)?;
    let mut ranks: Vec<RankTimes> = passes.into_iter().flat_map(|pass| pass.ranks).collect();
    if ranks.len() > MOST_RANKS {
        ranks.sort_by(|a, b| b.times.p50_us.total_cmp(&a.times.p50_us));
        ranks.truncate(KEPT);
    }
    let perturbation = if headline_us > 0.0 {
        mean / headline_us - 1.0
    } else {
        0.0
    };
    Some(Distribution {
        clock: clock.to_owned(),
        operations: u32::try_from(slowest_us.len()).unwrap_or(u32::MAX),
        slowest: percentiles(slowest_us)?,
        ranks,
        perturbation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(ranks: std::ops::Range<u32>, slowest_us: &[f64]) -> Singles {
        let rank = |rank: u32| RankTimes {
            rank,
            times: percentiles(&[f64::from(rank) + 1.0]).unwrap(),
        };
        Singles {
            ranks: ranks.map(rank).collect(),
            slowest_us: slowest_us.to_vec(),
        }
    }

    #[test]
    fn a_99th_percentile_needs_a_hundred_operations() {
        let times: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentiles(&times).unwrap().p99_us, Some(99.0));
        assert_eq!(percentiles(&times[..99]).unwrap().p99_us, None);
        assert_eq!(percentiles(&[]), None);
    }

    #[test]
    fn the_perturbation_is_what_the_pass_took_more_than_the_headline() {
        let mine = pass(0..3, &[11.0, 13.0]);
        let found = distribution(vec![mine.clone()], Some(&mine), 10.0, "host clock").unwrap();
        assert!((found.perturbation - 0.2).abs() < 1e-12);
        assert_eq!((found.operations, found.ranks.len()), (2, 3));
        assert_eq!(distribution(Vec::new(), None, 10.0, "host clock"), None);
    }

    #[test]
    fn of_many_ranks_the_slowest_are_kept() {
        let mine = pass(0..40, &[1.0]);
        let passes = vec![mine.clone(), pass(40..100, &[1.0])];
        let found = distribution(passes, Some(&mine), 1.0, "gpu events").unwrap();
        let ranks: Vec<_> = found.ranks.iter().map(|rank| rank.rank).collect();
        assert_eq!(ranks, (84..100).rev().collect::<Vec<_>>());
    }

    #[test]
    fn each_operation_is_as_long_as_on_its_slowest_thread() {
        let all = [packed(&[1.0, 5.0]), packed(&[2.0, 3.0])];
        assert_eq!(unpacked(&longest_of_each(&all).unwrap()), [2.0, 5.0]);
        let uneven = [packed(&[1.0, 5.0]), packed(&[2.0])];
        assert!(longest_of_each(&uneven).is_err());
    }
}
