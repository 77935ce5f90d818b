//! The same sweep several times, each time with other variables: arms side by side.

use super::path::Verdict;
use super::{PathRecord, RowKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A way to run: what is set and what is unset for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Variables that are set for it.
    pub set: BTreeMap<String, String>,
    /// Variables that are removed for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

/// An arm and the path that its runs took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmRecord {
    /// What was set for it.
    #[serde(flatten)]
    pub arm: Arm,
    /// The verdict on its path, the worst of its runs; none where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The evidence of the run with that verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRecord>,
    /// Runs that were read.
    pub runs: usize,
}

/// One row of all arms, in the arms' order. What an arm has not measured is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContrastRow {
    /// Which row.
    #[serde(flatten)]
    pub key: RowKey,
    /// The table's size in bytes.
    pub size: u64,
    /// Time of one operation in µs, the median of an arm's runs.
    pub time_us: Vec<Option<f64>>,
    /// Bus bandwidth in GB/s at that time.
    pub busbw_gbps: Vec<Option<f64>>,
    /// How many times as long as the first arm's an arm's time is; the first arm's own is 1.
    pub ratio: Vec<Option<f64>>,
}

/// What arms came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContrastRecord {
    /// What was measured.
    pub collective: String,
    /// How often each arm was run.
    pub rounds: u32,
    /// The arms, the first being what the others are held against.
    pub arms: Vec<ArmRecord>,
    /// Their rows.
    pub rows: Vec<ContrastRow>,
    /// What a reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
