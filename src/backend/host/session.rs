//! A session of one rank: buffers, their contents, and the way to its verbs.

use super::comm::{Comm, bytes_of};

use super::patience::Stop;
use super::verbs::Verbs;
use crate::backend::Abort;
use crate::backend::Events;
use crate::backend::Extras;
use crate::backend::Session;
use crate::backend::ThreadSeat;
use crate::backend::extras::ClockMarks;
use crate::backend::machine;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Span;
use crate::base::pattern::{self, Recipe, Stretch};
use crate::ops::Ops;
use crate::record::Mismatches;
use std::sync::Arc;

/// Bytes that are filled or checked at a time; whole elements of every datatype.
const CHUNK: usize = 256 << 10;

/// The only lane.
#[derive(Debug)]
pub(super) struct HostSession {
    pub(super) verbs: Verbs,
    host: String,
    stop: Arc<Stop>,
    marks: ClockMarks,
}

impl HostSession {
    /// Over an open communicator.
    pub(super) fn new(comm: Comm, seat: &ThreadSeat, stop: Arc<Stop>) -> Self {
        Self {
            verbs: Verbs::new(comm),
            host: seat.host.clone(),
            stop,
            marks: ClockMarks::new(Arc::clone(&seat.clock)),
        }
    }
}

impl HostSession {
    fn write(
        &self,
        into: Span,
        recipe: &Recipe,
        make: &dyn Fn(u64, &mut [u8]),
    ) -> Result<(), Fault> {
        let view = self.verbs.comm.view(into)?;
        for_chunks(into, recipe, &mut |at, first, chunk| {
            make(first, chunk);
            view.store(at, chunk, false);
        })
    }
}

/// Goes through a span in private chunks: first byte and first element of each, and room for it.
fn for_chunks(
    span: Span,
    recipe: &Recipe,
    body: &mut dyn FnMut(usize, u64, &mut [u8]),
) -> Result<(), Fault> {
    let len = bytes_of(span)?;
    let mut room = vec![0; CHUNK.min(len)];
    for at in (0..len).step_by(CHUNK) {
        let chunk = &mut room[..CHUNK.min(len - at)];
        body(at, at as u64 / recipe.dtype.size(), chunk);
    }
    Ok(())
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
        let rank = self.verbs.comm.rank();
        self.write(into, recipe, &|first, out| {
            pattern::fill_bytes(recipe, rank, first, out);
        })
    }

    fn poison(&mut self, _lane: usize, span: Span, recipe: &Recipe) -> Result<(), Fault> {
        self.write(span, recipe, &|first, out| {
            pattern::poison_bytes(recipe, first, out);
        })
    }

    fn verify(
        &mut self,
        _lane: usize,
        got: Span,
        recipe: &Recipe,
        expect: &[Stretch],
    ) -> Result<Option<Mismatches>, Fault> {
        let view = self.verbs.comm.view(got)?;
        let mut found = Mismatches::default();
        for_chunks(got, recipe, &mut |at, first, chunk| {
            view.load(at, chunk);
            let findings = pattern::verify_bytes(recipe, expect, first, chunk);
            found.add(Mismatches::of(
                &findings,
                self.verbs.comm.rank().0,
                &self.host,
            ));
        })?;
        Ok(Some(found))
    }

    fn poll(&mut self) -> Result<bool, Fault> {
        Ok(true)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::clone(&self.stop) as Arc<dyn Abort>
    }
}

impl Extras for HostSession {
    fn events(&self) -> Option<&dyn Events> {
        Some(&self.marks)
    }
}
