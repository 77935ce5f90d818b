//! A baseline: launches that somebody accepted as what is normal.

use super::fingerprint::Fingerprint;
use super::key::RowKey;
use crate::base::Bytes;
use serde::{Deserialize, Serialize};

/// Schema number of a baseline's file; it rises with any change of meaning.
pub const BASELINE_SCHEMA: u32 = 1;

/// One launch's figure of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Time of one operation in µs, the largest over ranks, one for each repetition in the launch;
    /// empty where only the mean is known.
    pub max_us: Vec<f64>,
    /// The mean over ranks, in the same order.
    pub mean_us: Vec<f64>,
}

/// A row of a launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchRow {
    /// Which row.
    pub key: RowKey,
    /// Numerator of the algorithm bandwidth.
    pub algo_bytes: Bytes,
    /// busbw / algbw; 0 in a world of one.
    pub bus_factor: f64,
    /// Its times; none where the launch could not measure it.
    pub measure: Option<Measure>,
    /// Why it could not, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived: Option<String>,
}

/// One launch: what a comparison needs of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The run: its file's name without folder.
    pub run: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Its rows, in the order of their first measurement.
    pub rows: Vec<LaunchRow>,
    /// Measurements whose check found wrong data.
    pub wrong: u32,
    /// Why it is not whole: cut short, interrupted; none where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
}

/// One acceptance of a baseline, or its retirement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// [`BASELINE_SCHEMA`].
    pub schema: u32,
    /// The baseline's name.
    pub name: String,
    /// Which entry of that name this is, from 1.
    pub entry: u32,
    /// Whether it is in force; a retired baseline judges nothing.
    pub retired: bool,
    /// Who.
    pub author: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// Why.
    pub reason: String,
    /// What its launches have in common.
    pub fingerprint: Fingerprint,
    /// Its launches, oldest first.
    pub launches: Vec<Launch>,
}
