//! What makes two rows the same row of two runs.

use super::Case;
use crate::base::{Bytes, DataType, Placement, RedOp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The part of a case that comparisons match: what was asked for, not how often it was repeated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowKey {
    /// The collective's one spelling.
    pub collective: String,
    /// Element type.
    pub dtype: DataType,
    /// Reduction operator, for collectives that reduce.
    pub redop: Option<RedOp>,
    /// Root rank, for collectives that have one.
    pub root: Option<u32>,
    /// Placement of the buffers.
    pub placement: Placement,
    /// The size that was asked for.
    pub requested: Bytes,
}

impl RowKey {
    /// The key of a case.
    pub fn of(case: &Case) -> Self {
        Self {
            collective: case.collective.clone(),
            dtype: case.dtype,
            redop: case.redop,
            root: case.root,
            placement: case.placement,
            requested: case.requested,
        }
    }

    /// Sorts as a table does: by collective, datatype, operator, root, placement, then size.
    pub fn order(&self) -> impl Ord + use<> {
        let placement = match self.placement {
            Placement::OutOfPlace => 0,
            Placement::InPlace => 1,
        };
        let redop = self.redop.map(RedOp::name);
        let text = (self.collective.clone(), self.dtype.name(), redop, self.root);
        (text, placement, self.requested)
    }
}

impl fmt::Display for RowKey {
    /// `allreduce float sum out-of-place 1 MiB`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.collective, self.dtype.name())?;
        if let Some(redop) = self.redop {
            write!(f, " {}", redop.name())?;
        }
        if let Some(root) = self.root {
            write!(f, " root {root}")?;
        }
        let placement = match self.placement {
            Placement::OutOfPlace => "out-of-place",
            Placement::InPlace => "in-place",
        };
        write!(f, " {placement} {}", self.requested)
    }
}
