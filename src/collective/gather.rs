//! Gather: part `i` of the root's output is rank `i`'s input.

use super::{Call, Collective, Layout, Operator, Uses, all_but_one, gathered, one_from_each};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct Gather;

impl Collective for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "gather"
    }

    fn summary(&self) -> &'static str {
        "part i of the root's output is rank i's input"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::None,
            root: true,
            in_place: true,
            uneven: false,
        }
    }

    fn layout(&self, want: Bytes, dtype: DataType, world: World, _uneven: &Uneven) -> Layout {
        gathered(want, dtype, world)
    }

    /// Of n parts that the root ends up with, one was its own.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `Gather`.
    fn bus_factor(&self, world: World) -> f64 {
        all_but_one(world)
    }

    /// The library's own call where it has one (NCCL 2.28 and newer), else all send to the root.
    /// Nothing is called for nothing, as in nccl-tests.
    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        let (root, part) = (call.root.unwrap_or(Rank(0)), call.send.len);
        if part == 0 {
            return Ok(());
        }
        if ops.has_native(self.name()) {
            return ops.gather(call.send, call.recv, call.dtype, root);
        }
        ops.group(&mut || {
            ops.send(call.send, call.dtype, root)?;
            if ops.rank() == root {
                for peer in ops.world().ranks() {
                    let into = call.recv.part(u64::from(peer.0) * part, part);
                    ops.recv(into, call.dtype, peer)?;
                }
            }
            Ok(())
        })
    }

    /// Only the root's output is written.
    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        world: World,
        root: Option<Rank>,
    ) -> Vec<Stretch> {
        if rank == root.unwrap_or(Rank(0)) {
            return one_from_each(layout.count, world);
        }
        vec![Stretch {
            len: layout.recv,
            source: Source::Untouched { at: 0 },
        }]
    }
}
