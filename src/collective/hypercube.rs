//! Hypercube: an all-gather in which ranks exchange twice as much with each round.

use super::{Call, Collective, Layout, Operator, Uses, gathered, one_from_each};
use crate::base::pattern::Stretch;
use crate::base::{Bytes, DataType, Fault, Rank, Uneven, World};
use crate::ops::Ops;

#[derive(Debug)]
pub(super) struct Hypercube;

impl Collective for Hypercube {
    fn name(&self) -> &'static str {
        "hypercube"
    }

    fn nccl_tests_name(&self) -> &'static str {
        "hypercube"
    }

    fn summary(&self) -> &'static str {
        "an all-gather by exchanges along the edges of a hypercube"
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
        let layout = gathered(want, dtype, world);
        let own = layout.count * dtype.size();
        Layout {
            algo_bytes: Bytes(layout.size.0 - own),
            ..layout
        }
    }

    /// What a rank receives is what algbw counts already.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/hypercube.cu`, `HyperCubeGetBw`.
    fn bus_factor(&self, _world: World) -> f64 {
        1.0
    }

    /// One for each dimension; a world of one copies its part and is done.
    fn rounds(&self, world: World) -> u32 {
        world.0.ilog2().max(1)
    }

    /// In round `i` a rank gives the 2^i parts that it has to the rank whose number differs in bit `i`,
    /// and gets as many. The first round brings its own part to its place too.
    fn launch(&self, ops: &dyn Ops, call: &Call, _layout: &Layout) -> Result<(), Fault> {
        let (rank, n, part) = (ops.rank().0, ops.world().0, call.send.len);
        if !n.is_power_of_two() {
            return Err(Fault::unsupported(format!(
                "a hypercube has a power of two of corners, and there are {n} ranks"
            )));
        }
        let mask = 1 << call.round;
        let have = rank & !(mask - 1);
        let slots = |first: u32, parts: u32| {
            let (at, len) = (u64::from(first) * part, u64::from(parts) * part);
            call.recv.part(at, len)
        };
        let own = slots(rank, 1);
        ops.group(&mut || {
            if call.round == 0 && own != call.send {
                ops.send(call.send, call.dtype, Rank(rank))?;
                ops.recv(own, call.dtype, Rank(rank))?;
            }
            if mask >= n {
                return Ok(());
            }
            let peer = Rank(rank ^ mask);
            let from = if call.round == 0 {
                call.send
            } else {
                slots(have, mask)
            };
            ops.send(from, call.dtype, peer)?;
            ops.recv(slots(have ^ mask, mask), call.dtype, peer)
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
