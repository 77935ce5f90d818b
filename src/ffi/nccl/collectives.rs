//! The collectives: they enqueue and return.
//!
//! This is what a timed loop runs, so nothing here allocates, locks or looks anything up.

use super::Nccl;
use super::verbs::Exchange;
use super::verbs::Operator;
use super::verbs::Queue;
use super::verbs::code;
use super::verbs::pointer;
use super::verbs::size;
use crate::base::Fault;

impl Nccl {
    /// `ncclAllReduce`.
    ///
    /// # Errors
    /// `Call` where the library fails.
    #[inline]
    pub fn all_reduce(&self, to: Queue, data: Exchange, by: Operator) -> Result<(), Fault> {
        // SAFETY: communicator and stream are alive and the addresses lie in the session's
        // buffers, as the session vouches.
        let code = unsafe {
            (self.calls.all_reduce)(
                pointer(data.send),
                pointer(data.recv),
                size(data.count),
                code(data.dtype),
                by.0,
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclAllReduce", code)
    }

    /// `ncclAlltoAll`: `count` elements for each peer.
    ///
    /// # Errors
    /// `Unsupported` where the library lacks it, `Call` where it fails.
    #[inline]
    pub fn all_to_all(&self, to: Queue, data: Exchange) -> Result<(), Fault> {
        let Some(call) = self.calls.all_to_all else {
            return Err(self.lacks("ncclAlltoAll", "2.28"));
        };
        // SAFETY: as for `all_reduce`.
        let code = unsafe {
            call(
                pointer(data.send),
                pointer(data.recv),
                size(data.count),
                code(data.dtype),
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclAlltoAll", code)
    }

    /// `ncclAllGather`: `count` elements from each rank.
    ///
    /// # Errors
    /// As [`Nccl::all_reduce`].
    #[inline]
    pub fn all_gather(&self, to: Queue, data: Exchange) -> Result<(), Fault> {
        // SAFETY: as for `all_reduce`.
        let code = unsafe {
            (self.calls.all_gather)(
                pointer(data.send),
                pointer(data.recv),
                size(data.count),
                code(data.dtype),
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclAllGather", code)
    }

    /// `ncclReduceScatter`: `count` elements for each rank.
    ///
    /// # Errors
    /// As [`Nccl::all_reduce`].
    #[inline]
    pub fn reduce_scatter(&self, to: Queue, data: Exchange, by: Operator) -> Result<(), Fault> {
        // SAFETY: as for `all_reduce`.
        let code = unsafe {
            (self.calls.reduce_scatter)(
                pointer(data.send),
                pointer(data.recv),
                size(data.count),
                code(data.dtype),
                by.0,
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclReduceScatter", code)
    }

    /// `ncclBroadcast`.
    ///
    /// # Errors
    /// As [`Nccl::all_reduce`].
    #[inline]
    pub fn broadcast(&self, to: Queue, data: Exchange, root: u32) -> Result<(), Fault> {
        // SAFETY: as for `all_reduce`.
        let code = unsafe {
            (self.calls.broadcast)(
                pointer(data.send),
                pointer(data.recv),
                size(data.count),
                code(data.dtype),
                root.cast_signed(),
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclBroadcast", code)
    }

    /// `ncclReduce`.
    ///
    /// # Errors
    /// As [`Nccl::all_reduce`].
    #[inline]
    pub fn reduce(&self, to: Queue, data: Exchange, by: Operator, root: u32) -> Result<(), Fault> {
        // SAFETY: as for `all_reduce`.
        let code = unsafe {
            (self.calls.reduce)(
                pointer(data.send),
                pointer(data.recv),
                size(data.count),
                code(data.dtype),
                by.0,
                root.cast_signed(),
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclReduce", code)
    }

    /// `ncclGather`: `count` elements from each rank.
    ///
    /// # Errors
    /// `Unsupported` where the library lacks it, `Call` where it fails.
    #[inline]
    pub fn gather(&self, to: Queue, data: Exchange, root: u32) -> Result<(), Fault> {
        let Some(call) = self.calls.gather else {
            return Err(self.lacks("ncclGather", "2.28"));
        };
        // SAFETY: as for `all_reduce`.
        let code = unsafe {
            call(
                pointer(data.send),
                pointer(data.recv),
                size(data.count),
                code(data.dtype),
                root.cast_signed(),
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclGather", code)
    }

    /// `ncclScatter`: `count` elements for each rank.
    ///
    /// # Errors
    /// `Unsupported` where the library lacks it, `Call` where it fails.
    #[inline]
    pub fn scatter(&self, to: Queue, data: Exchange, root: u32) -> Result<(), Fault> {
        let Some(call) = self.calls.scatter else {
            return Err(self.lacks("ncclScatter", "2.28"));
        };
        // SAFETY: as for `all_reduce`.
        let code = unsafe {
            call(
                pointer(data.send),
                pointer(data.recv),
                size(data.count),
                code(data.dtype),
                root.cast_signed(),
                to.comm.0,
                to.stream.0,
            )
        };
        self.check("ncclScatter", code)
    }
}
