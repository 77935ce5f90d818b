//! A communicator as its one rank holds it: the crew of its host, its memory, its links to others.

use super::crew::{Crew, Notice};
use super::fold::{STEP, Scratch};
use super::links::Links;
use super::memory::{Memory, View};
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use std::cell::RefCell;

/// The most bytes of work that are claimed at a time.
const PIECE: usize = 128 << 10;

/// The least bytes of work worth claiming.
const LEAST_PIECE: usize = 4 << 10;

/// Bytes written by an operation from which on they go past the caches.
const PAST_CACHE: usize = 8 << 20;

/// What all verbs work with.
#[derive(Debug)]
pub(super) struct Comm {
    pub(super) crew: Crew,
    pub(super) memory: RefCell<Memory>,
    pub(super) links: RefCell<Links>,
    pub(super) scratch: RefCell<Scratch>,
}

impl Comm {
    /// Which rank it is.
    pub(super) fn rank(&self) -> Rank {
        self.crew.roster.me
    }

    /// How many ranks there are.
    pub(super) fn world(&self) -> World {
        World(u32::try_from(self.crew.roster.members.len()).unwrap_or(u32::MAX))
    }

    /// Opens a span of mine.
    ///
    /// # Errors
    /// `Call` if there is no such memory.
    pub(super) fn view(&self, span: Span) -> Result<View, Fault> {
        let mut memory = self.memory.borrow_mut();
        let place = memory.place(span)?;
        memory.view(place, bytes_of(span)?)
    }

    /// The notice of a verb on my buffers.
    ///
    /// # Errors
    /// `Call` if there is no such memory.
    pub(super) fn notice(&self, call: u64, send: Span, recv: Span) -> Result<Notice, Fault> {
        let memory = self.memory.borrow();
        let (from, into) = (memory.place(send)?, memory.place(recv)?);
        Ok(Notice {
            call,
            bytes: send.len,
            send: from,
            recv: into,
        })
    }

    /// As [`Comm::open`], but only the first time.
    ///
    /// # Errors
    /// Those of [`Comm::open`].
    pub(super) fn open_once<'a>(
        &self,
        opened: &'a mut Option<Buffers>,
        notices: &[Notice],
        lens: (usize, usize),
    ) -> Result<&'a Buffers, Fault> {
        match opened {
            Some(buffers) => Ok(buffers),
            none => Ok(none.insert(self.open(notices, lens)?)),
        }
    }

    /// Opens what notices say: every neighbour's send and receive buffer, with the bytes of each.
    ///
    /// # Errors
    /// `Call` if they cannot be mapped.
    pub(super) fn open(
        &self,
        notices: &[Notice],
        (send, recv): (usize, usize),
    ) -> Result<Buffers, Fault> {
        let mut memory = self.memory.borrow_mut();
        let mut buffers = Buffers::default();
        for notice in notices {
            buffers.send.push(memory.view(notice.send, send)?);
            buffers.recv.push(memory.view(notice.recv, recv)?);
        }
        Ok(buffers)
    }
}

/// Every neighbour's buffers.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) send: Vec<View>,
    pub(super) recv: Vec<View>,
}

/// How much work there is and how it is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    total: usize,
    piece: usize,
}

impl Pieces {
    /// Cuts `total` bytes for so many ranks; pieces begin at multiples of 64 bytes.
    pub(super) fn of(total: usize, ranks: usize) -> Self {
        let fair = (total / (2 * ranks)).next_multiple_of(64);
        Self {
            total,
            piece: fair.clamp(LEAST_PIECE, PIECE),
        }
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        self.total.div_ceil(self.piece)
    }

    /// First byte and length of one, in steps of [`STEP`] bytes at the most.
    pub(super) fn steps(self, index: usize) -> impl Iterator<Item = (usize, usize)> {
        let start = index * self.piece;
        let end = (start + self.piece).min(self.total);
        (start..end)
            .step_by(STEP)
            .map(move |at| (at, STEP.min(end - at)))
    }

    /// First byte and length of one.
    pub(super) fn whole(self, index: usize) -> (usize, usize) {
        let start = index * self.piece;
        (start, self.piece.min(self.total - start))
    }
}

/// Whether an operation that writes so many bytes on this host should write past the caches.
pub(super) fn is_past_cache(written: usize) -> bool {
    written >= PAST_CACHE
}

/// The length of a span as a number of bytes in memory.
///
/// # Errors
/// `Call` if it is past any address.
pub(super) fn bytes_of(span: Span) -> Result<usize, Fault> {
    usize::try_from(span.len)
        .map_err(|_| Fault::new(Kind::Call, format!("{span:?} is past any address")))
}

/// A number of pieces as the board holds it.
///
/// # Errors
/// `Call` if there are too many.
pub(super) fn piece_count(count: usize) -> Result<u32, Fault> {
    // Every rank may overshoot by one claim.
    u32::try_from(count)
        .ok()
        .filter(|count| *count < u32::MAX / 2)
        .ok_or_else(|| Fault::new(Kind::Call, format!("{count} pieces of work are too many")))
}

/// A verb with its types as one word, so that ranks can see whether they call the same.
pub(super) fn call_word(verb: u8, dtype: DataType, redop: Option<RedOp>) -> u64 {
    let dtype = DataType::ALL
        .iter()
        .position(|known| *known == dtype)
        .unwrap_or(0) as u64;
    let redop = redop.and_then(|redop| RedOp::ALL.iter().position(|known| *known == redop));
    u64::from(verb) << 32 | dtype << 16 | redop.map_or(0, |redop| redop as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_byte_once() {
        for (total, ranks) in [(1, 1), (4095, 3), (70_001, 4), (5 << 20, 7), (300 << 20, 2)] {
            let pieces = Pieces::of(total, ranks);
            let mut end = 0;
            for index in 0..pieces.count() {
                assert_eq!(pieces.whole(index).0, end);
                for (at, len) in pieces.steps(index) {
                    assert!(at == end && len > 0 && at % 64 == 0);
                    end += len;
                }
            }
            assert_eq!(end, total);
        }
    }
}
