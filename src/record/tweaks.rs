//! How operations are launched and what is told besides their time: nccl-tests' options beyond the
//! loop itself. Without any of them nothing here differs from its default.

use serde::{Deserialize, Serialize};

/// What NCCL is told of the buffers (nccl-tests' `-R`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Registration {
    /// Nothing.
    #[default]
    None,
    /// Each buffer is registered with the communicator (`ncclCommRegister`).
    Buffers,
    /// Each buffer is a symmetric window of all ranks (`ncclCommWindowRegister`).
    Windows,
}

impl Registration {
    /// All of them; the index is nccl-tests' number.
    pub const ALL: [Self; 3] = [Self::None, Self::Buffers, Self::Windows];
}

/// How many thread blocks NCCL takes for an operation (nccl-tests' `-x`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CtaPolicy {
    /// NCCL's own choice.
    Default,
    /// As few as do it well.
    Efficiency,
    /// None where copy engines can do it (NCCL 2.28 and newer).
    Zero,
}

impl CtaPolicy {
    /// All of them; the index is nccl-tests' number.
    pub const ALL: [Self; 3] = [Self::Default, Self::Efficiency, Self::Zero];
}

/// Times of each iteration are wanted (nccl-tests' `-I`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerIteration {
    /// Leading iterations that the summary leaves out (`-K`); below the number of iterations.
    pub skip: u32,
}

/// All of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are switches of nccl-tests, each apart from the others"
)]
pub struct Tweaks {
    /// How often the whole timed loop is launched as one CUDA graph (`-G`); 0 is no graph. The time
    /// of an operation is then that of the loop divided by iterations, operations and launches.
    pub graph_launches: u32,
    /// What NCCL is told of the buffers (`-R`).
    pub registration: Registration,
    /// How many thread blocks NCCL takes (`-x`); none leaves the communicator's setting alone.
    pub cta_policy: Option<CtaPolicy>,
    /// Operations are enqueued on the null stream (`-y`).
    pub null_stream: bool,
    /// Every thread makes its communicators by itself (`-p`).
    pub parallel_init: bool,
    /// By how many elements both buffers are shifted out of their alignment (`-u`).
    pub unalign_count: u32,
    /// Times of each iteration (`-I`, `-K`).
    pub per_iteration: Option<PerIteration>,
    /// The table's time is the first rank's time of enqueueing (`-C`); bandwidths stay those of the
    /// whole time.
    pub issue_time: bool,
    /// The run ends with what the GPU's memory went into (`-M`).
    pub memory_report: bool,
}

impl Tweaks {
    /// Whether there is none, so that a record need not mention them.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
