//! One rank of a session: its communicator, stream and buffers, and the verbs on them.
//!
//! The verbs are what the timed loop runs. Apart from the NCCL call they do one relaxed load, two
//! bounds checks and two table reads.

use super::Tools;
use super::abort::Links;
use crate::backend::check::Checker;
use crate::backend::check::Stretched;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::base::fault::Place;
use crate::base::pattern;
use crate::ffi::cuda::Context;
use crate::ffi::cuda::Memory;
use crate::ffi::nccl::Exchange;
use crate::ffi::nccl::Operator;
use crate::ffi::nccl::Queue;
use crate::ops::Collectives;
use crate::ops::Ops;
use std::cell::Cell;
use std::sync::Arc;

/// The first NCCL with 8-bit floats.
///
/// # Source
/// NCCL 2.24.3, release notes; `nccl.h` of 2.23.4 ends at `ncclBfloat16`.
const FLOAT8_SINCE: i32 = 22400;

/// The first compute capability that NCCL reduces 8-bit floats on.
///
/// # Source
/// NCCL 2.30.7, `src/enqueue.cc`, `taskAppend`: "FP8 reduction support begins with sm90".
const FLOAT8_REDUCED_FROM: u32 = 90;

/// One rank.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) tools: Tools,
    pub(super) links: Arc<Links>,
    pub(super) queue: Queue,
    pub(super) context: Context,
    pub(super) buffers: Vec<Memory>,
    pub(super) checker: Checker,
    pub(super) seat: Seat,
    /// The `mulsum` operator of each datatype, once it was needed.
    pub(super) operators: [Cell<Option<Operator>>; DataType::ALL.len()],
}

/// Which rank it is, and what holds for the world.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    pub(super) rank: Rank,
    pub(super) world: World,
    pub(super) place: Place,
    /// The oldest compute capability in the world: 90 is 9.0.
    pub(super) oldest_gpu: u32,
}

impl Lane {
    /// The device address of a span.
    #[inline]
    pub(super) fn at(&self, span: Span) -> Result<u64, Fault> {
        match self.buffers.get(span.buffer.0) {
            Some(memory) if span.offset <= memory.len && span.len <= memory.len - span.offset => {
                Ok(memory.address + span.offset)
            }
            _ => Err(outside(span)),
        }
    }

    /// The device memory of a span.
    pub(super) fn stretch(&self, span: Span) -> Result<Stretched, Fault> {
        let at = self.at(span)?;
        Ok(Stretched { at, len: span.len })
    }

    /// Whether its stream is; the null stream is the current context's.
    pub(super) fn is_idle(&self) -> Result<bool, Fault> {
        if self.queue.stream.is_null() {
            self.tools.driver.set_current(self.context)?;
        }
        self.tools.driver.is_idle(self.queue.stream)
    }

    /// Says where a fault happened.
    pub(super) fn placed(&self, fault: Fault) -> Fault {
        fault.at(self.seat.place.clone())
    }

    #[inline]
    fn exchange(
        &self,
        send: Span,
        recv: Span,
        count: u64,
        dtype: DataType,
    ) -> Result<Exchange, Fault> {
        self.links.alive()?;
        let (send, recv) = (self.at(send)?, self.at(recv)?);
        if dtype.size() == 1 && dtype.is_float() {
            self.float8_exists()?;
        }
        Ok(Exchange {
            send,
            recv,
            count,
            dtype,
        })
    }

    fn float8_exists(&self) -> Result<(), Fault> {
        let nccl = &self.tools.nccl;
        if nccl.version() >= FLOAT8_SINCE {
            return Ok(());
        }
        let found = nccl.version_text();
        Err(Fault::unsupported(format!(
            "8-bit floats need NCCL 2.24, and {found} is loaded"
        )))
    }

    fn float8_reduces(&self) -> Result<(), Fault> {
        let oldest = self.seat.oldest_gpu;
        if oldest >= FLOAT8_REDUCED_FROM {
            return Ok(());
        }
        Err(Fault::unsupported(format!(
            "NCCL reduces 8-bit floats from compute capability 9.0 on, and a GPU of this run has {}.{}",
            oldest / 10,
            oldest % 10
        )))
    }

    #[inline]
    fn operator(&self, dtype: DataType, redop: RedOp) -> Result<Operator, Fault> {
        if dtype.size() == 1 && dtype.is_float() {
            self.float8_reduces()?;
        }
        match Operator::built_in(redop) {
            Some(operator) => Ok(operator),
            None => self.mulsum(dtype),
        }
    }

    /// This rank's `mulsum` operator, made at its first use: before the timed loop, which an
    /// untimed operation precedes.
    fn mulsum(&self, dtype: DataType) -> Result<Operator, Fault> {
        let slot = &self.operators[dtype as usize];
        if let Some(operator) = slot.get() {
            return Ok(operator);
        }
        let bits = pattern::mulsum_scalar_bits(dtype, self.seat.rank);
        let operator = self.tools.nccl.premultiply(self.queue.comm, dtype, bits)?;
        slot.set(Some(operator));
        Ok(operator)
    }
}

#[cold]
fn outside(span: Span) -> Fault {
    Fault::new(
        Kind::Call,
        format!(
            "{span:?} does not lie in a buffer of this rank, which is a defect of this program"
        ),
    )
}

impl Collectives for Lane {
    fn all_reduce(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let data = self.exchange(send, recv, send.len / dtype.size(), dtype)?;
        let operator = self.operator(dtype, redop)?;
        let done = self.tools.nccl.all_reduce(self.queue, data, operator);
        done.map_err(|fault| self.placed(fault))
    }

    fn all_to_all(&self, send: Span, recv: Span, dtype: DataType) -> Result<(), Fault> {
        let count = send.len / dtype.size() / u64::from(self.seat.world.0);
        let data = self.exchange(send, recv, count, dtype)?;
        let done = self.tools.nccl.all_to_all(self.queue, data);
        done.map_err(|fault| self.placed(fault))
    }

    fn all_gather(&self, send: Span, recv: Span, dtype: DataType) -> Result<(), Fault> {
        let data = self.exchange(send, recv, send.len / dtype.size(), dtype)?;
        let done = self.tools.nccl.all_gather(self.queue, data);
        done.map_err(|fault| self.placed(fault))
    }

    fn reduce_scatter(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let data = self.exchange(send, recv, recv.len / dtype.size(), dtype)?;
        let operator = self.operator(dtype, redop)?;
        let done = self.tools.nccl.reduce_scatter(self.queue, data, operator);
        done.map_err(|fault| self.placed(fault))
    }

    fn broadcast(&self, send: Span, recv: Span, dtype: DataType, root: Rank) -> Result<(), Fault> {
        let data = self.exchange(send, recv, send.len / dtype.size(), dtype)?;
        let done = self.tools.nccl.broadcast(self.queue, data, root.0);
        done.map_err(|fault| self.placed(fault))
    }

    fn reduce(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
        root: Rank,
    ) -> Result<(), Fault> {
        let data = self.exchange(send, recv, send.len / dtype.size(), dtype)?;
        let operator = self.operator(dtype, redop)?;
        let done = self.tools.nccl.reduce(self.queue, data, operator, root.0);
        done.map_err(|fault| self.placed(fault))
    }

    fn gather(&self, send: Span, recv: Span, dtype: DataType, root: Rank) -> Result<(), Fault> {
        let data = self.exchange(send, recv, send.len / dtype.size(), dtype)?;
        let done = self.tools.nccl.gather(self.queue, data, root.0);
        done.map_err(|fault| self.placed(fault))
    }

    fn scatter(&self, send: Span, recv: Span, dtype: DataType, root: Rank) -> Result<(), Fault> {
        let data = self.exchange(send, recv, recv.len / dtype.size(), dtype)?;
        let done = self.tools.nccl.scatter(self.queue, data, root.0);
        done.map_err(|fault| self.placed(fault))
    }
}

impl Ops for Lane {
    fn rank(&self) -> Rank {
        self.seat.rank
    }

    fn world(&self) -> World {
        self.seat.world
    }

    fn has_native(&self, name: &str) -> bool {
        self.tools.nccl.has(name)
    }

    fn send(&self, from: Span, dtype: DataType, peer: Rank) -> Result<(), Fault> {
        let data = self.exchange(from, from, from.len / dtype.size(), dtype)?;
        let done = self.tools.nccl.send(self.queue, data, peer.0);
        done.map_err(|fault| self.placed(fault))
    }

    fn recv(&self, into: Span, dtype: DataType, peer: Rank) -> Result<(), Fault> {
        let data = self.exchange(into, into, into.len / dtype.size(), dtype)?;
        let done = self.tools.nccl.recv(self.queue, data, peer.0);
        done.map_err(|fault| self.placed(fault))
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        self.links.alive()?;
        let done = self.tools.nccl.group("ncclGroupEnd", body);
        done.map_err(|fault| self.placed(fault))
    }
}
