//! One connection's bytes: what is still to be written, and frames out of what is read.
//!
//! Never blocks; knows nothing of what the messages mean.

use super::frame::{self, Inbox, Refusal};
use super::message::Message;
use mio::event::Event;
use mio::net::TcpStream;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many messages wait for a side that does not read. Ours has two or three at the most, since it
/// answers each step before the next; one that lets more pile up is not worth the memory.
const MOST_QUEUED: usize = 64;

/// A message in its form on the wire, shared by all who get it.
pub(super) type Packet = Arc<Vec<u8>>;

/// Puts a message in its form on the wire.
pub(super) fn packet(job: u64, message: &Message) -> Packet {
    let (kind, payload) = message.encode();
    Arc::new(frame::encode(job, kind, &payload))
}

/// What is said into a connection; any thread may say it.
#[derive(Debug)]
pub(super) struct Outgoing {
    stream: Arc<TcpStream>,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<Packet>,
    /// Bytes of the first packet that are written.
    written: usize,
    /// Nothing more can be written.
    broken: bool,
}

/// What arrives on a connection; one thread reads it.
#[derive(Debug)]
pub(super) struct Incoming {
    stream: Arc<TcpStream>,
    inbox: Inbox,
}

/// What reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// All that has arrived is in the inbox.
    Dry,
    /// There may be more, once the inbox has been looked at.
    More,
    /// The other side has closed the connection, or it is broken.
    Closed,
}

/// Whether an event says that the other side has closed, so that nothing further will be told.
pub(super) fn is_ending(event: &Event) -> bool {
    event.is_read_closed() || event.is_error()
}

impl Outgoing {
    pub(super) fn new(stream: Arc<TcpStream>) -> Self {
        Self {
            stream,
            queue: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes as much as goes at once and keeps the rest for [`Outgoing::flush`].
    pub(super) fn send(&self, packet: Packet) {
        let mut queue = self.lock();
        if queue.broken {
            return;
        }
        queue.packets.push_back(packet);
        queue.write(&self.stream);
        if queue.packets.len() > MOST_QUEUED {
            queue.give_up();
            drop(queue);
            self.close();
        }
    }

    /// Writes what is left, as far as it goes.
    pub(super) fn flush(&self) {
        self.lock().write(&self.stream);
    }

    /// Whether nothing is left to be written, or nothing can be.
    pub(super) fn is_done(&self) -> bool {
        let queue = self.lock();
        queue.broken || queue.packets.is_empty()
    }

    /// Says that nothing more will be written; the other side reads an end.
    pub(super) fn finish(&self) {
        // a connection that is gone already is finished too
        drop(self.stream.shutdown(Shutdown::Write));
    }

    /// Ends both directions.
    pub(super) fn close(&self) {
        // as above
        drop(self.stream.shutdown(Shutdown::Both));
    }
}

impl Queue {
    fn write(&mut self, mut stream: &TcpStream) {
        while let Some(packet) = self.packets.front() {
            match stream.write(&packet[self.written..]) {
                Ok(written) => {
                    self.written += written;
                    if self.written == packet.len() {
                        self.packets.pop_front();
                        self.written = 0;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // the reading side notices the closed connection and says so
                Err(_) => self.give_up(),
            }
        }
    }

    fn give_up(&mut self) {
        self.broken = true;
        self.packets.clear();
    }
}

impl Incoming {
    pub(super) fn new(stream: Arc<TcpStream>, inbox: Inbox) -> Self {
        Self { stream, inbox }
    }

    /// Lets longer messages in from now on.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.inbox.set_limit(limit);
    }

    /// Reads what has arrived, as far as there is room. `is_ending`: the other side has closed, or
    /// may have, so that the end is looked for behind what it said.
    pub(super) fn read(&mut self, is_ending: bool) -> Reading {
        let mut buffer = [0; 16 << 10];
        while self.inbox.has_room() {
            match self.once(&mut buffer) {
                Ok(0) => return Reading::Closed,
                Ok(len) => {
                    self.inbox.push(&buffer[..len]);
                    // less than was asked for was all there was: what comes next is told
                    if len < buffer.len() && !is_ending {
                        return Reading::Dry;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Reading::Dry,
                Err(_) => return Reading::Closed,
            }
        }
        Reading::More
    }

    fn once(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.stream).read(buffer)
    }

    /// The next message that has arrived as a whole.
    pub(super) fn next(&mut self) -> Result<Option<Message>, Refusal> {
        match self.inbox.next()? {
            None => Ok(None),
            Some((kind, bytes)) => Message::decode(kind, bytes).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_side_that_never_reads_is_given_up_instead_of_being_remembered_everything_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (here, _) = listener.accept().unwrap();
        here.set_nonblocking(true).unwrap();
        let outgoing = Outgoing::new(Arc::new(TcpStream::from_std(here)));
        let packet = packet(1, &Message::Proof([0; 32]));
        let large = Arc::new(vec![0; 8 << 20]);
        let mut most = 0;
        for _ in 0..10_000 {
            outgoing.send(Arc::clone(&large));
            outgoing.send(Arc::clone(&packet));
            most = most.max(outgoing.lock().packets.len());
        }
        assert!(most <= MOST_QUEUED, "{most}");
        assert!(outgoing.is_done(), "nothing is kept for it any more");
        drop(there);
    }
}
