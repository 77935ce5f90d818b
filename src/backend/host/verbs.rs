//! The verbs of a rank. They run inside the call, so nothing is ever pending.

use super::all_reduce::all_reduce;
use super::all_to_all::all_to_all;
use super::comm::Comm;
use super::point_to_point;
use super::reduce::{reduce, reduce_scatter};
use crate::backend::messages::Message;
use crate::backend::messages::Messages;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::ops::Collectives;
use crate::ops::Ops;

/// A communicator with its open groups.
#[derive(Debug)]
pub(super) struct Verbs {
    pub(super) comm: Comm,
    messages: Messages,
}

impl Verbs {
    /// With no group open.
    pub(super) fn new(comm: Comm) -> Self {
        Self {
            comm,
            messages: Messages::default(),
        }
    }

    fn queue(&self, message: Message) -> Result<(), Fault> {
        match self.messages.keep(message) {
            Some(message) => self.run(&[message]),
            None => Ok(()),
        }
    }

    fn run(&self, messages: &[Message]) -> Result<(), Fault> {
        point_to_point::run(&self.comm, messages).while_doing(|| "send and receive".to_owned())
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
        all_reduce(&self.comm, send, recv, dtype, redop).while_doing(|| "all-reduce".to_owned())
    }

    fn all_to_all(&self, send: Span, recv: Span, dtype: DataType) -> Result<(), Fault> {
        all_to_all(&self.comm, send, recv, dtype).while_doing(|| "all-to-all".to_owned())
    }

    fn reduce_scatter(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let done = reduce_scatter(&self.comm, send, recv, dtype, redop);
        done.while_doing(|| "reduce-scatter".to_owned())
    }

    fn reduce(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
        root: Rank,
    ) -> Result<(), Fault> {
        let done = reduce(&self.comm, send, recv, (dtype, redop), root);
        done.while_doing(|| "reduce".to_owned())
    }
}

impl Ops for Verbs {
    fn rank(&self) -> Rank {
        self.comm.rank()
    }

    fn world(&self) -> World {
        self.comm.world()
    }

    fn has_native(&self, name: &str) -> bool {
        matches!(name, "allreduce" | "alltoall" | "reduce" | "reducescatter")
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
