//! What a communicator and its buffers are told beside the defaults: nccl-tests' `-R` and `-x`.

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
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands over a reference"
    )]
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
