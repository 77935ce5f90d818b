//! What a GPU's memory went into (nccl-tests' `-M`).

use serde::{Deserialize, Serialize};

/// Memory in bytes, the largest of any rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Taken by making the communicator.
    pub init_bytes: u64,
    /// Taken by the run's own buffers.
    pub user_bytes: u64,
    /// Taken by the library while operations ran.
    pub collective_bytes: u64,
}
