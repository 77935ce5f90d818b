//! The verbs of a rank. They block inside the call, so nothing is ever pending.

use crate::backend::messages::Message;
use crate::backend::messages::Messages;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::ffi::mpi::Mpi;
use crate::ffi::mpi::Piece;
use crate::ffi::mpi::Transfer;
use crate::ffi::shm::Region;
use crate::ffi::shm::SharedFile;
use crate::ops::Collectives;
use crate::ops::Ops;
use std::sync::Arc;

/// A rank with its buffers and its open groups.
#[derive(Debug)]
pub(super) struct Verbs {
    pub(super) mpi: Arc<Mpi>,
    buffers: Vec<Region>,
    messages: Messages,
}

impl Verbs {
    /// With no buffers and no group open.
    pub(super) fn new(mpi: Arc<Mpi>) -> Self {
        Self {
            mpi,
            buffers: Vec::new(),
            messages: Messages::default(),
        }
    }

    /// Allocates a buffer.
    ///
    /// # Errors
    /// `Call` where there is not enough memory.
    pub(super) fn alloc(&mut self, len: Bytes) -> Result<Buffer, Fault> {
        let bytes = len.0.max(1);
        let room = usize::try_from(bytes)
            .map_err(|_| Fault::new(Kind::Call, format!("{len} is past any address")))?;
        let file = SharedFile::create("ncclbench-mpi", bytes)?;
        file.reserve(0, bytes)?;
        self.buffers.push(file.map(0, room)?);
        Ok(Buffer(self.buffers.len() - 1))
    }

    /// Where a span lies.
    ///
    /// # Errors
    /// `Call` if it leaves its buffer.
    pub(super) fn piece(&self, span: Span) -> Result<Piece<'_>, Fault> {
        let wrong = || Fault::new(Kind::Call, format!("no such memory: {span:?}"));
        let region = self.buffers.get(span.buffer.0).ok_or_else(wrong)?;
        let at = usize::try_from(span.offset).map_err(|_| wrong())?;
        let len = usize::try_from(span.len).map_err(|_| wrong())?;
        let end = at.checked_add(len).ok_or_else(wrong)?;
        if end > region.len() {
            return Err(wrong());
        }
        Ok(Piece { region, at, len })
    }

    fn pair(&self, send: Span, recv: Span) -> Result<(Piece<'_>, Piece<'_>), Fault> {
        let apart = send.buffer != recv.buffer
            || send.offset + send.len <= recv.offset
            || recv.offset + recv.len <= send.offset;
        if apart || send == recv {
            return Ok((self.piece(send)?, self.piece(recv)?));
        }
        Err(Fault::unsupported(
            "MPI takes no buffers that overlap in part",
        ))
    }

    fn queue(&self, message: Message) -> Result<(), Fault> {
        match self.messages.keep(message) {
            Some(message) => self.mpi.transfer(self.transfer(message)?),
            None => Ok(()),
        }
    }

    fn transfer(&self, message: Message) -> Result<Transfer<'_>, Fault> {
        Ok(Transfer {
            piece: self.piece(message.span)?,
            peer: message.peer,
            receives: message.receives,
        })
    }

    fn run(&self, messages: &[Message]) -> Result<(), Fault> {
        let all = messages.iter().map(|&message| self.transfer(message));
        let all: Result<Vec<_>, Fault> = all.collect();
        self.mpi.transfer_all(&all?)
    }
}

impl Collectives for Verbs {
    fn all_reduce(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let pair = self.pair(send, recv)?;
        self.mpi
            .all_reduce(pair, dtype, redop)
            .while_doing(|| "all-reduce".to_owned())
    }

    fn all_to_all(&self, send: Span, recv: Span, dtype: DataType) -> Result<(), Fault> {
        let pair = self.pair(send, recv)?;
        self.mpi
            .all_to_all(pair, dtype)
            .while_doing(|| "all-to-all".to_owned())
    }

    fn all_gather(&self, send: Span, recv: Span, dtype: DataType) -> Result<(), Fault> {
        let own = recv.part(u64::from(self.mpi.rank()) * send.len, send.len);
        if send != own {
            self.pair(send, recv)?;
        }
        self.mpi
            .all_gather((self.piece(send)?, self.piece(recv)?), dtype)
            .while_doing(|| "all-gather".to_owned())
    }

    fn reduce_scatter(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        self.mpi
            .reduce_scatter((self.piece(send)?, self.piece(recv)?), dtype, redop)
            .while_doing(|| "reduce-scatter".to_owned())
    }

    /// MPI broadcasts within one buffer: the root's own copy is made first.
    fn broadcast(&self, send: Span, recv: Span, dtype: DataType, root: Rank) -> Result<(), Fault> {
        let (from, into) = self.pair(send, recv)?;
        if self.rank() == root && send != recv {
            into.region.copy(into.at, from.region, from.at, from.len);
        }
        self.mpi
            .broadcast(into, dtype, root)
            .while_doing(|| "broadcast".to_owned())
    }
}

impl Ops for Verbs {
    fn rank(&self) -> Rank {
        Rank(self.mpi.rank())
    }

    fn world(&self) -> World {
        World(self.mpi.size())
    }

    fn has_native(&self, name: &str) -> bool {
        matches!(
            name,
            "allreduce" | "alltoall" | "allgather" | "reducescatter" | "broadcast"
        )
    }

    fn send(&self, from: Span, _dtype: DataType, peer: Rank) -> Result<(), Fault> {
        self.queue(Message {
            span: from,
            peer,
            receives: false,
        })
    }

    fn recv(&self, into: Span, _dtype: DataType, peer: Rank) -> Result<(), Fault> {
        self.queue(Message {
            span: into,
            peer,
            receives: true,
        })
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        self.messages.group(body, |messages| self.run(messages))
    }
}
