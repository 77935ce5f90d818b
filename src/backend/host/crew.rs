//! The ranks of one host at work together: arriving, claiming pieces of work, and seeing them done.
//!
//! A **turn** is one arrival of every rank. A turn with work cuts it into pieces that ranks claim as
//! they come, so that whoever has a processor does the work and nobody waits for a rank that has
//! none; a rank leaves when all pieces are done. Any rank can do any piece, since all memory is
//! shared.
//!
//! Why nothing is overwritten too early: whoever has seen all ranks arrive at a turn knows that
//! nobody is still in an earlier one. Notices, desks and counters exist twice and are used in
//! alternation, so what a turn writes was last used two such turns ago.

use super::board::{Board, NOTICE};
use super::life::Life;
use super::memory::Place;
use super::patience::{Awaited, Bell, Patience, spoken};
use super::roster::Roster;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::ffi::shm::Region;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Bytes of a [`label`].
pub(super) const LABEL: usize = 16;

/// What a rank calls, and with which memory; all must call the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notice {
    /// Verb, datatype and operator.
    pub(super) call: u64,
    /// Bytes of the send buffer.
    pub(super) bytes: u64,
    /// Where the send buffer is.
    pub(super) send: Place,
    /// Where the receive buffer is.
    pub(super) recv: Place,
}

impl Notice {
    fn words(&self) -> [u64; NOTICE] {
        let Self {
            call,
            bytes,
            send,
            recv,
        } = self;
        [
            *call, *bytes, send.base, send.len, send.at, recv.base, recv.len, recv.at,
        ]
    }

    fn of(words: [u64; NOTICE]) -> Self {
        let [call, bytes, base, len, at, recv_base, recv_len, recv_at] = words;
        let send = Place { base, len, at };
        let recv = Place {
            base: recv_base,
            len: recv_len,
            at: recv_at,
        };
        Self {
            call,
            bytes,
            send,
            recv,
        }
    }
}

/// Does one piece of a turn's work, given all ranks' notices.
pub(super) type Work<'a> = dyn FnMut(&[Notice], u32) -> Result<(), Fault> + 'a;

/// The ranks of my host.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) board: Board,
    pub(super) roster: Roster,
    pub(super) life: Life,
    pub(super) patience: Patience,
    turn: Cell<u32>,
    shift: Cell<usize>,
}

impl Crew {
    /// Over a board that all ranks of the host have.
    pub(super) fn new(board: Board, roster: Roster, life: Life, patience: Patience) -> Self {
        let (turn, shift) = (Cell::new(0), Cell::new(0));
        Self {
            board,
            roster,
            life,
            patience,
            turn,
            shift,
        }
    }

    /// My index on the host.
    pub(super) fn me(&self) -> usize {
        self.roster.mine().local
    }

    /// Begins a turn: says that I am here.
    pub(super) fn arrive(&self) {
        self.turn.set(self.turn.get().wrapping_add(1));
        let mine = self.board.arrived(self.me());
        mine.word.store(self.turn.get(), Ordering::SeqCst);
        mine.ring();
    }

    /// Which of the two desks this turn uses.
    fn desk(&self) -> usize {
        self.turn.get() as usize % 2
    }

    /// Which of the two desks the next turn uses.
    fn next_desk(&self) -> usize {
        1 - self.desk()
    }

    /// Labels my desk of the next turn with a call and its length; gives where the data goes.
    pub(super) fn label_desk(&self, call: u64, len: usize) -> (&Region, usize) {
        let (region, at) = self.board.desk(self.me(), self.next_desk());
        region.store(at, &label(call, len));
        (region, at + LABEL)
    }

    /// Waits until a rank has come to this turn; gives where the data on its desk is, which must
    /// have the same label.
    ///
    /// # Errors
    /// As [`Crew::await_one`]; `Disagree` if the rank calls something else.
    pub(super) fn await_desk(
        &self,
        local: usize,
        call: u64,
        len: usize,
    ) -> Result<(&Region, usize), Fault> {
        self.await_one(local)?;
        let (region, at) = self.board.desk(local, self.desk());
        let mut theirs = [0; LABEL];
        region.load(at, &mut theirs);
        if theirs != label(call, len) {
            return Err(self.differs(local));
        }
        Ok((region, at + LABEL))
    }

    /// Waits until one rank has come to this turn.
    ///
    /// # Errors
    /// `Timeout` or `Peer` naming it, `Interrupted`.
    pub(super) fn await_one(&self, local: usize) -> Result<(), Fault> {
        let turn = self.turn.get();
        let has_come = |seen: u32| is_at(seen, turn);
        let bell = self.board.arrived(local);
        if has_come(bell.word.load(Ordering::Acquire)) {
            return Ok(());
        }
        self.awaiting(self.roster.neighbours()[local], || {
            let what = "did not arrive";
            self.patience.until(
                bell,
                &has_come,
                &Neighbour {
                    crew: self,
                    local,
                    what,
                },
            )
        })
    }

    /// Waits until all ranks have come to this turn.
    ///
    /// # Errors
    /// As [`Crew::await_one`].
    pub(super) fn await_all(&self) -> Result<(), Fault> {
        (0..self.board.ranks()).try_for_each(|local| self.await_one(local))
    }

    /// A turn with work, `pieces` of it, of which this rank does as many as it gets by `work`; gives
    /// all ranks' notices.
    ///
    /// # Errors
    /// Those of [`Crew::await_one`] and of `work`; `Disagree` if a rank calls something else.
    pub(super) fn work_together(
        &self,
        notice: &Notice,
        pieces: u32,
        work: &mut Work<'_>,
    ) -> Result<Vec<Notice>, Fault> {
        let shift = self.shift.replace(self.shift.get() + 1);
        let (now, then) = (shift % 2, (shift + 1) % 2);
        for (index, word) in notice.words().into_iter().enumerate() {
            self.board
                .notice(self.me(), now, index)
                .store(word, Ordering::Relaxed);
        }
        self.arrive();
        self.await_all()?;
        if self.me() == 0 {
            self.board.next(then).store(0, Ordering::Relaxed);
            self.board.done(then).word.store(0, Ordering::Relaxed);
        }
        let notices = self.read_notices(notice, now)?;
        if self.board.done(now).word.load(Ordering::Acquire) < pieces {
            self.claim(now, pieces, &mut |piece| work(&notices, piece))?;
        }
        let all_done = |done: u32| done >= pieces;
        let done = self.board.done(now);
        self.patience
            .until(done, &all_done, &AllDone { crew: self })?;
        Ok(notices)
    }

    fn claim(
        &self,
        now: usize,
        pieces: u32,
        work: &mut dyn FnMut(u32) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let busy = self.board.busy(self.me());
        busy.store(1, Ordering::Relaxed);
        loop {
            let piece = self.board.next(now).fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                break;
            }
            work(piece)?;
            let done = self.board.done(now);
            if done.word.fetch_add(1, Ordering::SeqCst) + 1 == pieces {
                done.ring();
            }
        }
        busy.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn read_notices(&self, mine: &Notice, now: usize) -> Result<Vec<Notice>, Fault> {
        let read = |local: usize| {
            let word = |index| self.board.notice(local, now, index).load(Ordering::Relaxed);
            let notice = Notice::of(std::array::from_fn(word));
            if (notice.call, notice.bytes) == (mine.call, mine.bytes) {
                return Ok(notice);
            }
            Err(self.differs(local))
        };
        (0..self.board.ranks()).map(read).collect()
    }

    /// Runs a wait with its object on the board, so that who waits for me can name whom I wait for.
    /// It stays there if the wait fails: the others' waits end a little later.
    fn awaiting(&self, rank: Rank, wait: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
        self.await_openly(Some(rank));
        wait()?;
        self.await_openly(None);
        Ok(())
    }

    /// Says on the board whom I wait for.
    pub(super) fn await_openly(&self, rank: Option<Rank>) {
        let word = rank.map_or(0, |rank| rank.0.wrapping_add(1));
        self.board.awaits(self.me()).store(word, Ordering::Relaxed);
    }

    /// Who is to blame if `rank` does not move: whom it waits for, and so on.
    pub(super) fn culprit(&self, mut rank: Rank) -> Rank {
        for _ in 0..self.board.ranks() {
            let near = self
                .roster
                .members
                .get(rank.0 as usize)
                .is_some_and(|_| self.roster.is_near(rank));
            if !near {
                break;
            }
            let awaits = self
                .board
                .awaits(self.roster.at(rank).local)
                .load(Ordering::Relaxed);
            match awaits.checked_sub(1).map(Rank) {
                Some(next) if next != self.roster.me && next != rank => rank = next,
                _ => break,
            }
        }
        rank
    }

    /// What to say of a rank that has not done something in time.
    pub(super) fn late(&self, rank: Rank, what: &str, limit: Duration) -> Fault {
        let culprit = self.culprit(rank);
        let who = self.roster.who(culprit);
        let fault = Fault::new(
            Kind::Timeout,
            format!("{who} {what} within {}", spoken(limit)),
        );
        if culprit == rank {
            return fault;
        }
        fault.detail(format!("{} waits for it too", self.roster.who(rank)))
    }

    /// What to say of a neighbour that calls something else.
    pub(super) fn differs(&self, local: usize) -> Fault {
        let who = self.roster.who(self.roster.neighbours()[local]);
        Fault::new(
            Kind::Disagree,
            format!("{who} called another operation or size"),
        )
    }

    /// Puts a rank's name before what it did.
    pub(super) fn blame(&self, rank: Rank, fault: Fault) -> Fault {
        fault.while_doing(self.roster.who(rank))
    }

    /// Whether my host's rank is gone, and how.
    pub(super) fn loss(&self, local: usize) -> Option<Fault> {
        self.life.loss(&self.roster, &self.board, local)
    }

    /// Says that I am gone, to all who wait.
    pub(super) fn leave(&self) {
        self.board.left(self.me()).store(1, Ordering::Release);
    }

    /// Rung for me when a letter needs my attention.
    pub(super) fn my_call(&self) -> Bell<'_> {
        self.board.call(self.me())
    }
}

/// What a desk or a message begins with, so that ranks see whether they call the same.
pub(super) fn label(call: u64, len: usize) -> [u8; LABEL] {
    let mut label = [0; LABEL];
    label[..8].copy_from_slice(&call.to_le_bytes());
    label[8..].copy_from_slice(&(len as u64).to_le_bytes());
    label
}

/// Whether a rank that has arrived `seen` times has come to turn `turn`; right across the wrap.
fn is_at(seen: u32, turn: u32) -> bool {
    seen.wrapping_sub(turn) < 1 << 31
}

/// A wait for one rank.
struct Neighbour<'a> {
    crew: &'a Crew,
    local: usize,
    what: &'static str,
}

impl Awaited for Neighbour<'_> {
    fn lost(&self) -> Option<Fault> {
        self.crew.loss(self.local)
    }

    fn late(&self, limit: Duration) -> Fault {
        let rank = self.crew.roster.neighbours()[self.local];
        self.crew.late(rank, self.what, limit)
    }
}

/// A wait for all pieces to be done.
struct AllDone<'a> {
    crew: &'a Crew,
}

impl Awaited for AllDone<'_> {
    fn lost(&self) -> Option<Fault> {
        (0..self.crew.board.ranks()).find_map(|local| self.crew.loss(local))
    }

    fn late(&self, limit: Duration) -> Fault {
        let busy = |local: &usize| self.crew.board.busy(*local).load(Ordering::Relaxed) != 0;
        let local = (0..self.crew.board.ranks()).find(busy);
        let rank = self.crew.roster.neighbours()[local.unwrap_or(0)];
        self.crew.late(rank, "did not finish its part", limit)
    }
}

#[cfg(test)]
mod tests {
    use super::is_at;

    #[test]
    fn turns_are_told_apart_across_the_wrap() {
        assert!(is_at(5, 5) && is_at(6, 5) && !is_at(4, 5));
        assert!(is_at(0, u32::MAX) && !is_at(u32::MAX, 0));
    }
}
