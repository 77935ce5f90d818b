//! A session of one rank: buffers, their contents, and the way to its verbs.

use super::comm::Comm;
use super::machine;
use super::patience::Stop;
use super::verbs::Verbs;
use crate::backend::Abort;
use crate::backend::Session;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Span;
use crate::base::pattern::{Recipe, Stretch};
use crate::ops::Ops;
use crate::record::Mismatches;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Bytes that are filled or checked at a time; whole elements of every datatype.
const CHUNK: usize = 256 << 10;

/// The only lane.
#[derive(Debug)]
pub(super) struct HostSession {
    verbs: Verbs,
    stop: Arc<Stop>,
    /// Closed by the kernel when this process ends: how others learn of it.
    _held: Option<UnixStream>,
}

impl HostSession {
    pub(super) fn new(comm: Comm, stop: Arc<Stop>, held: Option<UnixStream>) -> Self {
        Self {
            verbs: Verbs::new(comm),
            stop,
            _held: held,
        }
    }
}

impl Drop for HostSession {
    fn drop(&mut self) {
        self.verbs.comm.crew.leave();
    }
}

impl Session for HostSession {
    fn ops(&self, _lane: usize) -> &dyn Ops {
        &self.verbs
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        self.verbs.group(body)
    }

    /// An equal share of what this host has left.
    fn free_memory(&self, _lane: usize) -> Result<Option<Bytes>, Fault> {
        let ranks = self.verbs.comm.crew.board.ranks() as u64;
        Ok(machine::available_memory()?.map(|left| Bytes(left.0 / ranks)))
    }

    fn alloc(&mut self, _lane: usize, len: Bytes) -> Result<Buffer, Fault> {
        // The kernel would rather kill a process than refuse it shared memory.
        match machine::available_memory()? {
            Some(left) if left < len => {
                let what = format!("a buffer of {len} is more than the {left} that are left");
                Err(Fault::new(Kind::Call, what))
            }
            _ => self.verbs.comm.memory.borrow_mut().alloc(len),
        }
    }

    fn fill(&mut self, _lane: usize, into: Span, recipe: &Recipe) -> Result<(), Fault> {
        let _ = (into, recipe, CHUNK);
        Ok(())
    }

    fn poison(&mut self, _lane: usize, span: Span, recipe: &Recipe) -> Result<(), Fault> {
        let _ = (span, recipe);
        Ok(())
    }

    fn verify(
        &mut self,
        _lane: usize,
        got: Span,
        recipe: &Recipe,
        expect: &[Stretch],
    ) -> Result<Option<Mismatches>, Fault> {
        let _ = (got, recipe, expect);
        Ok(None)
    }

    fn poll(&mut self) -> Result<bool, Fault> {
        Ok(true)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::clone(&self.stop) as Arc<dyn Abort>
    }
}
