//! The verbs that a communicator may offer, seen from one rank.
//!
//! Every default says "not here", so that a backend states only what it has and a missing verb
//! becomes a waived row.

use crate::base::{DataType, Fault, Rank, RedOp, Span, World};

/// One rank's verbs: who it is, sends and receives, groups; the collectives are [`Collectives`].
/// A verb enqueues; it does not wait for the result.
///
/// Counts follow from the spans: an operation on `n` elements of `dtype` takes spans of
/// `n * dtype.size()` bytes unless the verb says otherwise.
pub trait Ops: Collectives {
    /// Which rank this is.
    fn rank(&self) -> Rank;

    /// How many ranks there are.
    fn world(&self) -> World;

    /// Whether the verb `name` (the collective's one spelling) is a single call of the library;
    /// where it is not, the collective composes it of sends and receives.
    fn has_native(&self, name: &str) -> bool;

    /// Sends `from` to `peer`, which must receive as many bytes. Belongs in a [`Ops::group`].
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
    fn send(&self, from: Span, dtype: DataType, peer: Rank) -> Result<(), Fault> {
        let _ = (from, dtype, peer);
        Err(not_here("send"))
    }

    /// Receives `into` from `peer`.
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
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

/// The verbs in which all ranks take part. "Parts" are `world` equal parts of a span, by rank.
pub trait Collectives {
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

    /// Part `i` of rank `r`'s `recv` gets part `r` of rank `i`'s `send`.
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
    fn all_to_all(&self, send: Span, recv: Span, dtype: DataType) -> Result<(), Fault> {
        let _ = (send, recv, dtype);
        Err(not_here("all-to-all"))
    }

    /// Part `i` of every rank's `recv` gets rank `i`'s `send`.
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
    fn all_gather(&self, send: Span, recv: Span, dtype: DataType) -> Result<(), Fault> {
        let _ = (send, recv, dtype);
        Err(not_here("all-gather"))
    }

    /// Rank `r`'s `recv` gets the reduction of part `r` of all ranks' `send`.
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
    fn reduce_scatter(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let _ = (send, recv, dtype, redop);
        Err(not_here("reduce-scatter"))
    }

    /// Every rank's `recv` gets `root`'s `send`.
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
    fn broadcast(&self, send: Span, recv: Span, dtype: DataType, root: Rank) -> Result<(), Fault> {
        let _ = (send, recv, dtype, root);
        Err(not_here("broadcast"))
    }

    /// `root`'s `recv` gets the reduction of all ranks' `send`; the others' is left alone.
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
    fn reduce(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
        root: Rank,
    ) -> Result<(), Fault> {
        let _ = (send, recv, dtype, redop, root);
        Err(not_here("reduce"))
    }

    /// Part `i` of `root`'s `recv` gets rank `i`'s `send`; the others' is left alone.
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
    fn gather(&self, send: Span, recv: Span, dtype: DataType, root: Rank) -> Result<(), Fault> {
        let _ = (send, recv, dtype, root);
        Err(not_here("gather"))
    }

    /// Rank `r`'s `recv` gets part `r` of `root`'s `send`.
    ///
    /// # Errors
    /// As [`Collectives::all_reduce`].
    fn scatter(&self, send: Span, recv: Span, dtype: DataType, root: Rank) -> Result<(), Fault> {
        let _ = (send, recv, dtype, root);
        Err(not_here("scatter"))
    }
}

fn not_here(verb: &str) -> Fault {
    Fault::unsupported(format!("{verb} is not offered by this backend"))
}
