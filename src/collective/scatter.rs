//! Scatter: rank `r` gets part `r` of the root's elements.

use super::{Call, Collective, Layout, Operator, Uses, all_but_one, scattered};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct Scatter;

impl Collective for Scatter {
    fn name(&self) -> &'static str {
        "scatter"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "scatter"
    }

    fn summary(&self) -> &'static str {
        "rank r gets part r of the root's elements"
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
        scattered(want, dtype, world)
    }

    /// Of n parts that the root has, one is for itself.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `Scatter`.
    fn bus_factor(&self, world: World) -> f64 {
        all_but_one(world)
    }

    /// The library's own call where it has one (NCCL 2.28 and newer), else the root sends to all.
    /// Nothing is called for nothing, as in nccl-tests.
    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        let (root, part) = (call.root.unwrap_or(Rank(0)), call.recv.len);
        if part == 0 {
            return Ok(());
        }
        if ops.has_native(self.name()) {
            return ops.scatter(call.send, call.recv, call.dtype, root);
        }
        ops.group(&mut || {
            if ops.rank() == root {
                for peer in ops.world().ranks() {
                    let from = call.send.part(u64::from(peer.0) * part, part);
                    ops.send(from, call.dtype, peer)?;
                }
            }
            ops.recv(call.recv, call.dtype, root)
        })
    }

    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        _world: World,
        root: Option<Rank>,
    ) -> Vec<Stretch> {
        vec![Stretch {
            len: layout.recv,
            source: Source::Copied {
                rank: root.unwrap_or(Rank(0)),
                at: u64::from(rank.0) * layout.count,
            },
        }]
    }
}
