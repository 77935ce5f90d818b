//! The board of a host: the words in shared memory by which its ranks signal, and where each lies.
//!
//! Only places and names; who writes what when is the protocol of `crew.rs` and `exchange.rs`.
//!
//! Bytes: two work counters of [`COUNTER`], then one slot of [`SLOT`] for each rank, then one
//! mailbox of [`MAILBOX`] for each ordered pair of ranks. Words that different ranks write lie on
//! different pairs of cache lines (processors fetch lines in pairs).

use super::patience::Bell;
use crate::ffi::shm::Region;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes that a rank can lay out for all to see, in each of two places.
pub(super) const DESK: usize = 16 << 10;

const COUNTER: usize = 256;
const SLOT: usize = 1024 + 2 * DESK;
const MAILBOX: usize = 128;

/// Number of 64-bit words in a notice or a letter.
pub(super) const NOTICE: usize = 8;

/// The words of one host.
#[derive(Debug)]
pub(super) struct Board {
    region: Region,
    ranks: usize,
}

impl Board {
    /// Bytes for a host of so many ranks.
    pub(super) fn bytes(ranks: usize) -> usize {
        2 * COUNTER + ranks * SLOT + ranks * ranks * MAILBOX
    }

    /// Over a region of [`Board::bytes`] that was zero in the beginning.
    pub(super) fn new(region: Region, ranks: usize) -> Self {
        Self { region, ranks }
    }

    /// How many ranks the host has.
    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }

    /// The next piece of work to claim.
    pub(super) fn next(&self, parity: usize) -> &AtomicU32 {
        self.region.word(parity * COUNTER)
    }

    /// Pieces of work done.
    pub(super) fn done(&self, parity: usize) -> Bell<'_> {
        self.bell(parity * COUNTER + 128)
    }

    /// The number of times that a rank has arrived.
    pub(super) fn arrived(&self, local: usize) -> Bell<'_> {
        self.bell(Self::slot(local))
    }

    /// Rung when a letter for a rank, or the taking of one of its letters, needs its attention.
    pub(super) fn call(&self, local: usize) -> Bell<'_> {
        self.bell(Self::slot(local) + 128)
    }

    /// Whom a rank is waiting for, plus one; 0 for nobody.
    pub(super) fn awaits(&self, local: usize) -> &AtomicU32 {
        self.region.word(Self::slot(local) + 256)
    }

    /// 1 once a rank has closed its session.
    pub(super) fn left(&self, local: usize) -> &AtomicU32 {
        self.region.word(Self::slot(local) + 260)
    }

    /// 1 while a rank does a piece of work.
    pub(super) fn busy(&self, local: usize) -> &AtomicU32 {
        self.region.word(Self::slot(local) + 264)
    }

    /// A word of a rank's notice: what it calls, and with which memory.
    pub(super) fn notice(&self, local: usize, parity: usize, index: usize) -> &AtomicU64 {
        self.region
            .long(Self::slot(local) + 384 + parity * 128 + index * 8)
    }

    /// A rank's desk: where it begins in the board's region.
    pub(super) fn desk(&self, local: usize, parity: usize) -> (&Region, usize) {
        (&self.region, Self::slot(local) + 1024 + parity * DESK)
    }

    /// Letters sent from one rank to another, by number.
    pub(super) fn sent(&self, from: usize, to: usize) -> &AtomicU32 {
        self.region.word(self.mailbox(from, to))
    }

    /// Letters taken by the other, by number.
    pub(super) fn taken(&self, from: usize, to: usize) -> &AtomicU32 {
        self.region.word(self.mailbox(from, to) + 4)
    }

    /// A word of a letter.
    pub(super) fn letter(&self, from: usize, to: usize, index: usize) -> &AtomicU64 {
        self.region.long(self.mailbox(from, to) + 8 + index * 8)
    }

    fn bell(&self, at: usize) -> Bell<'_> {
        Bell {
            word: self.region.word(at),
            sleepers: self.region.word(at + 4),
        }
    }

    fn slot(local: usize) -> usize {
        2 * COUNTER + local * SLOT
    }

    fn mailbox(&self, from: usize, to: usize) -> usize {
        2 * COUNTER + self.ranks * SLOT + (from * self.ranks + to) * MAILBOX
    }
}
