//! Send-receive: a ring, in which every rank sends to the next and receives from the one before.

use super::{Call, Collective, Layout, Operator, Uses, equal};
use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct SendRecv;

impl Collective for SendRecv {
    fn name(&self) -> &'static str {
        "sendrecv"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "sendrecv"
    }

    fn summary(&self) -> &'static str {
        "every rank sends to the next one and receives from the one before"
    }

    fn uses(&self) -> Uses {
        Uses {
            redop: Operator::Named,
            root: false,
            in_place: false,
            uneven: false,
        }
    }

    fn layout(&self, want: Bytes, dtype: DataType, _world: World, _uneven: &Uneven) -> Layout {
        equal(want.0 / dtype.size(), dtype)
    }

    /// Every element crosses one link once.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`, section `SendRecv`.
    fn bus_factor(&self, _world: World) -> f64 {
        1.0
    }

    /// The one before and the next one.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/sendrecv.cu`, `SendRecvInitCommConfig`.
    fn p2p_peers(&self) -> Option<u32> {
        Some(2)
    }

    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        let (rank, n) = (ops.rank(), ops.world().0);
        ops.group(&mut || {
            ops.send(call.send, call.dtype, Rank((rank.0 + 1) % n))?;
            ops.recv(call.recv, call.dtype, before(rank, n))
        })
    }

    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        world: World,
        _root: Option<Rank>,
    ) -> Vec<Stretch> {
        vec![Stretch {
            len: layout.recv,
            source: Source::Copied {
                rank: before(rank, world.0),
                at: 0,
            },
        }]
    }
}

fn before(rank: Rank, n: u32) -> Rank {
    Rank((rank.0 + n - 1) % n)
}
