//! One of the hub's connections: bytes both ways, and how far it has been trusted.

use super::auth::NONCE;
use super::frame::{Inbox, STRANGER_LIMIT};
use super::link::{Incoming, Outgoing, Reading};
use super::message::Hello;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A connection and who is at its other end.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) incoming: Incoming,
    pub(super) outgoing: Outgoing,
    pub(super) who: Who,
}

/// Who is at the other end of a connection.
#[derive(Debug)]
pub(super) enum Who {
    /// Has said nothing yet.
    Stranger { until: Duration },
    /// Has said who it is and must prove it.
    Challenged {
        until: Duration,
        hello: Box<Hello>,
        /// The hello's bytes, which the proof covers.
        said: Vec<u8>,
        nonce: [u8; NONCE],
    },
    /// Is one of ours.
    Member(usize),
}

impl Line {
    /// A connection that has just been accepted, as soon as `registry` watches it.
    pub(super) fn open(
        mut stream: TcpStream,
        (registry, token): (&Registry, Token),
        job: u64,
        until: Duration,
    ) -> io::Result<Self> {
        super::listen::tune(&stream)?;
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        let stream = Arc::new(stream);
        Ok(Self {
            incoming: Incoming::new(Arc::clone(&stream), Inbox::new(job, STRANGER_LIMIT)),
            outgoing: Outgoing::new(stream),
            who: Who::Stranger { until },
        })
    }

    /// Until when a stranger is listened to; `None` for members.
    pub(super) fn until(&self) -> Option<Duration> {
        match &self.who {
            Who::Stranger { until } | Who::Challenged { until, .. } => Some(*until),
            Who::Member(_) => None,
        }
    }

    /// Writes what is left, says that it was all, and looks whether the other side has closed.
    pub(super) fn is_seen_off(&mut self) -> bool {
        self.outgoing.flush();
        if self.outgoing.is_done() {
            self.outgoing.finish();
        }
        loop {
            match self.incoming.read() {
                Reading::Closed => return true,
                Reading::Dry => return false,
                // what is said now is not listened to any more
                Reading::More => loop {
                    match self.incoming.next() {
                        Ok(Some(_)) => {}
                        Ok(None) => break,
                        Err(_) => return true,
                    }
                },
            }
        }
    }
}
