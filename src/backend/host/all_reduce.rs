//! All-reduce: every rank gets the reduction of all ranks' elements, the same bits on each.
//!
//! | bytes | one host | several hosts |
//! |---|---|---|
//! | small | each rank lays its data out and folds all others' | leaders exchange hosts' reductions |
//! | large | pieces are claimed, folded and written to all | then rings of ranks across the hosts, then copies |
//!
//! Hosts are folded in their order, or around a ring; every element has one order everywhere.

use super::board::DESK;
use super::comm::{Comm, Pieces, bytes_of, call_word, is_past_cache, piece_count};
use super::crew::{LABEL, Notice};
use super::exchange::{Exchange, Sink, Source};
use super::fold::{Fold, STEP, Scratch, cut};
use super::memory::View;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::RedOp;
use crate::base::Span;

/// The most bytes that all ranks of a host together read the small way.
const SMALL: usize = 256 << 10;

/// One all-reduce of one rank.
struct AllReduce<'a> {
    comm: &'a Comm,
    fold: Fold,
    len: usize,
    notice: Notice,
    send: View,
    recv: View,
}

/// Runs the verb.
///
/// # Errors
/// `Timeout` or `Peer` naming a rank, `Disagree` if ranks call different things, `Call` if there is
/// no such memory.
pub(super) fn all_reduce(
    comm: &Comm,
    send: Span,
    recv: Span,
    dtype: DataType,
    redop: RedOp,
) -> Result<(), Fault> {
    let fold = Fold {
        dtype,
        redop,
        world: comm.world(),
    };
    let len = bytes_of(send)?;
    if send.len != recv.len || !len.is_multiple_of(fold.size()) {
        let what = format!(
            "{} bytes to send, {} to receive, elements of {}",
            send.len,
            recv.len,
            fold.size()
        );
        return Err(Fault::new(Kind::Call, what));
    }
    if len == 0 {
        return Ok(());
    }
    let notice = comm.notice(call_word(1, dtype, Some(redop)), send, recv)?;
    let (send, recv) = (comm.view(send)?, comm.view(recv)?);
    let run = AllReduce {
        comm,
        fold,
        len,
        notice,
        send,
        recv,
    };
    let is_small = len <= DESK - LABEL && len * comm.crew.board.ranks() <= SMALL;
    match (comm.crew.roster.hosts.len() > 1, is_small) {
        (false, true) => run.small(),
        (false, false) => run.large(),
        (true, true) => run.small_across(),
        (true, false) => run.large_across(),
    }
}

impl AllReduce<'_> {
    fn small(&self) -> Result<(), Fault> {
        let mut scratch = self.comm.scratch.borrow_mut();
        let result = self.gather_small(&mut scratch)?;
        self.fold.finish(result);
        self.recv.store(0, result, false);
        Ok(())
    }

    /// Lays my data out and folds everybody's, each as soon as it is there.
    fn gather_small<'b>(&self, scratch: &'b mut Scratch) -> Result<&'b mut [u8], Fault> {
        let crew = &self.comm.crew;
        self.lay_out();
        let ranks = crew.roster.neighbours();
        scratch.fold(self.fold, ranks, self.len, &mut |local, into| {
            let (region, at) = crew.await_desk(local, self.notice.call, self.len)?;
            region.load(at, into);
            Ok(())
        })
    }

    /// Lays my data out and arrives.
    fn lay_out(&self) {
        let crew = &self.comm.crew;
        let desk = crew.label_desk(self.notice.call, self.len);
        self.send.give(0, self.len, desk);
        crew.arrive();
    }

    fn large(&self) -> Result<(), Fault> {
        let ranks = self.comm.crew.board.ranks();
        self.fold_together(|local| local < ranks, true).map(drop)
    }

    /// Folds this host's inputs into the receive buffers of the neighbours that `into` accepts.
    fn fold_together(
        &self,
        into: impl Fn(usize) -> bool,
        finish: bool,
    ) -> Result<Vec<Notice>, Fault> {
        let crew = &self.comm.crew;
        let ranks = crew.board.ranks();
        let pieces = Pieces::of(self.len, ranks);
        let past_cache = is_past_cache(self.len * (0..ranks).filter(|local| into(*local)).count());
        let mut buffers = None;
        let mut scratch = self.comm.scratch.borrow_mut();
        crew.work_together(
            &self.notice,
            piece_count(pieces.count())?,
            &mut |notices, piece| {
                let buffers = self
                    .comm
                    .open_once(&mut buffers, notices, (self.len, self.len))?;
                for (at, len) in pieces.steps(piece as usize) {
                    let mut load = |local: usize, into: &mut [u8]| -> Result<(), Fault> {
                        buffers.send[local].load(at, into);
                        Ok(())
                    };
                    let result =
                        scratch.fold(self.fold, crew.roster.neighbours(), len, &mut load)?;
                    if finish {
                        self.fold.finish(result);
                    }
                    let sinks = buffers
                        .recv
                        .iter()
                        .enumerate()
                        .filter(|(local, _)| into(*local));
                    sinks.for_each(|(_, sink)| sink.store(at, result, past_cache));
                }
                Ok(())
            },
        )
    }

    /// The leader of each host folds its own, exchanges with the other leaders, and lays the result
    /// out for its neighbours.
    fn small_across(&self) -> Result<(), Fault> {
        let crew = &self.comm.crew;
        if crew.me() != 0 {
            self.lay_out();
            crew.arrive();
            let result = crew.await_desk(0, self.notice.call, self.len)?;
            self.recv.take(0, self.len, result);
            return Ok(());
        }
        let mut scratch = self.comm.scratch.borrow_mut();
        let result = self.gather_small(&mut scratch)?.to_vec();
        let result = self.exchange_small(&result)?;
        let (region, at) = crew.label_desk(self.notice.call, self.len);
        region.store(at, &result);
        crew.arrive();
        self.recv.store(0, &result, false);
        Ok(())
    }

    /// Exchanges hosts' reductions with all other leaders and folds them in the hosts' order.
    fn exchange_small(&self, mine: &[u8]) -> Result<Vec<u8>, Fault> {
        let roster = &self.comm.crew.roster;
        let mut exchange = Exchange::new(self.comm, self.notice.call);
        for (index, host) in roster.hosts.iter().enumerate() {
            if index != roster.mine().host_index {
                exchange.send(host[0], Source::Bytes(mine.to_vec()));
                exchange.receive(host[0], self.len, Sink::Bytes(vec![0; self.len]));
            }
        }
        let mut theirs = exchange.run()?.into_iter();
        let mut hosts: Vec<Vec<u8>> = Vec::with_capacity(roster.hosts.len());
        for index in 0..roster.hosts.len() {
            let is_mine = index == roster.mine().host_index;
            hosts.extend(if is_mine {
                Some(mine.to_vec())
            } else {
                theirs.next()
            });
        }
        let mut hosts = hosts.into_iter();
        let mut result = hosts.next().unwrap_or_default();
        hosts.for_each(|host| self.fold.combine(&mut result, &host));
        self.fold.finish(&mut result);
        Ok(result)
    }

    /// Each host folds into its leader's receive buffer; as many rings as the smallest host has
    /// ranks reduce those; all take the result from their leader.
    fn large_across(&self) -> Result<(), Fault> {
        let crew = &self.comm.crew;
        let notices = self.fold_together(|local| local == 0, false)?;
        let whole = self
            .comm
            .memory
            .borrow_mut()
            .view(notices[0].recv, self.len)?;
        let lanes = crew.roster.hosts.iter().map(Vec::len).min().unwrap_or(1);
        if crew.me() < lanes {
            let (start, count) = cut(self.len / self.fold.size(), lanes, crew.me());
            self.ring(&whole, start, count)?;
        }
        self.hand_out(&whole)
    }

    /// All copy the result from their leader's buffer to the others'.
    fn hand_out(&self, whole: &View) -> Result<(), Fault> {
        let crew = &self.comm.crew;
        let ranks = crew.board.ranks();
        if ranks == 1 {
            return Ok(());
        }
        let pieces = Pieces::of(self.len, ranks);
        let past_cache = is_past_cache(self.len * (ranks - 1));
        let (mut buffers, mut scratch) = (None, vec![0; STEP]);
        let count = piece_count(pieces.count())?;
        crew.work_together(&self.notice, count, &mut |notices, piece| {
            let buffers = self
                .comm
                .open_once(&mut buffers, notices, (self.len, self.len))?;
            for (at, len) in pieces.steps(piece as usize) {
                whole.load(at, &mut scratch[..len]);
                let sinks = buffers.recv.iter().skip(1);
                sinks.for_each(|sink| sink.store(at, &scratch[..len], past_cache));
            }
            Ok(())
        })
        .map(drop)
    }

    /// A ring over the hosts on `count` elements from `start` on: reduce-scatter, then all-gather.
    fn ring(&self, whole: &View, start: usize, count: usize) -> Result<(), Fault> {
        let roster = &self.comm.crew.roster;
        let (hosts, mine) = (roster.hosts.len(), roster.mine().host_index);
        let lane = roster.mine().local;
        let next = roster.hosts[(mine + 1) % hosts][lane];
        let previous = roster.hosts[(mine + hosts - 1) % hosts][lane];
        let size = self.fold.size();
        let part = |index: usize| {
            let (at, len) = cut(count, hosts, index % hosts);
            ((start + at) * size, len * size)
        };
        for step in 0..2 * (hosts - 1) {
            // In step s host h sends part h − s; having received part h + 1 last, it owns that one.
            let (at, len) = part(mine + 2 * hosts - step);
            let (into, more) = part(mine + 2 * hosts - step - 1);
            let mut exchange = Exchange::new(self.comm, self.notice.call).going_on(step > 0);
            exchange.send(
                next,
                Source::View {
                    view: whole.clone(),
                    at,
                    len,
                },
            );
            let sink = if step < hosts - 1 {
                Sink::Fold {
                    view: whole.clone(),
                    at: into,
                    fold: self.fold,
                    finish: step == hosts - 2,
                }
            } else {
                Sink::View {
                    view: whole.clone(),
                    at: into,
                }
            };
            exchange.receive(previous, more, sink);
            exchange.run()?;
        }
        Ok(())
    }
}
