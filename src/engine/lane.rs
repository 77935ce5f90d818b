//! One rank of an engine thread: its buffers, and which part of them an operation uses.

use super::tweaks;
use crate::backend::Session;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Placement;
use crate::base::Rank;
use crate::base::Span;
use crate::base::World;
use crate::collective::Call;
use crate::record::Case;
use crate::record::InPlace;
use crate::record::Tweaks;

/// The ranks of one engine thread.
#[derive(Debug, Clone)]
pub struct Seats {
    /// Number of ranks in the world.
    pub world: World,
    /// This thread's ranks, in lane order.
    pub ranks: Vec<Rank>,
    /// The device of each.
    pub gpus: Vec<Option<u32>>,
    /// Host name, for reports of wrong elements.
    pub host: String,
}

/// One rank and its two buffers.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    /// The rank.
    pub(super) rank: Rank,
    /// Its GPU; none on the CPU.
    pub(super) gpu: Option<u32>,
    /// Its host.
    pub(super) host: String,
    send: Buffer,
    recv: Buffer,
    /// Elements before the first that operations use.
    unalign: u64,
}

/// Gives every rank its two buffers of `capacity` bytes, and what tweaks need beyond it.
pub(super) fn allocate(
    session: &mut dyn Session,
    seats: &Seats,
    capacity: Bytes,
    rarer: &Tweaks,
) -> Result<Vec<Lane>, Fault> {
    let len = Bytes(capacity.0.saturating_add(tweaks::padding(rarer).0));
    let mut lanes = Vec::with_capacity(seats.ranks.len());
    for (index, (&rank, &gpu)) in seats.ranks.iter().zip(&seats.gpus).enumerate() {
        let mut alloc = || {
            session
                .alloc(index, len)
                .while_doing(|| format!("allocating a buffer of {len} on rank {rank}"))
        };
        let (send, recv) = (alloc()?, alloc()?);
        lanes.push(Lane {
            rank,
            gpu,
            host: seats.host.clone(),
            send,
            recv,
            unalign: rarer.unalign_count.into(),
        });
    }
    Ok(lanes)
}

impl Lane {
    /// The receive buffer.
    pub(super) fn output(&self) -> Buffer {
        self.recv
    }

    /// The spans that one operation of `case` sends and receives, `shift` bytes into the buffers.
    ///
    /// The in-place form lies in the receive buffer.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `startColl`.
    pub(super) fn call(&self, case: &Case, shift: u64) -> Call {
        let width = case.dtype.size();
        let slot = |buffer, index: u64, count: u64| Span {
            buffer,
            offset: shift + (self.unalign + index) * width,
            len: count * width,
        };
        let rank = u64::from(self.rank.0);
        let (send, recv) = match (case.placement, case.in_place) {
            (Placement::OutOfPlace, _) => ((self.send, 0), (self.recv, 0)),
            (Placement::InPlace, InPlace::Same) => ((self.recv, 0), (self.recv, 0)),
            (Placement::InPlace, InPlace::SendInRecv { stride }) => {
                ((self.recv, rank * stride), (self.recv, 0))
            }
            (Placement::InPlace, InPlace::RecvInSend { stride }) => {
                ((self.recv, 0), (self.recv, rank * stride))
            }
        };
        Call {
            send: slot(send.0, send.1, case.send_count),
            recv: slot(recv.0, recv.1, case.recv_count),
            dtype: case.dtype,
            redop: case.redop,
            root: case.root.map(Rank),
            round: 0,
        }
    }
}
