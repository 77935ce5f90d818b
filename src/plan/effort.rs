//! How much is done for each size: a number of iterations, or as many as the median needs.
//!
//! The engine and the estimate of `--dry-run` share what is here.

use crate::base::Bytes;
use std::time::Duration;

/// How much is done for each size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Effort {
    /// Iterate until the median is known this well, instead of a number of times.
    pub precision: Option<Precision>,
    /// Measure single operations too, in a pass of their own.
    pub distribution: bool,
}

/// When a size has been measured long enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Half of the 95 % interval's width over the median comes down to this.
    pub half_width: f64,
    /// The time for a size that is spent at the most, in timed windows.
    pub budget: Duration,
}

impl Default for Precision {
    /// 1 % within 2 s.
    fn default() -> Self {
        Self {
            half_width: 0.01,
            budget: Duration::from_secs(2),
        }
    }
}

/// A batch lasts at least this long, so that its start and its end cost little of it.
pub const BATCH: Duration = Duration::from_micros(200);
/// Parts of the buffers that iterations rotate over at the most, as a loop of `-n 50` does.
pub const ROTATED: u64 = 50;
/// The most iterations of a batch.
pub const MOST_PER_BATCH: u32 = 1000;
/// A batch has at least so many iterations as long as that takes no longer than [`FULL_BATCH`]: what a
/// loop of nccl-tests has, so that the share of starting and ending is the same.
pub const FEWEST_PER_BATCH: u32 = 20;
/// See [`FEWEST_PER_BATCH`].
pub const FULL_BATCH: Duration = Duration::from_millis(4);
/// Batches after which the interval is looked at for the first time.
pub const FIRST_LOOK: usize = 6;
/// The most batches.
pub const MOST_BATCHES: usize = 512;

/// Iterations of a batch, where one takes `iteration`.
pub fn batch_iterations(iteration: Duration) -> u32 {
    let nanos = iteration.as_nanos().max(1);
    let fill = |time: Duration| u32::try_from(time.as_nanos().div_ceil(nanos)).unwrap_or(u32::MAX);
    let full = u32::try_from(FULL_BATCH.as_nanos() / nanos).unwrap_or(u32::MAX);
    let fewest = FEWEST_PER_BATCH.min(full.max(1));
    fill(BATCH).clamp(fewest, MOST_PER_BATCH)
}

/// How many batches there are at the next look, after `batches`: half as many more.
pub fn next_look(batches: usize) -> usize {
    (batches + batches.div_ceil(2)).clamp(FIRST_LOOK, MOST_BATCHES)
}

/// Operations of a distribution pass are this many up to [`SMALL`], above it [`SOME`], and fewer where they
/// would take longer than [`PASS`].
const MANY: u32 = 1000;
/// See [`MANY`].
const SMALL: Bytes = Bytes(1 << 20);
/// See [`MANY`].
const SOME: u32 = 200;
/// The fewest: fewer say nothing of a distribution.
const FEW: u32 = 10;
/// See [`MANY`].
const PASS: Duration = Duration::from_millis(500);

/// Operations of the distribution pass for a size, where one takes `operation`.
pub fn distribution_operations(size: Bytes, operation: Duration) -> u32 {
    let wanted = if size < SMALL { MANY } else { SOME };
    let fit = PASS.as_nanos() / operation.as_nanos().max(1);
    u32::try_from(fit).unwrap_or(u32::MAX).clamp(FEW, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_long_enough_to_time_and_short_where_an_iteration_is_long() {
        for (micros, iterations) in [
            (0, 1000),
            (1, 200),
            (10, 20),
            (40, 20),
            (200, 20),
            (500, 8),
            (1000, 4),
            (3000, 1),
            (50_000, 1),
        ] {
            let got = batch_iterations(Duration::from_micros(micros));
            assert_eq!(got, iterations, "{micros} us");
        }
    }

    #[test]
    fn looks_come_further_and_further_apart_and_end() {
        let looks: Vec<_> = std::iter::successors(Some(0), |batches| Some(next_look(*batches)))
            .take(6)
            .collect();
        assert_eq!(looks, [0, 6, 9, 14, 21, 32]);
        assert_eq!(next_look(500), MOST_BATCHES);
    }

    #[test]
    fn a_distribution_has_fewer_operations_where_they_take_long() {
        let operations =
            |size, micros| distribution_operations(Bytes(size), Duration::from_micros(micros));
        assert_eq!(operations(8, 10), 1000);
        assert_eq!(operations(1 << 20, 10), 200);
        assert_eq!(operations(1 << 30, 5000), 100);
        assert_eq!(operations(16 << 30, 100_000), 10);
    }
}
