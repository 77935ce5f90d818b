//! What a header says of a sweep: which configuration it was, what it is judged by, and whether it
//! was resumed.

use super::gate::{Floor, Limits};
use serde::{Deserialize, Serialize};

/// A run that was a sweep of several collectives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// The configuration's name.
    pub name: String,
    /// Digest of what was wished for, before memory cut the sizes; equal where two sweeps measure the same.
    pub digest: String,
    /// The practical limits of its verdict.
    #[serde(default)]
    pub limits: Limits,
    /// Floors for single sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<Floor>,
    /// The interrupted runs whose rows stand before this one's, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
}

/// An interrupted run that was resumed: its rows were kept and not measured again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How many rows, from the first, are from it and from those before it.
    pub rows: u64,
    /// The hosts it ran on.
    pub hosts: Vec<String>,
    /// What ended it, where it could say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// What a sweep came to, by its steps, its floors and its baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// `go` where all steps and floors were passed, `no-go` where not; `pass`, `regress` or
    /// `inconclusive` where a baseline was compared with; `kept` where there was nothing to judge by;
    /// `unjudged` where judging failed, as `why` says.
    pub verdict: String,
    /// The step at which it stopped, where one was not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<String>,
    /// What was seen, line by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}
