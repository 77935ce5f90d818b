//! All-to-all with parts of different sizes.

use super::{Call, Collective, Layout, Operator, Uses, aligned, all_but_one};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, Uneven, World};
use crate::ops::Ops;
use crate::record::InPlace;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct AllToAllV;

impl Collective for AllToAllV {
    fn name(&self) -> &'static str {
        "alltoallv"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "alltoallv"
    }

    fn summary(&self) -> &'static str {
        "as alltoall, with parts of different sizes"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::None,
            root: false,
            in_place: false,
            uneven: true,
        }
    }

    /// The size is that of the rank with the most; `count` is that of an equal part.
    fn layout(&self, want: Bytes, dtype: DataType, world: World, uneven: &Uneven) -> Layout {
        let count = aligned(want.0 / dtype.size() / u64::from(world.0), dtype);
        let traffic = uneven.traffic(count, dtype, world);
        let (send, recv) = traffic.largest();
        let size = Bytes(send.max(recv) * dtype.size());
        Layout {
            count,
            send,
            recv,
            in_place: InPlace::Same,
            size,
            algo_bytes: size,
            traffic: Some(Arc::new(traffic)),
        }
    }

    /// As for equal parts, of which a rank keeps one of n.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/alltoallv.cu`.
    fn bus_factor(&self, world: World) -> f64 {
        all_but_one(world)
    }

    /// NCCL has no such call: grouped sends and receives, one after the other in both buffers.
    fn launch(&self, ops: &dyn Ops, call: &Call, layout: &Layout) -> Result<(), Fault> {
        let (me, width) = (ops.rank(), call.dtype.size());
        let (mut sent, mut received) = (0, 0);
        ops.group(&mut || {
            for peer in ops.world().ranks() {
                let (to, from) = (
                    count(layout, me, peer) * width,
                    count(layout, peer, me) * width,
                );
                if to > 0 {
                    ops.send(call.send.part(sent, to), call.dtype, peer)?;
                }
                if from > 0 {
                    ops.recv(call.recv.part(received, from), call.dtype, peer)?;
                }
                (sent, received) = (sent + to, received + from);
            }
            Ok(())
        })
    }

    /// One part from each rank; a rank that receives less than others has its rest left alone.
    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        world: World,
        _root: Option<Rank>,
    ) -> Vec<Stretch> {
        let mut stretches = Vec::with_capacity(world.0 as usize + 1);
        let mut received = 0;
        for peer in world.ranks() {
            let len = count(layout, peer, rank);
            let traffic = layout.traffic.as_deref();
            let at = traffic.map_or(0, |traffic| traffic.offset(peer, rank));
            stretches.push(Stretch {
                len,
                source: Source::Copied { rank: peer, at },
            });
            received += len;
        }
        stretches.push(Stretch {
            len: layout.recv - received,
            source: Source::Untouched { at: received },
        });
        stretches
    }
}

fn count(layout: &Layout, from: Rank, to: Rank) -> u64 {
    let traffic = layout.traffic.as_deref();
    traffic.map_or(0, |traffic| traffic.count(from, to))
}
