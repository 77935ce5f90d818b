//! The data pattern: the value of every input element, and of every expected output element.
//!
//! Values follow from (seed, rank, index) alone, so that any slice can be made or checked by itself
//! and no expected buffer is needed. Inputs of a reduction are built so that its result has a closed
//! form that does not depend on the number of ranks or the order of the additions.
//! The same definition stands in `kernels/gen.h`; tests hold the two against each other.

use crate::base::{DataType, Rank, RedOp, World};

/// What a buffer holds: everything but the rank and the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Fresh for every check.
    pub seed: u64,
    /// Element type.
    pub dtype: DataType,
    /// The operator that the inputs are made for; none for copies.
    pub redop: Option<RedOp>,
    /// Number of ranks that take part in the reduction.
    pub world: World,
}

/// Consecutive elements of an output that come from one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Number of elements.
    pub len: u64,
    /// Where they come from.
    pub source: Source,
}

/// Where a stretch's elements come from; `at` is the index of the first one there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The reduction of all ranks' inputs.
    Reduced {
        /// First index.
        at: u64,
    },
    /// One rank's input.
    Copied {
        /// Whose.
        rank: Rank,
        /// First index.
        at: u64,
    },
    /// Nothing is promised.
    Unspecified,
}

/// Whether a reduction's result can be predicted to the bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// Compared bit for bit.
    Exact,
    /// A neighbouring value counts as right, because the library's rounding route is not known.
    OneUlp,
}
