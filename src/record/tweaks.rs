//! How operations are launched and what is told besides their time: nccl-tests' options beyond the
//! loop itself. Without any of them nothing here differs from its default.

use serde::{Deserialize, Serialize};

/// Whether the buffers are registered with the communicator (nccl-tests' `-R`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Registration {
    /// They are not.
    #[default]
    None,
    /// Each rank registers its own (`ncclCommRegister`).
    Local,
    /// All ranks register theirs together, as symmetric windows (`ncclCommWindowRegister`).
    Symmetric,
}

impl Registration {
    /// All of them; the index is nccl-tests' number.
    pub const ALL: [Self; 3] = [Self::None, Self::Local, Self::Symmetric];

    /// Whether that is the default, which records leave out.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// How many of a GPU's thread blocks the library takes (nccl-tests' `-x`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CtaPolicy {
    /// As many as make it fast.
    Default,
    /// Few, where that costs little.
    Efficiency,
    /// None, where the copy engines can do it.
    Zero,
}

impl CtaPolicy {
    /// All of them; the index is nccl-tests' number.
    pub const ALL: [Self; 3] = [Self::Default, Self::Efficiency, Self::Zero];

    /// NCCL's number.
    ///
    /// # Source
    /// NCCL 2.28.3, `nccl.h`, `NCCL_CTA_POLICY_DEFAULT` and the two behind it.
    pub fn number(self) -> i32 {
        match self {
            Self::Default => 0,
            Self::Efficiency => 1,
            Self::Zero => 2,
        }
    }
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
    /// Whether the buffers are registered (`-R`).
    pub registration: Registration,
    /// How many thread blocks the library takes (`-x`); none leaves its own setting alone.
    pub cta_policy: Option<CtaPolicy>,
    /// Operations are enqueued on the null stream (`-y`).
    pub null_stream: bool,
    /// Every thread makes its communicators by itself (`-p`).
    pub parallel_init: bool,
    /// By how many elements both buffers are shifted out of their alignment (`-u`).
    pub unalign_count: u32,
    /// Each iteration is timed (`-I`); how many leading ones the figures leave out (`-K`).
    pub per_iteration: Option<u32>,
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
