//! A figure over time: what history plots draw.

use super::key::RowKey;
use super::verdict::Band;
use serde::{Deserialize, Serialize};

/// What a series follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesOf {
    /// A band: speed relative to the baseline in percent, 100 is the baseline.
    Band(Band),
    /// A row: bus bandwidth in GB/s; in a world of one, operations per second in millions.
    Row(RowKey),
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// When the run began, RFC 3339 in UTC.
    pub at: String,
    /// The run: its file's name without folder.
    pub run: String,
    /// The figure, larger is better.
    pub value: f64,
    /// One of the launches that are judged, the others came before.
    pub judged: bool,
}

/// A lasting step in a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// The first point after the step.
    pub index: u32,
    /// From the median of the stretch before to that of the stretch after, in percent.
    pub change_percent: f64,
    /// Chance of so clear a step in a series without one.
    pub p: f64,
}

/// A figure over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What it follows.
    pub of: SeriesOf,
    /// Its points, oldest first.
    pub points: Vec<Point>,
    /// Its steps, oldest first.
    pub change_points: Vec<ChangePoint>,
    /// Robust z-score of the judged launches' median among the launches before; none where those are
    /// fewer than eight.
    pub z: Option<f64>,
    /// The z-score is below −4, the loss is beyond the limit, and at least two judged launches, and
    /// two of any three, say so.
    pub alarm: bool,
}
