//! Reduction operators, with nccl-tests' spelling.

use super::Fault;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A reduction operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum RedOp {
    /// Sum.
    Sum,
    /// Product.
    Prod,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Sum divided by the number of ranks; integers divide the wrapped sum, truncating.
    Avg,
    /// Sum of each rank's elements times that rank's own scalar (`ncclRedOpCreatePreMulSum`).
    MulSum,
}

impl RedOp {
    /// All of them, in nccl-tests' order.
    pub const ALL: &[Self] = &[
        Self::Sum,
        Self::Prod,
        Self::Max,
        Self::Min,
        Self::Avg,
        Self::MulSum,
    ];

    /// The one spelling used outside the code.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `test_opnames`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Min => "min",
            Self::Max => "max",
            Self::Avg => "avg",
            Self::MulSum => "mulsum",
        }
    }
}

impl fmt::Display for RedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for RedOp {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let wanted = text.to_ascii_lowercase();
        Self::ALL
            .iter()
            .copied()
            .find(|redop| redop.name() == wanted)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|redop| redop.name()).collect();
                Fault::usage(format!(
                    "unknown reduction `{text}`; accepted: {}, all",
                    names.join(", ")
                ))
            })
    }
}

impl From<RedOp> for String {
    fn from(redop: RedOp) -> Self {
        redop.name().to_owned()
    }
}

impl TryFrom<String> for RedOp {
    type Error = Fault;

    fn try_from(text: String) -> Result<Self, Fault> {
        text.parse()
    }
}
