//! All-reduce: every rank gets the reduction of all ranks' elements.

use super::{Call, Collective, Layout, Operator, Uses, equal};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, RedOp, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct AllReduce;

impl Collective for AllReduce {
    fn name(&self) -> &'static str {
        "allreduce"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "all_reduce"
    }

    fn summary(&self) -> &'static str {
        "every rank gets the reduction of all ranks' elements"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::Applied,
            root: false,
            in_place: true,
            uneven: false,
        }
    }

    fn layout(&self, want: Bytes, dtype: DataType, _world: World, _uneven: &Uneven) -> Layout {
        equal(want.0 / dtype.size(), dtype)
    }

    /// Every element crosses the busiest link 2(n−1)/n times whatever the algorithm, so that busbw
    /// can be held against the link's peak. A world of one moves nothing; the factor is 0.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `AllReduce`.
    fn bus_factor(&self, world: World) -> f64 {
        let n = f64::from(world.0);
        2.0 * (n - 1.0) / n
    }

    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        ops.all_reduce(
            call.send,
            call.recv,
            call.dtype,
            call.redop.unwrap_or(RedOp::Sum),
        )
    }

    fn expected(
        &self,
        _rank: Rank,
        layout: &Layout,
        _world: World,
        _root: Option<Rank>,
    ) -> Vec<Stretch> {
        vec![Stretch {
            len: layout.recv,
            source: Source::Reduced { at: 0 },
        }]
    }
}
