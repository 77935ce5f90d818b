//! Reduce: the root gets the reduction of all ranks' elements.

use super::{Call, Collective, Layout, Operator, Uses, equal};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, RedOp, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct Reduce;

impl Collective for Reduce {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "reduce"
    }

    fn summary(&self) -> &'static str {
        "the root gets the reduction of all ranks' elements"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::Applied,
            root: true,
            in_place: true,
            uneven: false,
        }
    }

    fn layout(&self, want: Bytes, dtype: DataType, _world: World, _uneven: &Uneven) -> Layout {
        equal(want.0 / dtype.size(), dtype)
    }

    /// Every element arrives at the root once, reduced on its way.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `Reduce`.
    fn bus_factor(&self, _world: World) -> f64 {
        1.0
    }

    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        let redop = call.redop.unwrap_or(RedOp::Sum);
        let root = call.root.unwrap_or(Rank(0));
        ops.reduce(call.send, call.recv, call.dtype, redop, root)
    }

    /// Only the root's output is written.
    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        _world: World,
        root: Option<Rank>,
    ) -> Vec<Stretch> {
        let source = if rank == root.unwrap_or(Rank(0)) {
            Source::Reduced { at: 0 }
        } else {
            Source::Untouched { at: 0 }
        };
        vec![Stretch {
            len: layout.recv,
            source,
        }]
    }
}
