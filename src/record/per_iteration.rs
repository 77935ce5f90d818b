//! Times of single iterations on the GPU's own clock (nccl-tests' `-I`).

use super::line::{finite, finite_list, finite_lists};
use serde::{Deserialize, Serialize};

/// The iterations of one timed loop, each as long as on the slowest rank.
///
/// # Units
/// µs for one operation: an iteration's time over the operations of its batch.
///
/// # Source
/// nccl-tests 2.19.6, `src/common.cu`, `BenchTime`, and `src/util.cu`, `computeIterStats`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerIteration {
    /// How many leading iterations the figures leave out (`-K`).
    pub skipped: u32,
    /// Shortest.
    #[serde(serialize_with = "finite")]
    pub min_us: f64,
    /// Longest.
    #[serde(serialize_with = "finite")]
    pub max_us: f64,
    /// Arithmetic mean.
    #[serde(serialize_with = "finite")]
    pub avg_us: f64,
    /// The upper median.
    #[serde(serialize_with = "finite")]
    pub p50_us: f64,
    /// 95th percentile, nearest rank.
    #[serde(serialize_with = "finite")]
    pub p95_us: f64,
    /// 99th percentile, nearest rank; the longest where there are fewer than 100.
    #[serde(serialize_with = "finite")]
    pub p99_us: f64,
    /// Standard deviation of the population.
    #[serde(serialize_with = "finite")]
    pub stdev_us: f64,
    /// Standard deviation over mean, in percent; 0 where the mean is 0.
    #[serde(serialize_with = "finite")]
    pub cv_pct: f64,
    /// Every iteration, the skipped ones included: the longest over all ranks.
    #[serde(serialize_with = "finite_list")]
    pub times_us: Vec<f64>,
    /// The same for each process, where there are several.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "finite_lists"
    )]
    pub process_us: Vec<Vec<f64>>,
}
