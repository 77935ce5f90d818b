//! One of the hub's connections: bytes both ways, and how far it has been trusted.

use super::auth::{NONCE, Secret, Side, random};
use super::frame::{Inbox, STRANGER_LIMIT};
use super::link::{Incoming, Outgoing, Reading, packet};
use super::message::{Hello, Message};
use crate::base::{Clock, Fault};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long members have to read that the run has ended.
const FAREWELL_LIMIT: Duration = Duration::from_secs(1);

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

    /// Shows one who says who it is that the hub knows the secret, and asks for the same.
    ///
    /// # Errors
    /// `Missing` if the system has no random numbers.
    pub(super) fn challenge(
        &mut self,
        hello: Hello,
        until: Duration,
        secret: &Secret,
        job: u64,
    ) -> Result<(), Fault> {
        let said = Message::Hello(hello.clone()).encode().1;
        let nonce = random::<NONCE>()?;
        let proof = secret.prove(Side::Hub, &hello.nonce, &nonce, &said);
        self.outgoing
            .send(packet(job, &Message::Challenge { nonce, proof }));
        self.who = Who::Challenged {
            until,
            hello: Box::new(hello),
            said,
            nonce,
        };
        Ok(())
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
            match self.incoming.read(true) {
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

/// Drops the stranger that has been here longest if there are `most` or more.
pub(super) fn drop_oldest_stranger(lines: &mut [Option<Line>], most: usize) {
    let strangers = || {
        lines.iter().enumerate().filter_map(|(index, line)| {
            let until = line.as_ref()?.until()?;
            Some((until, index))
        })
    };
    if strangers().count() >= most
        && let Some((_, oldest)) = strangers().min()
    {
        lines[oldest] = None;
    }
}

/// Drops the strangers whose time is up at `now`.
pub(super) fn drop_strangers(lines: &mut [Option<Line>], now: Duration) {
    for line in lines {
        let late = |line: &mut Line| line.until().is_some_and(|until| now >= until);
        drop(line.take_if(late));
    }
}

/// Waits, not for long, until everybody has read what was said and closed the connection.
pub(super) fn see_off(mut lines: Vec<Option<Line>>, poll: &mut Poll, clock: &dyn Clock) {
    let until = clock.now() + FAREWELL_LIMIT;
    let mut events = Events::with_capacity(1024);
    loop {
        for line in &mut lines {
            drop(line.take_if(Line::is_seen_off));
        }
        lines.retain(Option::is_some);
        let left = until.saturating_sub(clock.now());
        if lines.is_empty() || left.is_zero() {
            return;
        }
        // an interrupted wait is looked at again by the loop, which the clock ends
        drop(poll.poll(&mut events, Some(left)));
    }
}
