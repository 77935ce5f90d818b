//! Sends and receives of one group, all under way at the same time.
//!
//! Within a host the sender posts where its bytes are and the receiver copies them; between hosts
//! they are messages of an exchange. Messages of one pair keep their order.

use super::comm::{Comm, bytes_of, call_word};
use super::exchange::{Exchange, Sink, Source};
use super::memory::{Place, View};
use super::patience::{Awaited, NAP};
use crate::backend::messages::Message;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Rounds without progress in which the processor is only given away.
const YIELDS: u32 = 50;

/// How long to sleep on connections while neighbours are awaited too, whose bell does not wake it.
const SHORT_NAP: Duration = Duration::from_micros(200);

/// Runs transfers as one group.
///
/// # Errors
/// `Timeout` or `Peer` naming a rank, `Disagree` if the two sides give different lengths, `Call` if
/// there is no such memory or rank.
pub(super) fn run(comm: &Comm, transfers: &[Message]) -> Result<(), Fault> {
    let mut far = Exchange::new(comm, call_word(3, DataType::Int8, None));
    let mut near = Near {
        comm,
        outs: Vec::new(),
        ins: Vec::new(),
    };
    for transfer in transfers {
        if transfer.peer.0 >= comm.world().0 {
            return Err(Fault::new(
                Kind::Call,
                format!("no rank {} in this world", transfer.peer),
            ));
        }
        let (view, len) = (comm.view(transfer.span)?, bytes_of(transfer.span)?);
        if comm.crew.roster.is_near(transfer.peer) {
            near.add(transfer, view)?;
        } else if transfer.receives {
            far.receive(transfer.peer, len, Sink::View { view, at: 0 });
        } else {
            far.send(transfer.peer, Source::View { view, at: 0, len });
        }
    }
    run_both(comm, &mut near, &mut far)?;
    comm.crew.await_openly(None);
    Ok(())
}

fn run_both(comm: &Comm, near: &mut Near<'_>, far: &mut Exchange<'_>) -> Result<(), Fault> {
    let (mut wait, mut idle) = (None, 0);
    while !(near.is_done() && far.is_done()) {
        let seen = comm.crew.my_call().word.load(Ordering::Acquire);
        let moved = near.step()?;
        if far.step()? || moved {
            (wait, idle) = (None, 0);
            continue;
        }
        idle += 1;
        if idle < YIELDS {
            std::thread::yield_now();
            continue;
        }
        let wait = wait.get_or_insert_with(|| comm.crew.patience.begin());
        match (near.is_done(), far.is_done()) {
            (true, _) => far.sleep(NAP),
            (false, true) => near.sleep(seen),
            (false, false) => far.sleep(SHORT_NAP),
        }
        if near.is_done() {
            wait.check(&|| false, far)?;
        } else {
            wait.check(&|| near.can_move(), near)?;
        }
    }
    Ok(())
}

#[derive(Debug)]
struct Out {
    to: usize,
    place: Place,
    bytes: u64,
    /// Its number once it is posted.
    number: Option<u32>,
    done: bool,
}

#[derive(Debug)]
struct In {
    from: usize,
    view: View,
    bytes: u64,
    done: bool,
}

/// The transfers within my host.
#[derive(Debug)]
struct Near<'a> {
    comm: &'a Comm,
    outs: Vec<Out>,
    ins: Vec<In>,
}

impl Near<'_> {
    fn add(&mut self, transfer: &Message, view: View) -> Result<(), Fault> {
        let local = self.comm.crew.roster.at(transfer.peer).local;
        let bytes = transfer.span.len;
        if transfer.receives {
            self.ins.push(In {
                from: local,
                view,
                bytes,
                done: false,
            });
        } else {
            let place = self.comm.memory.borrow().place(transfer.span)?;
            self.outs.push(Out {
                to: local,
                place,
                bytes,
                number: None,
                done: false,
            });
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.outs.iter().all(|out| out.done) && self.ins.iter().all(|message| message.done)
    }

    /// The first letter to, and from, each neighbour that is not done.
    fn step(&mut self) -> Result<bool, Fault> {
        let (comm, mut moved) = (self.comm, false);
        let mut blocked = HashSet::new();
        for out in self.outs.iter_mut().filter(|out| !out.done) {
            if blocked.insert(out.to) {
                moved |= out.step(comm);
            }
        }
        blocked.clear();
        for message in self.ins.iter_mut().filter(|message| !message.done) {
            if blocked.insert(message.from) {
                moved |= message.step(comm)?;
            }
        }
        Ok(moved)
    }

    fn can_move(&self) -> bool {
        let (board, me) = (&self.comm.crew.board, self.comm.crew.me());
        let waiting = |from: usize, to: usize| {
            board.sent(from, to).load(Ordering::Acquire)
                != board.taken(from, to).load(Ordering::Acquire)
        };
        let mut outs = self.outs.iter().filter(|out| !out.done);
        let mut ins = self.ins.iter().filter(|message| !message.done);
        outs.any(|out| !waiting(me, out.to)) || ins.any(|message| waiting(message.from, me))
    }

    fn sleep(&self, seen: u32) {
        self.comm.crew.await_openly(self.first());
        self.comm.crew.my_call().nap(seen);
    }

    fn first(&self) -> Option<Rank> {
        let ins = self
            .ins
            .iter()
            .filter(|message| !message.done)
            .map(|message| message.from);
        let outs = self.outs.iter().filter(|out| !out.done).map(|out| out.to);
        let local = ins.chain(outs).next()?;
        Some(self.comm.crew.roster.neighbours()[local])
    }
}

impl Awaited for Near<'_> {
    fn lost(&self) -> Option<Fault> {
        let ins = self
            .ins
            .iter()
            .filter(|message| !message.done)
            .map(|message| message.from);
        let outs = self.outs.iter().filter(|out| !out.done).map(|out| out.to);
        ins.chain(outs).find_map(|local| self.comm.crew.loss(local))
    }

    fn late(&self, limit: Duration) -> Fault {
        let rank = self.first().unwrap_or(self.comm.rank());
        self.comm.crew.late(rank, "did not arrive", limit)
    }
}

impl Out {
    fn step(&mut self, comm: &Comm) -> bool {
        let (board, me) = (&comm.crew.board, comm.crew.me());
        let sent = board.sent(me, self.to);
        let is_free =
            sent.load(Ordering::Relaxed) == board.taken(me, self.to).load(Ordering::Acquire);
        match (self.number, is_free) {
            (_, false) => return false,
            (Some(_), true) => self.done = true,
            (None, true) => {
                let words = [self.place.base, self.place.len, self.place.at, self.bytes];
                for (index, word) in words.into_iter().enumerate() {
                    board
                        .letter(me, self.to, index)
                        .store(word, Ordering::Relaxed);
                }
                let number = sent.load(Ordering::Relaxed).wrapping_add(1);
                sent.store(number, Ordering::Release);
                self.number = Some(number);
                ring(comm, self.to);
            }
        }
        true
    }
}

impl In {
    fn step(&mut self, comm: &Comm) -> Result<bool, Fault> {
        let (board, me) = (&comm.crew.board, comm.crew.me());
        let taken = board.taken(self.from, me);
        let sent = board.sent(self.from, me).load(Ordering::Acquire);
        if sent == taken.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let word = |index| board.letter(self.from, me, index).load(Ordering::Relaxed);
        let (place, bytes) = (
            Place {
                base: word(0),
                len: word(1),
                at: word(2),
            },
            word(3),
        );
        if bytes != self.bytes {
            let who = comm
                .crew
                .roster
                .who(comm.crew.roster.neighbours()[self.from]);
            let what = format!(
                "{who} sends {bytes} bytes where {} are received",
                self.bytes
            );
            return Err(Fault::new(Kind::Disagree, what));
        }
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        if len > 0 {
            let theirs = comm.memory.borrow_mut().view(place, len)?;
            self.view.copy(0, &theirs, 0, len);
        }
        taken.store(sent, Ordering::Release);
        self.done = true;
        ring(comm, self.from);
        Ok(true)
    }
}

fn ring(comm: &Comm, local: usize) {
    let bell = comm.crew.board.call(local);
    bell.word.fetch_add(1, Ordering::SeqCst);
    bell.ring();
}
