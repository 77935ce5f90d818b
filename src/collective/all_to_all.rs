//! All-to-all: part `i` of rank `r`'s output is part `r` of rank `i`'s input.

use super::{Call, Collective, Layout, Operator, Uses, all_but_one, equal_parts};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct AllToAll;

impl Collective for AllToAll {
    fn name(&self) -> &'static str {
        "alltoall"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "alltoall"
    }

    fn summary(&self) -> &'static str {
        "part i of rank r's output is part r of rank i's input"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::None,
            root: false,
            in_place: false,
            uneven: false,
        }
    }

    fn layout(&self, want: Bytes, dtype: DataType, world: World, _uneven: &Uneven) -> Layout {
        equal_parts(want, dtype, world)
    }

    /// A rank keeps one part of n for itself.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `AlltoAll`.
    fn bus_factor(&self, world: World) -> f64 {
        all_but_one(world)
    }

    /// The library's own call where it has one (NCCL 2.28 and newer), else grouped sends and receives.
    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        if ops.has_native(self.name()) {
            return ops.all_to_all(call.send, call.recv, call.dtype);
        }
        let part = call.send.len / u64::from(ops.world().0);
        ops.group(&mut || {
            for peer in ops.world().ranks() {
                let at = u64::from(peer.0) * part;
                ops.send(call.send.part(at, part), call.dtype, peer)?;
                ops.recv(call.recv.part(at, part), call.dtype, peer)?;
            }
            Ok(())
        })
    }

    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        world: World,
        _root: Option<Rank>,
    ) -> Vec<Stretch> {
        let at = u64::from(rank.0) * layout.count;
        world
            .ranks()
            .map(|peer| Stretch {
                len: layout.count,
                source: Source::Copied { rank: peer, at },
            })
            .collect()
    }
}
