//! The verbs that a communicator may offer, seen from one rank.
//!
//! Every default says "not here", so that a backend states only what it has and a missing verb
//! becomes a waived row.

use crate::base::{DataType, Fault, Rank, RedOp, Span, World};

/// One rank's verbs. A verb enqueues; it does not wait for the result.
///
/// Counts follow from the spans: an operation on `n` elements of `dtype` takes spans of
/// `n * dtype.size()` bytes unless the verb says otherwise.
pub trait Ops {
    /// Which rank this is.
    fn rank(&self) -> Rank;

    /// How many ranks there are.
    fn world(&self) -> World;

    /// Whether the verb `name` (the collective's one spelling) is a single call of the library;
    /// where it is not, the collective composes it of sends and receives.
    fn has_native(&self, name: &str) -> bool;

    /// Every rank's `recv` gets the reduction of all ranks' `send`.
    ///
    /// # Errors
    /// `Unsupported` where there is no such verb or it does not take this datatype or operator;
    /// `Call` where the library fails.
    fn all_reduce(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let _ = (send, recv, dtype, redop);
        Err(not_here("all-reduce"))
    }

    /// Part `i` of rank `r`'s `recv` gets part `r` of rank `i`'s `send`; spans are whole buffers of `world` equal parts.
    ///
    /// # Errors
    /// As [`Ops::all_reduce`].
    fn all_to_all(&self, send: Span, recv: Span, dtype: DataType) -> Result<(), Fault> {
        let _ = (send, recv, dtype);
        Err(not_here("all-to-all"))
    }

    /// Sends `from` to `peer`, which must receive as many bytes. Belongs in a [`Ops::group`].
    ///
    /// # Errors
    /// As [`Ops::all_reduce`].
    fn send(&self, from: Span, dtype: DataType, peer: Rank) -> Result<(), Fault> {
        let _ = (from, dtype, peer);
        Err(not_here("send"))
    }

    /// Receives `into` from `peer`.
    ///
    /// # Errors
    /// As [`Ops::all_reduce`].
    fn recv(&self, into: Span, dtype: DataType, peer: Rank) -> Result<(), Fault> {
        let _ = (into, dtype, peer);
        Err(not_here("receive"))
    }

    /// Runs `body` as one group call: the verbs inside are enqueued together. Groups nest.
    ///
    /// # Errors
    /// Those of `body`, else those of closing the group.
    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault>;
}

fn not_here(verb: &str) -> Fault {
    Fault::unsupported(format!("{verb} is not offered by this backend"))
}
