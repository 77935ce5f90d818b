//! A case and what came of it.

use super::line::finite;
use super::{BadElement, Case, PerIteration, Quality};
use crate::base::{GBps, Micros};
use serde::{Deserialize, Serialize};

/// A figure over the threads of the world.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Arithmetic mean.
    #[serde(serialize_with = "finite")]
    pub mean_us: f64,
    /// Smallest.
    #[serde(serialize_with = "finite")]
    pub min_us: f64,
    /// Largest; verdicts use this one.
    #[serde(serialize_with = "finite")]
    pub max_us: f64,
    /// The first thread's.
    #[serde(serialize_with = "finite")]
    pub rank0_us: f64,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It was run.
    Measured {
        /// Time per operation, combined over ranks as the run's `average` says.
        #[serde(serialize_with = "finite")]
        time_us: Micros,
        /// Time per operation over the threads of the world.
        time: Spread,
        /// Host time spent issuing, per operation, over the threads of the world; none where it was
        /// not kept (imported runs).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issue: Option<Spread>,
        /// Algorithm bandwidth from `time_us`.
        #[serde(serialize_with = "finite")]
        algbw_gbps: GBps,
        /// Bus bandwidth from `time_us`.
        #[serde(serialize_with = "finite")]
        busbw_gbps: GBps,
        /// Wrong elements over all ranks; none where it was not checked.
        wrong: Option<u64>,
        /// Threads of the world whose output had any wrong element.
        wrong_threads: u32,
        /// Why it was not checked, where it was not.
        unchecked: Option<String>,
        /// The first wrong elements.
        bad: Vec<BadElement>,
        /// The times of single iterations, where they were asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_iteration: Option<Box<PerIteration>>,
    },
    /// It cannot be run here.
    Waived {
        /// Why.
        reason: String,
    },
}

/// A case and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was asked.
    #[serde(flatten)]
    pub case: Case,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// When it was finished, RFC 3339 in UTC.
    pub at: String,
    /// How well it is known.
    #[serde(default, skip_serializing_if = "Quality::is_empty")]
    pub quality: Quality,
}

impl Row {
    /// The same with the times of single iterations, where it was measured.
    #[must_use]
    pub fn with_iterations(mut self, times: Option<PerIteration>) -> Self {
        if let Outcome::Measured { per_iteration, .. } = &mut self.outcome {
            *per_iteration = times.map(Box::new);
        }
        self
    }

    /// Whether its check found any wrong element.
    pub fn is_wrong(&self) -> bool {
        matches!(self.outcome, Outcome::Measured { wrong: Some(wrong), .. } if wrong > 0)
    }
}
