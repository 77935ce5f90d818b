//! Broadcast: every rank gets the root's elements.

use super::{Call, Collective, Layout, Operator, Uses, equal};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct Broadcast;

impl Collective for Broadcast {
    fn name(&self) -> &'static str {
        "broadcast"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "broadcast"
    }

    fn summary(&self) -> &'static str {
        "every rank gets the root's elements"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::None,
            root: true,
            in_place: true,
            uneven: false,
        }
    }

    fn layout(&self, want: Bytes, dtype: DataType, _world: World, _uneven: &Uneven) -> Layout {
        equal(want.0 / dtype.size(), dtype)
    }

    /// Every element leaves the root once.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `Broadcast`.
    fn bus_factor(&self, _world: World) -> f64 {
        1.0
    }

    /// The library's own call where it has one, else the root sends to all.
    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        let root = call.root.unwrap_or(Rank(0));
        if ops.has_native(self.name()) {
            return ops.broadcast(call.send, call.recv, call.dtype, root);
        }
        ops.group(&mut || {
            if ops.rank() == root {
                for peer in ops
                    .world()
                    .ranks()
                    .filter(|peer| is_needed(call, root, *peer))
                {
                    ops.send(call.send, call.dtype, peer)?;
                }
            }
            if is_needed(call, root, ops.rank()) {
                ops.recv(call.recv, call.dtype, root)?;
            }
            Ok(())
        })
    }

    fn expected(
        &self,
        _rank: Rank,
        layout: &Layout,
        _world: World,
        root: Option<Rank>,
    ) -> Vec<Stretch> {
        vec![Stretch {
            len: layout.recv,
            source: Source::Copied {
                rank: root.unwrap_or(Rank(0)),
                at: 0,
            },
        }]
    }
}

/// In place the root has its own elements already.
fn is_needed(call: &Call, root: Rank, peer: Rank) -> bool {
    peer != root || call.send != call.recv
}
