//! Reduce-scatter: rank `r` gets the reduction of part `r` of all ranks' inputs.

use super::{Call, Collective, Layout, Operator, Uses, all_but_one, scattered};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, RedOp, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct ReduceScatter;

impl Collective for ReduceScatter {
    fn name(&self) -> &'static str {
        "reducescatter"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "reduce_scatter"
    }

    fn summary(&self) -> &'static str {
        "rank r gets the reduction of part r of all ranks' inputs"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::Applied,
            root: false,
            in_place: true,
            uneven: false,
        }
    }

    fn layout(&self, want: Bytes, dtype: DataType, world: World, _uneven: &Uneven) -> Layout {
        scattered(want, dtype, world)
    }

    /// Of n parts that a rank has, one is for itself.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `ReduceScatter`.
    fn bus_factor(&self, world: World) -> f64 {
        all_but_one(world)
    }

    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        let redop = call.redop.unwrap_or(RedOp::Sum);
        ops.reduce_scatter(call.send, call.recv, call.dtype, redop)
    }

    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        _world: World,
        _root: Option<Rank>,
    ) -> Vec<Stretch> {
        vec![Stretch {
            len: layout.recv,
            source: Source::Reduced {
                at: u64::from(rank.0) * layout.count,
            },
        }]
    }
}
