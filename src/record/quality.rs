//! How well a row is known: how often it was measured, how its operations are distributed, who came
//! late, and why it may not be trusted.

use super::line::finite;
use serde::{Deserialize, Serialize};

/// What stands beside a row's headline; empty where nothing of it was asked for or noticed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// How `--iters auto` measured it; none where the iterations were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// The times of single operations, from a pass of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// Who came last to the start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    /// Why the row may not be trusted; empty where nothing speaks against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Where the time went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

impl Quality {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why measuring a size stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The interval is as narrow as was asked for.
    Narrow,
    /// The time for a size is spent.
    Budget,
    /// The most batches that are ever taken.
    Batches,
}

impl Stop {
    /// Its one spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Narrow => "narrow",
            Self::Budget => "budget",
            Self::Batches => "batches",
        }
    }
}

/// How a size was measured until its median was known well enough.
///
/// # Units
/// µs for one operation; a batch's time is that of its slowest thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Iterations in all batches together, without the first, which is not counted.
    pub iterations: u64,
    /// Iterations of each batch.
    pub batch_iterations: u32,
    /// Each batch's time for one operation, in the order in which they were measured.
    pub batch_us: Vec<f64>,
    /// The median of the batches.
    #[serde(serialize_with = "finite")]
    pub median_us: f64,
    /// The interval in which the median lies at a confidence of 95 %; none with too few batches.
    pub interval_us: Option<[f64; 2]>,
    /// Half of the interval's width over the median; what was to become small.
    pub half_width: Option<f64>,
    /// What `half_width` was to come down to.
    #[serde(serialize_with = "finite")]
    pub target: f64,
    /// Correlation of each batch with the one before; none with too few batches.
    pub lag1: Option<f64>,
    /// How many neighbouring batches were taken as one, because they depend on each other.
    pub merged: u32,
    /// Why it stopped.
    pub stop: Stop,
}

/// Percentiles of the times of single operations, by nearest rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the operations are not slower.
    #[serde(serialize_with = "finite")]
    pub p50_us: f64,
    /// Nine of ten are not slower.
    #[serde(serialize_with = "finite")]
    pub p90_us: f64,
    /// 99 of 100; none with fewer than 100 operations.
    pub p99_us: Option<f64>,
    /// The slowest.
    #[serde(serialize_with = "finite")]
    pub max_us: f64,
    /// Standard deviation over mean.
    #[serde(serialize_with = "finite")]
    pub cv: f64,
}

/// One thread's part in a distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankTimes {
    /// The thread's first rank.
    pub rank: u32,
    /// Its operations.
    #[serde(flatten)]
    pub times: Percentiles,
}

/// The times of single operations, measured one by one in a pass after the headline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// `gpu events`, or `host clock` where an operation is complete when its call returns.
    pub clock: String,
    /// Operations in the pass.
    pub operations: u32,
    /// Of each operation's slowest thread.
    pub slowest: Percentiles,
    /// Of each thread of the world, or of the 16 slowest where there are more than 64.
    pub ranks: Vec<RankTimes>,
    /// How much slower the pass's mean is than the headline's slowest thread: what marking each operation
    /// cost. A fraction; below 0 where it is faster.
    #[serde(serialize_with = "finite")]
    pub perturbation: f64,
}

/// How far apart the threads of the world came to the start line of the headline's loop.
///
/// # Source
/// Each thread's wait there; who waits least came last. Clocks of hosts are not compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// Longest wait less shortest.
    #[serde(serialize_with = "finite")]
    pub skew_us: f64,
    /// The first rank of the thread that came last.
    pub last_rank: u32,
}

/// Where a row's time went, on the first thread, in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Warming up before the row.
    #[serde(default, serialize_with = "finite")]
    pub warming_ms: f64,
    /// Making data and the untimed operation.
    #[serde(serialize_with = "finite")]
    pub preparing_ms: f64,
    /// Inside the timed windows.
    #[serde(serialize_with = "finite")]
    pub timed_ms: f64,
    /// The distribution pass.
    #[serde(serialize_with = "finite")]
    pub distribution_ms: f64,
    /// Checking the result.
    #[serde(serialize_with = "finite")]
    pub checking_ms: f64,
    /// From the row's beginning to its end.
    #[serde(serialize_with = "finite")]
    pub whole_ms: f64,
}

/// The sort of a doubt about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// Its times scatter.
    Unstable,
    /// The first row, and slower than the same operations a moment later.
    Cold,
    /// The host needed as long to enqueue the operations as they took.
    LaunchBound,
    /// A GPU lowered its clocks.
    ClocksThrottled,
    /// The memory allows no larger size, though one was asked for.
    MemoryClamped,
}

impl Doubt {
    /// Its one spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unstable => "unstable",
            Self::Cold => "cold",
            Self::LaunchBound => "launch-bound",
            Self::ClocksThrottled => "clocks-throttled",
            Self::MemoryClamped => "memory-clamped",
        }
    }
}

/// A doubt and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// What is doubted.
    pub doubt: Doubt,
    /// What was seen, with its numbers.
    pub reason: String,
}
