//! Reduce and reduce-scatter: each element's reduction has one rank that gets it, its owner.
//!
//! Within a host pieces are claimed, folded and written to their owners. Between hosts each host's
//! own reduction of an owner's elements goes to the owner, which folds them in the hosts' order.

use super::comm::{Comm, Pieces, bytes_of, call_word, piece_count};
use super::crew::Notice;
use super::exchange::{Exchange, Sink, Source};
use super::fold::{Fold, STEP};
use super::memory::View;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;

/// Bytes of each owner's elements that hosts exchange at a time.
const CHUNK: usize = 8 * STEP;

/// Who owns which bytes of the inputs.
#[derive(Debug, Clone, Copy)]
enum Owners {
    /// Each rank one part of so many bytes, in rank order.
    All(usize),
    /// One rank all of them.
    One(Rank, usize),
}

impl Owners {
    /// First byte and number of bytes of a rank's.
    fn of(self, rank: Rank) -> (usize, usize) {
        match self {
            Self::All(part) => (rank.0 as usize * part, part),
            Self::One(root, len) if root == rank => (0, len),
            Self::One(..) => (0, 0),
        }
    }

    /// The most bytes that a rank owns.
    fn most(self) -> usize {
        match self {
            Self::All(len) | Self::One(_, len) => len,
        }
    }
}

/// One operation of one rank.
struct Reduction<'a> {
    comm: &'a Comm,
    fold: Fold,
    owners: Owners,
    len: usize,
    notice: Notice,
    recv: Span,
}

/// Part `r` of the reduction goes to rank `r`.
///
/// # Errors
/// `Timeout` or `Peer` naming a rank, `Disagree` if ranks call different things, `Call` if there is
/// no such memory or it is not one part for each rank.
pub(super) fn reduce_scatter(
    comm: &Comm,
    send: Span,
    recv: Span,
    dtype: DataType,
    redop: RedOp,
) -> Result<(), Fault> {
    let owners = Owners::All(bytes_of(recv)?);
    let expected = recv.len.checked_mul(comm.world().0.into());
    if expected != Some(send.len) {
        let what = format!("{} bytes to send, {} to receive", send.len, recv.len);
        return Err(Fault::new(Kind::Call, what));
    }
    run(comm, (send, recv), owners, (dtype, redop))
}

/// The whole reduction goes to `root`.
///
/// # Errors
/// As [`reduce_scatter`].
pub(super) fn reduce(
    comm: &Comm,
    send: Span,
    recv: Span,
    (dtype, redop): (DataType, RedOp),
    root: Rank,
) -> Result<(), Fault> {
    let owners = Owners::One(root, bytes_of(send)?);
    if recv.len != send.len || root.0 >= comm.world().0 {
        let (send, recv) = (send.len, recv.len);
        let what = format!("{send} bytes to send, {recv} to receive at rank {root}");
        return Err(Fault::new(Kind::Call, what));
    }
    run(comm, (send, recv), owners, (dtype, redop))
}

fn run(
    comm: &Comm,
    (send, recv): (Span, Span),
    owners: Owners,
    (dtype, redop): (DataType, RedOp),
) -> Result<(), Fault> {
    let world = comm.world();
    let fold = Fold {
        dtype,
        redop,
        world,
    };
    let len = bytes_of(send)?;
    if !len.is_multiple_of(fold.size()) {
        let what = format!("{len} bytes are no elements of {}", fold.size());
        return Err(Fault::new(Kind::Call, what));
    }
    if len == 0 {
        return Ok(());
    }
    let verb = match owners {
        Owners::All(_) => call_word(4, dtype, Some(redop)),
        Owners::One(root, _) => call_word(5, dtype, Some(redop)) | u64::from(root.0 + 1) << 40,
    };
    let run = Reduction {
        comm,
        fold,
        owners,
        len,
        notice: comm.notice(verb, send, recv)?,
        recv,
    };
    if comm.crew.roster.hosts.len() > 1 {
        run.across()
    } else {
        run.together()
    }
}

impl Reduction<'_> {
    /// The ranks of the only host claim pieces.
    fn together(&self) -> Result<(), Fault> {
        let crew = &self.comm.crew;
        let ranks = crew.roster.neighbours();
        let owned = |rank: &Rank| self.owners.of(*rank).1 > 0;
        let owners: Vec<usize> = (0..ranks.len())
            .filter(|local| owned(&ranks[*local]))
            .collect();
        let pieces = Pieces::of(self.owners.most(), ranks.len().div_ceil(owners.len()));
        let count = piece_count(pieces.count() * owners.len())?;
        let mut buffers = None;
        let mut scratch = self.comm.scratch.borrow_mut();
        crew.work_together(&self.notice, count, &mut |notices, piece| {
            let lens = (self.len, self.owners.most());
            let buffers = self.comm.open_once(&mut buffers, notices, lens)?;
            let (owner, piece) = (
                owners[piece as usize / pieces.count()],
                piece as usize % pieces.count(),
            );
            let (start, _) = self.owners.of(ranks[owner]);
            for (at, len) in pieces.steps(piece) {
                let mut load = |local: usize, into: &mut [u8]| -> Result<(), Fault> {
                    buffers.send[local].load(start + at, into);
                    Ok(())
                };
                let result = scratch.fold(self.fold, ranks, len, &mut load)?;
                self.fold.finish(result);
                buffers.recv[owner].store(at, result, false);
            }
            Ok(())
        })
        .map(drop)
    }

    /// Chunk by chunk; the first turn is that all inputs are there, the last that nobody reads them
    /// any more.
    fn across(&self) -> Result<(), Fault> {
        let crew = &self.comm.crew;
        let notices = crew.work_together(&self.notice, 0, &mut |_, _| Ok(()))?;
        let sends: Result<Vec<View>, Fault> = notices
            .iter()
            .map(|notice| self.comm.memory.borrow_mut().view(notice.send, self.len))
            .collect();
        let (sends, recv) = (sends?, self.comm.view(self.recv)?);
        for at in (0..self.owners.most()).step_by(CHUNK) {
            self.exchange(&sends, &recv, at)?;
        }
        crew.arrive();
        crew.await_all()
    }

    /// The chunk that begins `at` bytes into each owner's elements.
    fn exchange(&self, sends: &[View], recv: &View, at: usize) -> Result<(), Fault> {
        let roster = &self.comm.crew.roster;
        let mine = roster.mine();
        let mut exchange = Exchange::new(self.comm, self.notice.call).going_on(at > 0);
        let len = self.chunk(roster.me, at);
        for (index, host) in roster.hosts.iter().enumerate() {
            if index == mine.host_index {
                continue;
            }
            let to_fold = host.iter().filter(|owner| {
                self.chunk(**owner, at) > 0
                    && owner.0 as usize % roster.neighbours().len() == mine.local
            });
            for owner in to_fold {
                exchange.send(*owner, Source::Bytes(self.hosts(sends, *owner, at)?));
            }
            if len > 0 {
                let from = host[roster.me.0 as usize % host.len()];
                exchange.receive(from, len, Sink::Bytes(vec![0; len]));
            }
        }
        let theirs = exchange.run()?;
        if len > 0 {
            let result = self.in_order(self.hosts(sends, roster.me, at)?, theirs);
            recv.store(at, &result, false);
        }
        Ok(())
    }

    /// Bytes of a rank's chunk that begins at `at`.
    fn chunk(&self, rank: Rank, at: usize) -> usize {
        self.owners.of(rank).1.saturating_sub(at).min(CHUNK)
    }

    /// This host's reduction of an owner's chunk, not finished.
    fn hosts(&self, sends: &[View], owner: Rank, at: usize) -> Result<Vec<u8>, Fault> {
        let ranks = self.comm.crew.roster.neighbours();
        let (start, len) = (self.owners.of(owner).0 + at, self.chunk(owner, at));
        let mut scratch = self.comm.scratch.borrow_mut();
        let mut all = Vec::with_capacity(len);
        while all.len() < len {
            let from = start + all.len();
            let step = STEP.min(len - all.len());
            let mut load = |local: usize, into: &mut [u8]| -> Result<(), Fault> {
                sends[local].load(from, into);
                Ok(())
            };
            all.extend_from_slice(scratch.fold(self.fold, ranks, step, &mut load)?);
        }
        Ok(all)
    }

    /// All hosts' reductions folded in the hosts' order.
    fn in_order(&self, own: Vec<u8>, mut hosts: Vec<Vec<u8>>) -> Vec<u8> {
        hosts.insert(self.comm.crew.roster.mine().host_index, own);
        let mut hosts = hosts.into_iter();
        let mut result = hosts.next().unwrap_or_default();
        hosts.for_each(|host| self.fold.combine(&mut result, &host));
        self.fold.finish(&mut result);
        result
    }
}
