//! What each iteration of a timed loop took, by the device's own clock (nccl-tests' `-I`).

use super::line::{finite, finite_each};
use serde::{Deserialize, Serialize};

/// The iterations of one measurement.
///
/// # Units
/// Microseconds for one operation: an iteration's time divided by its operations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IterationTimes {
    /// Leading iterations that the summary leaves out.
    pub skipped: u32,
    /// Each iteration's time, the largest of all processes'.
    #[serde(serialize_with = "finite_each")]
    pub times_us: Vec<f64>,
    /// The same for each process by itself, where there are several: the largest of its ranks'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub process_times_us: Vec<Vec<f64>>,
    /// What `times_us` comes to, without those that are left out.
    pub summary: IterationSummary,
}

/// A summary of iterations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct IterationSummary {
    /// Smallest.
    #[serde(serialize_with = "finite")]
    pub min_us: f64,
    /// Largest.
    #[serde(serialize_with = "finite")]
    pub max_us: f64,
    /// Arithmetic mean.
    #[serde(serialize_with = "finite")]
    pub avg_us: f64,
    /// The upper median.
    #[serde(serialize_with = "finite")]
    pub p50_us: f64,
    /// 95th percentile by nearest rank.
    #[serde(serialize_with = "finite")]
    pub p95_us: f64,
    /// 99th percentile by nearest rank.
    #[serde(serialize_with = "finite")]
    pub p99_us: f64,
    /// Standard deviation of the population.
    #[serde(serialize_with = "finite")]
    pub stdev_us: f64,
    /// Coefficient of variation in percent.
    #[serde(serialize_with = "finite")]
    pub cv_pct: f64,
}
