//! All-to-all: part `i` of rank `r`'s output is part `r` of rank `i`'s input.
//!
//! Within a host each part is copied once, by whoever claims it (small ones by way of the desks);
//! between hosts all pairs exchange at the same time.

use super::board::DESK;
use super::comm::{Comm, Pieces, bytes_of, call_word, is_past_cache, piece_count};
use super::crew::LABEL;
use super::exchange::{Exchange, Sink, Source};
use super::fold::STEP;
use super::memory::View;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::Span;

/// Runs the verb.
///
/// # Errors
/// `Timeout` or `Peer` naming a rank, `Disagree` if ranks call different things, `Call` if there is
/// no such memory or it is not one part for each rank.
pub(super) fn all_to_all(
    comm: &Comm,
    send: Span,
    recv: Span,
    dtype: DataType,
) -> Result<(), Fault> {
    let (len, ranks) = (bytes_of(send)?, comm.crew.roster.members.len());
    if send.len != recv.len || !len.is_multiple_of(ranks) {
        let what = format!(
            "{} bytes to send, {} to receive, {ranks} parts",
            send.len, recv.len
        );
        return Err(Fault::new(Kind::Call, what));
    }
    let part = len / ranks;
    if part == 0 {
        return Ok(());
    }
    let call = call_word(2, dtype, None);
    let (mine, into) = (comm.view(send)?, comm.view(recv)?);
    if len <= DESK - LABEL {
        small(comm, call, part, &mine, &into)?;
    } else {
        large(comm, call, part, send, recv)?;
    }
    across(comm, call, part, &mine, &into)
}

/// Every rank of the host lays all its parts out, and takes its own from each.
fn small(comm: &Comm, call: u64, part: usize, mine: &View, into: &View) -> Result<(), Fault> {
    let crew = &comm.crew;
    let len = part * crew.roster.members.len();
    let desk = crew.label_desk(call, len);
    mine.give(0, len, desk);
    crew.arrive();
    for (local, rank) in crew.roster.neighbours().iter().enumerate() {
        let (region, theirs) = crew.await_desk(local, call, len)?;
        let theirs = theirs + at(crew.roster.me, part);
        into.take(at(*rank, part), part, (region, theirs));
    }
    Ok(())
}

/// The neighbours claim parts, cut where they are long.
fn large(comm: &Comm, call: u64, part: usize, send: Span, recv: Span) -> Result<(), Fault> {
    let crew = &comm.crew;
    let (len, ranks) = (part * crew.roster.members.len(), crew.board.ranks());
    let pieces = Pieces::of(part, 1);
    let past_cache = is_past_cache(part * ranks * ranks);
    let notice = comm.notice(call, send, recv)?;
    let count = piece_count(pieces.count() * ranks * ranks)?;
    let mut buffers = None;
    let mut scratch = vec![0; STEP];
    crew.work_together(&notice, count, &mut |notices, piece| {
        let buffers = comm.open_once(&mut buffers, notices, (len, len))?;
        let (pair, piece) = (
            piece as usize / pieces.count(),
            piece as usize % pieces.count(),
        );
        let (to, from) = (pair / ranks, pair % ranks);
        let (source, sink) = (&buffers.send[from], &buffers.recv[to]);
        let source_at = at(crew.roster.neighbours()[to], part);
        let sink_at = at(crew.roster.neighbours()[from], part);
        if past_cache {
            for (step, len) in pieces.steps(piece) {
                source.load(source_at + step, &mut scratch[..len]);
                sink.store(sink_at + step, &scratch[..len], true);
            }
        } else {
            let (start, len) = pieces.whole(piece);
            sink.copy(sink_at + start, source, source_at + start, len);
        }
        Ok(())
    })?;
    Ok(())
}

/// Exchanges parts with all ranks of other hosts.
fn across(comm: &Comm, call: u64, part: usize, mine: &View, into: &View) -> Result<(), Fault> {
    let roster = &comm.crew.roster;
    let mut exchange = Exchange::new(comm, call);
    let far = comm.world().ranks().filter(|rank| !roster.is_near(*rank));
    for peer in far {
        let at = at(peer, part);
        exchange.send(
            peer,
            Source::View {
                view: mine.clone(),
                at,
                len: part,
            },
        );
        exchange.receive(
            peer,
            part,
            Sink::View {
                view: into.clone(),
                at,
            },
        );
    }
    exchange.run().map(drop)
}

fn at(rank: Rank, part: usize) -> usize {
    rank.0 as usize * part
}
