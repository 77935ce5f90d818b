//! What the engine yields for a case, before anybody computes with it.

use super::Quality;
use crate::base::pattern::{Finding, Findings};
use serde::{Deserialize, Serialize};

/// One timed loop, as every engine thread of the world saw it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Time per operation in µs; entry `t` is thread `t` in global order (process by process).
    pub time_us: Vec<f64>,
    /// Time per operation in µs that the host spent issuing, in the same order.
    pub issue_us: Vec<f64>,
    /// Wrong elements that each thread's check found, in the same order; empty where nothing was checked.
    pub wrong: Vec<u64>,
    /// Time per operation in µs of each iteration on the thread's slowest rank, by the device's own
    /// clock, in the same order; empty where that was not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations_us: Vec<Vec<f64>>,
    /// An operation is complete when its call returns, so that issuing it is all there is to time.
    #[serde(default)]
    pub launches_block: bool,
    /// The first row that this launch measured, and nothing was warmed up before it.
    #[serde(default)]
    pub is_cold: bool,
    /// What held clocks back right after the loop: `rank 3: power cap`.
    #[serde(default)]
    pub throttled: Vec<String>,
    /// How well all that is known.
    #[serde(default)]
    pub quality: Box<Quality>,
}

/// A wrong element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadElement {
    /// Which rank's output.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Its GPU ordinal; none on the CPU.
    pub gpu: Option<u32>,
    /// Element index in the output.
    pub index: u64,
    /// Bits that should be there, in the low bits.
    pub expected_bits: u64,
    /// Bits that are there.
    pub got_bits: u64,
    /// The likely class: `unwritten`, `missing rank 2`, `bit flip (bit 7)`, …
    pub class: String,
}

impl BadElement {
    /// A finding of a check of `rank`'s output.
    pub fn new(finding: &Finding, rank: u32, host: &str, gpu: Option<u32>) -> Self {
        Self {
            rank,
            host: host.to_owned(),
            gpu,
            index: finding.index,
            expected_bits: finding.expected_bits,
            got_bits: finding.got_bits,
            class: finding.class.to_string(),
        }
    }
}

/// What a check of one rank's output found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatches {
    /// How many elements are wrong.
    pub wrong: u64,
    /// The first few of them, by index.
    pub first: Vec<BadElement>,
}

impl Mismatches {
    /// How many bad elements a check lists at the most.
    pub const LISTED: usize = 16;

    /// What a check on the CPU found in `rank`'s output.
    pub fn of(findings: &Findings, rank: u32, host: &str) -> Self {
        let bad = |finding| BadElement::new(finding, rank, host, None);
        Self {
            wrong: findings.wrong,
            first: findings.first.iter().map(bad).collect(),
        }
    }

    /// Adds what another check found, keeping the first few.
    pub fn add(&mut self, other: Self) {
        self.wrong += other.wrong;
        let room = Self::LISTED.saturating_sub(self.first.len());
        self.first.extend(other.first.into_iter().take(room));
    }
}
