//! The buffers of a host's ranks: stretches of the one shared file, mapped by whoever needs them.
//!
//! A rank allocates only in its own part of the file, so nobody is asked. A buffer is known to
//! others by where it lies in the file ([`Place`]) and mapped at its first use.

use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Span;
use crate::ffi::shm::Region;
use crate::ffi::shm::SharedFile;
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes of the file set apart for each rank; it is sparse, so only what is used takes memory.
const PART: u64 = 1 << 42;

/// Buffers begin at multiples of it, so that they can lie in huge pages.
const ALIGNMENT: u64 = 2 << 20;

/// Bytes that a file for so many ranks spans.
pub(super) fn file_len(ranks: usize) -> u64 {
    (ranks as u64 + 1) * PART
}

/// A stretch of a buffer as it travels: where the buffer lies in the file and how long it is, and
/// where in it the stretch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// First byte of the buffer in the file.
    pub(super) base: u64,
    /// Bytes of the buffer.
    pub(super) len: u64,
    /// First byte of the stretch in the buffer.
    pub(super) at: u64,
}

/// A stretch that can be read and written.
#[derive(Debug, Clone)]
pub(super) struct View {
    region: Rc<Region>,
    at: usize,
}

impl View {
    /// Copies bytes out.
    pub(super) fn load(&self, at: usize, into: &mut [u8]) {
        self.region.load(self.at + at, into);
    }

    /// Copies bytes in; `past_cache` where they are many.
    pub(super) fn store(&self, at: usize, from: &[u8], past_cache: bool) {
        if past_cache {
            self.region.store_past_cache(self.at + at, from);
        } else {
            self.region.store(self.at + at, from);
        }
    }

    /// Copies bytes from another stretch.
    pub(super) fn copy(&self, at: usize, from: &Self, from_at: usize, len: usize) {
        self.region
            .copy(self.at + at, &from.region, from.at + from_at, len);
    }

    /// Copies `len` bytes from `at` on to elsewhere in shared memory.
    pub(super) fn give(&self, at: usize, len: usize, (into, into_at): (&Region, usize)) {
        into.copy(into_at, &self.region, self.at + at, len);
    }

    /// Copies `len` bytes from elsewhere in shared memory to `at`.
    pub(super) fn take(&self, at: usize, len: usize, (from, from_at): (&Region, usize)) {
        self.region.copy(self.at + at, from, from_at, len);
    }
}

/// One rank's buffers, and what it has mapped of others'.
#[derive(Debug)]
pub(super) struct Memory {
    file: SharedFile,
    next: u64,
    end: u64,
    own: Vec<Place>,
    mapped: HashMap<u64, Rc<Region>>,
}

impl Memory {
    /// For the rank with this index on its host.
    pub(super) fn new(file: SharedFile, local: usize) -> Self {
        let start = (local as u64 + 1) * PART;
        Self {
            file,
            next: start,
            end: start + PART,
            own: Vec::new(),
            mapped: HashMap::new(),
        }
    }

    /// Allocates a buffer of my own.
    ///
    /// # Errors
    /// `Call` where there is not enough memory.
    pub(super) fn alloc(&mut self, len: Bytes) -> Result<Buffer, Fault> {
        let whole = len.0.max(1).checked_next_multiple_of(ALIGNMENT);
        let after = whole.and_then(|whole| self.next.checked_add(whole));
        let Some(after) = after.filter(|after| *after <= self.end) else {
            let what = format!("a buffer of {len} is more than a rank can have");
            return Err(Fault::new(Kind::Call, what));
        };
        let place = Place {
            base: self.next,
            len: len.0.max(1),
            at: 0,
        };
        self.file.reserve(place.base, place.len)?;
        self.region(place)?;
        self.next = after;
        self.own.push(place);
        Ok(Buffer(self.own.len() - 1))
    }

    /// Where a span of mine lies.
    ///
    /// # Errors
    /// `Call` if it leaves its buffer.
    pub(super) fn place(&self, span: Span) -> Result<Place, Fault> {
        let own = self.own.get(span.buffer.0);
        let end = span.offset.checked_add(span.len);
        match (own, end) {
            (Some(own), Some(end)) if end <= own.len => Ok(Place {
                at: span.offset,
                ..*own
            }),
            _ => Err(Fault::new(Kind::Call, format!("no such memory: {span:?}"))),
        }
    }

    /// Opens `len` bytes of a stretch, mine or another's of this host.
    ///
    /// # Errors
    /// `Call` if they cannot be mapped, or leave their buffer.
    pub(super) fn view(&mut self, place: Place, len: usize) -> Result<View, Fault> {
        let region = self.region(place)?;
        let at = usize::try_from(place.at).ok();
        let fits = |at: &usize| at.checked_add(len).is_some_and(|end| end <= region.len());
        match at.filter(fits) {
            Some(at) => Ok(View { region, at }),
            None => Err(Fault::new(
                Kind::Call,
                format!("{len} bytes leave {place:?}"),
            )),
        }
    }

    fn region(&mut self, place: Place) -> Result<Rc<Region>, Fault> {
        if let Some(region) = self.mapped.get(&place.base) {
            return Ok(Rc::clone(region));
        }
        let len = usize::try_from(place.len)
            .map_err(|_| Fault::new(Kind::Call, format!("{place:?} is past any address")))?;
        let region = Rc::new(self.file.map(place.base, len)?);
        self.mapped.insert(place.base, Rc::clone(&region));
        Ok(region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(local: usize, file: &SharedFile) -> Memory {
        let fd = file.fd().try_clone_to_owned().unwrap();
        Memory::new(SharedFile::adopt(fd), local)
    }

    #[test]
    fn a_rank_sees_what_another_wrote_into_a_buffer_of_its_own() {
        let file = SharedFile::create("test", file_len(2)).unwrap();
        let (mut one, mut other) = (memory(0, &file), memory(1, &file));
        one.alloc(Bytes(5)).unwrap();
        let buffer = one.alloc(Bytes(5000)).unwrap();
        let place = one
            .place(Span {
                buffer,
                offset: 4999,
                len: 1,
            })
            .unwrap();
        one.view(place, 1).unwrap().store(0, &[42], false);
        let mut got = [0];
        other.view(place, 1).unwrap().load(0, &mut got);
        assert_eq!(got, [42]);
        assert!(other.view(place, 2).is_err());
    }

    #[test]
    fn spans_that_leave_their_buffer_and_buffers_past_all_memory_are_faults() {
        let file = SharedFile::create("test", file_len(1)).unwrap();
        let mut memory = memory(0, &file);
        let buffer = memory.alloc(Bytes(8)).unwrap();
        assert!(
            memory
                .place(Span {
                    buffer,
                    offset: 4,
                    len: 5
                })
                .is_err()
        );
        assert!(memory.alloc(Bytes(u64::MAX)).is_err());
        assert!(memory.alloc(Bytes(PART)).is_err());
    }
}
