//! Which of our own algorithms is taken for what: what `ncclbench tune` measures and writes.

use serde::{Deserialize, Serialize};

/// The number of this file's form.
pub const TUNING_SCHEMA: u32 = 1;

/// A table of algorithms, and for which shape of world it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// [`TUNING_SCHEMA`].
    pub tuning_schema: u32,
    /// Where it was measured.
    pub shape: Shape,
    /// What to take; of each collective in ascending order of sizes.
    pub choices: Vec<Choice>,
}

/// What decides which algorithm is best, beside the size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Number of ranks.
    pub world: u32,
    /// The most ranks that share a GPU.
    pub ranks_per_gpu: u32,
    /// The GPU's name.
    pub gpu: String,
    /// Number of processes.
    pub processes: u32,
}

/// What is taken from one size up to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Name of the collective.
    pub collective: String,
    /// The largest size in bytes that it is for; the last of a collective serves all above too.
    pub up_to_bytes: u64,
    /// Name of the algorithm.
    pub algo: String,
    /// Blocks of a launch; none is for the backend to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Threads of a block; none is for the backend to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_threads: Option<u32>,
}
