//! Device memory that a run took (nccl-tests' `-M`).

use serde::{Deserialize, Serialize};

/// How much of a device's free memory each stage took, on the device where that was the most.
///
/// A stage that gave memory back is negative. What other processes did on the device meanwhile is
/// counted in, because only free memory can be asked for.
///
/// # Source
/// nccl-tests 2.19.6, `src/common.cu`, `run` and `threadRunTests`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Making the communicator.
    pub initialization_bytes: i64,
    /// The buffers, and registering them.
    pub user_bytes: i64,
    /// From the first operation to the last.
    pub collective_bytes: i64,
}

impl MemoryUse {
    /// The larger of both, stage by stage.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            initialization_bytes: self.initialization_bytes.max(other.initialization_bytes),
            user_bytes: self.user_bytes.max(other.user_bytes),
            collective_bytes: self.collective_bytes.max(other.collective_bytes),
        }
    }
}
