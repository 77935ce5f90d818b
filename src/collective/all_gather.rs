//! All-gather: part `i` of every rank's output is rank `i`'s input.

use super::{Call, Collective, Layout, Operator, Uses, all_but_one, gathered, one_from_each};
use crate::base::pattern::Stretch;
use crate::base::{Bytes, DataType, Fault, Rank, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct AllGather;

impl Collective for AllGather {
    fn name(&self) -> &'static str {
        "allgather"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "all_gather"
    }

    fn summary(&self) -> &'static str {
        "part i of every rank's output is rank i's input"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::None,
            root: false,
            in_place: true,
            uneven: false,
        }
    }

    fn layout(&self, want: Bytes, dtype: DataType, world: World, _uneven: &Uneven) -> Layout {
        gathered(want, dtype, world)
    }

    /// Of n parts that a rank ends up with, one was its own.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `AllGather`.
    fn bus_factor(&self, world: World) -> f64 {
        all_but_one(world)
    }

    /// The library's own call where it has one, else every rank sends its part to all.
    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        if ops.has_native(self.name()) {
            return ops.all_gather(call.send, call.recv, call.dtype);
        }
        let part = call.send.len;
        ops.group(&mut || {
            for peer in ops.world().ranks() {
                ops.send(call.send, call.dtype, peer)?;
                let into = call.recv.part(u64::from(peer.0) * part, part);
                ops.recv(into, call.dtype, peer)?;
            }
            Ok(())
        })
    }

    fn expected(
        &self,
        _rank: Rank,
        layout: &Layout,
        world: World,
        _root: Option<Rank>,
    ) -> Vec<Stretch> {
        one_from_each(layout.count, world)
    }
}
