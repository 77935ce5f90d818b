//! What a run is held against besides earlier runs: practical limits and floors for single sizes.

use crate::base::{Bytes, DataType, Placement};
use serde::{Deserialize, Serialize};

/// By how much a band of sizes may be slower before anybody minds, as fractions; none is the default
/// of whoever judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Sizes up to 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<f64>,
    /// Sizes between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middle: Option<f64>,
    /// Sizes of 64 MiB and more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<f64>,
}

/// What rows of some sizes must reach; a floor that no row meets, or only waived ones, is not met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The collective's one spelling.
    pub collective: String,
    /// Element type; none is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<DataType>,
    /// Placement; none is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Smallest size asked for to which it applies.
    pub from: Bytes,
    /// Largest one.
    pub to: Bytes,
    /// Bus bandwidth of at least this, in GB/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busbw_gbps: Option<f64>,
    /// Algorithm bandwidth of at least this, in GB/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algbw_gbps: Option<f64>,
    /// Time of at most this, in µs for one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_us: Option<f64>,
}
