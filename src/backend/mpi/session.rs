//! A session of one rank: its buffers, their contents, and the way to its verbs.

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
use crate::ffi::mpi::Mpi;
use crate::ops::Ops;
use crate::record::Mismatches;
use std::sync::Arc;
use std::sync::Weak;

/// Bytes that are filled or checked at a time; whole elements of every datatype.
const CHUNK: usize = 256 << 10;

/// The only lane.
#[derive(Debug)]
pub(super) struct MpiSession {
    verbs: Verbs,
    host: String,
    /// Ranks of this host, which share its memory.
    neighbours: u64,
    marks: ClockMarks,
}

/// MPI has no way to end a call that waits: the process leaves it behind, and does not wait for
/// others to end MPI with it. It does not keep MPI from ending in good time.
#[derive(Debug)]
struct Spoiler(Weak<Mpi>);

impl Abort for Spoiler {
    fn abort(&self) {
        if let Some(mpi) = self.0.upgrade() {
            mpi.spoil();
        }
    }
}

impl MpiSession {
    /// Over MPI's whole world.
    pub(super) fn new(mpi: Arc<Mpi>, seat: &ThreadSeat, neighbours: u64) -> Self {
        Self {
            verbs: Verbs::new(mpi),
            host: seat.host.clone(),
            neighbours,
            marks: ClockMarks::new(Arc::clone(&seat.clock)),
        }
    }

    fn write(
        &self,
        into: Span,
        recipe: &Recipe,
        make: &dyn Fn(u64, &mut [u8]),
    ) -> Result<(), Fault> {
        let piece = self.verbs.piece(into)?;
        let mut room = vec![0; CHUNK.min(piece.len)];
        for at in (0..piece.len).step_by(CHUNK) {
            let chunk = &mut room[..CHUNK.min(piece.len - at)];
            make(at as u64 / recipe.dtype.size(), chunk);
            piece.region.store(piece.at + at, chunk);
        }
        Ok(())
    }
}

impl Session for MpiSession {
    fn ops(&self, _lane: usize) -> &dyn Ops {
        &self.verbs
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        self.verbs.group(body)
    }

    /// An equal share of what this host has left.
    fn free_memory(&self, _lane: usize) -> Result<Option<Bytes>, Fault> {
        Ok(machine::available_memory()?.map(|left| Bytes(left.0 / self.neighbours)))
    }

    fn alloc(&mut self, _lane: usize, len: Bytes) -> Result<Buffer, Fault> {
        // The kernel would rather kill a process than refuse it memory.
        match machine::available_memory()? {
            Some(left) if left < len => {
                let what = format!("a buffer of {len} is more than the {left} that are left");
                Err(Fault::new(Kind::Call, what))
            }
            _ => self.verbs.alloc(len),
        }
    }

    fn fill(&mut self, _lane: usize, into: Span, recipe: &Recipe) -> Result<(), Fault> {
        let rank = self.verbs.rank();
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
        let piece = self.verbs.piece(got)?;
        let mut found = Mismatches::default();
        let mut room = vec![0; CHUNK.min(piece.len)];
        for at in (0..piece.len).step_by(CHUNK) {
            let chunk = &mut room[..CHUNK.min(piece.len - at)];
            piece.region.load(piece.at + at, chunk);
            let first = at as u64 / recipe.dtype.size();
            let findings = pattern::verify_bytes(recipe, expect, first, chunk);
            found.add(Mismatches::of(&findings, self.verbs.rank().0, &self.host));
        }
        Ok(Some(found))
    }

    fn poll(&mut self) -> Result<bool, Fault> {
        Ok(true)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::new(Spoiler(Arc::downgrade(&self.verbs.mpi)))
    }
}

impl Extras for MpiSession {
    fn events(&self) -> Option<&dyn Events> {
        Some(&self.marks)
    }
}
