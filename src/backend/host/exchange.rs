//! Messages to and from ranks of other hosts, all under way at the same time, over TCP.
//!
//! Both sides know the lengths; each message opens with them all the same, so that ranks that call
//! different things are told so. Messages of one pair of ranks keep their order.

use super::comm::Comm;
use super::crew::{LABEL, label};
use super::fold::{Fold, STEP};
use super::links::Links;
use super::memory::View;
use super::patience::{Awaited, NAP, Wait};
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// Bytes that go to or come from the kernel at a time.
const WIRE: usize = 128 << 10;

/// What a message opens with: the call and the number of bytes.
const HEADER: usize = LABEL;

/// Where a message's bytes come from.
#[derive(Debug)]
pub(super) enum Source {
    /// Private memory.
    Bytes(Vec<u8>),
    /// A buffer.
    View {
        /// Which.
        view: View,
        /// First byte.
        at: usize,
        /// Number of bytes.
        len: usize,
    },
}

/// Where a message's bytes go.
#[derive(Debug)]
pub(super) enum Sink {
    /// Private memory, of the message's length.
    Bytes(Vec<u8>),
    /// A buffer.
    View {
        /// Which.
        view: View,
        /// First byte.
        at: usize,
    },
    /// A buffer whose elements they are combined with.
    Fold {
        /// Which.
        view: View,
        /// First byte.
        at: usize,
        /// How.
        fold: Fold,
        /// The message is the last that the elements wait for.
        finish: bool,
    },
}

#[derive(Debug)]
struct Out {
    peer: Rank,
    source: Source,
    header: [u8; HEADER],
    len: usize,
    done: usize,
}

#[derive(Debug)]
struct In {
    peer: Rank,
    sink: Sink,
    header: [u8; HEADER],
    expected: [u8; HEADER],
    len: usize,
    done: usize,
    /// Bytes of an element whose rest has not come.
    carry: Vec<u8>,
}

/// A number of messages.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    comm: &'a Comm,
    call: u64,
    goes_on: bool,
    outs: Vec<Out>,
    ins: Vec<In>,
    wire: Vec<u8>,
}

impl<'a> Exchange<'a> {
    /// None yet; both sides must give the same `call`.
    pub(super) fn new(comm: &'a Comm, call: u64) -> Self {
        Self {
            comm,
            call,
            goes_on: false,
            outs: Vec::new(),
            ins: Vec::new(),
            wire: Vec::new(),
        }
    }

    /// It is not the first of its operation: a peer that does not move may wait for another itself.
    pub(super) fn going_on(mut self, goes_on: bool) -> Self {
        self.goes_on = goes_on;
        self
    }

    /// Adds a message to a rank of another host.
    pub(super) fn send(&mut self, peer: Rank, source: Source) {
        let len = match &source {
            Source::Bytes(bytes) => bytes.len(),
            Source::View { len, .. } => *len,
        };
        let header = label(self.call, len);
        self.outs.push(Out {
            peer,
            source,
            header,
            len: len + HEADER,
            done: 0,
        });
    }

    /// Adds a message of `len` bytes from a rank of another host.
    pub(super) fn receive(&mut self, peer: Rank, len: usize, sink: Sink) {
        let expected = label(self.call, len);
        let (header, carry) = ([0; HEADER], Vec::new());
        self.ins.push(In {
            peer,
            sink,
            header,
            expected,
            len: len + HEADER,
            done: 0,
            carry,
        });
    }

    /// Moves them all; gives what came for [`Sink::Bytes`], in the order of the calls.
    ///
    /// # Errors
    /// `Peer` if a rank is gone, `Timeout` if one does not move, `Disagree` if it calls something else.
    pub(super) fn run(mut self) -> Result<Vec<Vec<u8>>, Fault> {
        let comm = self.comm;
        let mut wait: Option<Wait<'_>> = None;
        while !self.is_done() {
            if self.step()? {
                wait = None;
                continue;
            }
            let wait = wait.get_or_insert_with(|| comm.crew.patience.begin());
            self.sleep(NAP);
            wait.check(&|| false, &self)?;
        }
        self.comm.crew.await_openly(None);
        let bytes = self
            .ins
            .into_iter()
            .filter_map(|message| match message.sink {
                Sink::Bytes(bytes) => Some(bytes),
                _ => None,
            });
        Ok(bytes.collect())
    }

    /// Whether all have been moved.
    pub(super) fn is_done(&self) -> bool {
        self.pending().next().is_none()
    }

    /// Moves what can be moved now; false if that is nothing.
    ///
    /// # Errors
    /// As [`Exchange::run`], but for the `Timeout`.
    pub(super) fn step(&mut self) -> Result<bool, Fault> {
        self.wire.resize(WIRE, 0);
        let comm = self.comm;
        let mut links = comm.links.borrow_mut();
        let (mut moved, mut blocked) = (false, HashSet::new());
        for out in self.outs.iter_mut().filter(|out| out.done < out.len) {
            if blocked.insert(out.peer) {
                let result = out.push(&mut links, &mut self.wire);
                moved |= result.map_err(|fault| comm.crew.blame(out.peer, fault))?;
            }
        }
        blocked.clear();
        for message in self
            .ins
            .iter_mut()
            .filter(|message| message.done < message.len)
        {
            if blocked.insert(message.peer) {
                let result = message.pull(&mut links, &mut self.wire);
                moved |= result.map_err(|fault| comm.crew.blame(message.peer, fault))?;
            }
        }
        Ok(moved)
    }

    /// Sleeps until something may have changed, and says on the board whom for.
    pub(super) fn sleep(&self, limit: Duration) {
        let Some((peer, _)) = self.pending().next() else {
            return;
        };
        self.comm.crew.await_openly(Some(peer));
        let links = self.comm.links.borrow();
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        let mut is_linked = true;
        for (peer, flags) in self.pending() {
            match links.stream(peer) {
                Some(stream) => fds.push(PollFd::new(stream, flags)),
                None => is_linked = false,
            }
        }
        if !is_linked {
            fds.extend(
                links
                    .arrivals()
                    .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
            );
        }
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        // Whatever it says, the next step finds out.
        let _ = rustix::event::poll(&mut fds, Some(&limit));
    }

    fn pending(&self) -> impl Iterator<Item = (Rank, PollFlags)> {
        let ins = self.ins.iter().filter(|message| message.done < message.len);
        let outs = self
            .outs
            .iter()
            .filter(|message| message.done < message.len);
        ins.map(|message| (message.peer, PollFlags::IN))
            .chain(outs.map(|message| (message.peer, PollFlags::OUT)))
    }
}

impl Awaited for Exchange<'_> {
    fn lost(&self) -> Option<Fault> {
        None
    }

    fn late(&self, limit: Duration) -> Fault {
        let mut ins = self.ins.iter().filter(|message| message.done < message.len);
        let mut outs = self
            .outs
            .iter()
            .filter(|message| message.done < message.len);
        let (peer, what) = match (ins.next(), outs.next()) {
            (Some(message), _) if message.done > 0 => {
                (message.peer, "did not send all of its part")
            }
            (Some(message), _) if self.goes_on => (message.peer, "did not go on"),
            (Some(message), _) => (message.peer, "did not arrive"),
            (None, Some(message)) => (message.peer, "did not take its part"),
            (None, None) => (self.comm.rank(), "did not go on"),
        };
        self.comm.crew.late(peer, what, limit)
    }
}

impl Out {
    fn push(&mut self, links: &mut Links, wire: &mut [u8]) -> Result<bool, Fault> {
        let Some(stream) = links.link(self.peer)? else {
            return Ok(false);
        };
        let mut moved = false;
        while self.done < self.len {
            let filled = self.load(wire);
            match stream.write(&wire[..filled]) {
                Ok(written) => self.done += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(moved),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
            moved = true;
        }
        Ok(moved)
    }

    /// Fills `wire` with what comes next: the rest of the header and some data.
    fn load(&self, wire: &mut [u8]) -> usize {
        let header = &self.header[self.done.min(HEADER)..];
        wire[..header.len()].copy_from_slice(header);
        let from = self.done.saturating_sub(HEADER);
        let data = (self.len - HEADER - from).min(wire.len() - header.len());
        let into = &mut wire[header.len()..header.len() + data];
        match &self.source {
            Source::Bytes(bytes) => into.copy_from_slice(&bytes[from..from + data]),
            Source::View { view, at, .. } => view.load(at + from, into),
        }
        header.len() + data
    }
}

impl In {
    fn pull(&mut self, links: &mut Links, wire: &mut [u8]) -> Result<bool, Fault> {
        let Some(stream) = links.link(self.peer)? else {
            return Ok(false);
        };
        let mut moved = false;
        while self.done < self.len {
            let most = (self.len - self.done).min(wire.len());
            match stream.read(&mut wire[..most]) {
                Ok(0) => return Err(Fault::new(Kind::Peer, "it closed the connection")),
                Ok(got) => self.take(&mut wire[..got])?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(moved),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
            moved = true;
        }
        Ok(moved)
    }

    fn take(&mut self, bytes: &mut [u8]) -> Result<(), Fault> {
        let of_header = HEADER.saturating_sub(self.done).min(bytes.len());
        let (header, data) = bytes.split_at_mut(of_header);
        if of_header > 0 {
            self.header[self.done..self.done + of_header].copy_from_slice(header);
            self.done += of_header;
            if self.done == HEADER && self.header != self.expected {
                return Err(Fault::new(
                    Kind::Disagree,
                    "it called another operation or size",
                ));
            }
        }
        let at = self.done.saturating_sub(HEADER);
        self.done += data.len();
        match &mut self.sink {
            Sink::Bytes(into) => into[at..at + data.len()].copy_from_slice(data),
            Sink::View { view, at: first } => view.store(*first + at, data, false),
            Sink::Fold {
                view,
                at: first,
                fold,
                finish,
            } => {
                let first = *first + at - self.carry.len();
                fold_in(view, first, *fold, *finish, &mut self.carry, data);
            }
        }
        Ok(())
    }
}

/// Combines the bytes from `first` on with `carry` and `data`; what is left of an element is the
/// next carry.
fn fold_in(view: &View, first: usize, fold: Fold, finish: bool, carry: &mut Vec<u8>, data: &[u8]) {
    let joined;
    let data = if carry.is_empty() {
        data
    } else {
        carry.extend_from_slice(data);
        joined = std::mem::take(carry);
        &joined
    };
    let (whole, rest) = data.split_at(data.len() / fold.size() * fold.size());
    let mut gathered = [0; STEP];
    for (index, more) in whole.chunks(STEP).enumerate() {
        let gathered = &mut gathered[..more.len()];
        view.load(first + index * STEP, gathered);
        fold.combine(gathered, more);
        if finish {
            fold.finish(gathered);
        }
        view.store(first + index * STEP, gathered, false);
    }
    carry.extend_from_slice(rest);
}

fn broken(error: &std::io::Error) -> Fault {
    Fault::new(Kind::Peer, format!("the connection broke: {error}"))
}
