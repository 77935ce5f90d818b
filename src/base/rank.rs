//! Who takes part: ranks and worlds, and the two placements of a collective's buffers.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Index of a participant in a communicator, `0 <= rank < world`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rank(pub u32);

/// Number of ranks in a communicator; at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct World(pub u32);

impl World {
    /// Every rank of this world, in order.
    pub fn ranks(self) -> impl Iterator<Item = Rank> {
        (0..self.0).map(Rank)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether the send buffer lies apart from the receive buffer or inside it, as NCCL defines per collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Separate buffers.
    OutOfPlace,
    /// The smaller of the two lies in the larger.
    InPlace,
}

impl Placement {
    /// Both, in the order in which they are measured and printed.
    pub const ALL: [Self; 2] = [Self::OutOfPlace, Self::InPlace];
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfPlace => "out-of-place",
            Self::InPlace => "in-place",
        })
    }
}
