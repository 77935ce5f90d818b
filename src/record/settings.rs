//! What a run was told to do: the settings that the table's header shows and that comparisons need.

use super::Tweaks;
use crate::base::Bytes;
use crate::base::sweep::Step;
use serde::{Deserialize, Serialize};

/// When the ranks wait for an operation to complete (nccl-tests' `-z`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blocking {
    /// Only at the end of the timed loop.
    #[default]
    None,
    /// Wait and barrier after each inner operation; the barrier is in the time.
    WaitAndBarrier,
    /// Wait after each inner operation, no barrier.
    Wait,
    /// Wait and barrier after each iteration; the barrier is not in the time.
    BarrierOutside,
}

impl Blocking {
    /// All of them; the index is nccl-tests' number.
    pub const ALL: [Self; 4] = [
        Self::None,
        Self::WaitAndBarrier,
        Self::Wait,
        Self::BarrierOutside,
    ];
}

/// The settings of a run, before memory cut its sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The program that the table names: `all_reduce_perf`.
    pub program: String,
    /// Smallest size asked for.
    pub min_bytes: Bytes,
    /// Largest size asked for.
    pub max_bytes: Bytes,
    /// What lies between.
    pub step: Step,
    /// Untimed operations for each warm-up size.
    pub warmup: u32,
    /// Iterations of the timed loop.
    pub iterations: u32,
    /// Operations enqueued in one group for each iteration.
    pub ops_per_batch: u32,
    /// Rounds of checking for each measurement; 0 is none.
    pub checks: u32,
    /// When the ranks wait.
    pub blocking: Blocking,
    /// How often the sweep is run; 0 is for ever.
    pub cycles: u32,
    /// Whether the table's rows end in the local time.
    pub timestamps: bool,
    /// How operations are launched and what is told besides, where it is not the usual.
    #[serde(default, skip_serializing_if = "Tweaks::is_none")]
    pub tweaks: Tweaks,
}
