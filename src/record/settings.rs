//! What a run was told to do: the settings that the table's header shows and that comparisons need.

use super::Tweaks;
use crate::base::sweep::Step;
use crate::base::{Bytes, Placement};
use serde::{Deserialize, Serialize};
use std::fmt;

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

/// A release of nccl-tests: `2.19.6` is `[2, 19, 6]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Release(pub [u32; 3]);

impl Release {
    /// The one whose output is reproduced.
    pub const NEWEST: Self = Self([2, 19, 6]);
    /// The first one whose rows look as they do here.
    pub const OLDEST: Self = Self([2, 13, 0]);
    /// From here on the output says at its beginning and its end which program it is of.
    ///
    /// # Source
    /// nccl-tests, `src/common.cu` of the releases about this one; so are the two below.
    pub const NAMES_PROGRAM: Self = Self([2, 16, 7]);
    /// From here on its first line tells the release.
    pub const TELLS_ITSELF: Self = Self([2, 17, 4]);
    /// From here on the settings have `unalign`.
    pub const TELLS_UNALIGN: Self = Self([2, 18, 2]);
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
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
    /// The one placement that is measured; none where both are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Whether the table's rows end in the local time.
    pub timestamps: bool,
    /// Whose first and last lines the table has, where it is not the newest release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_release: Option<Release>,
    /// How operations are launched and what is told besides, where it is not the usual.
    #[serde(default, skip_serializing_if = "Tweaks::is_none")]
    pub tweaks: Tweaks,
}
