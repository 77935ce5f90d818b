//! A process other than the first: finding the hub, and the service thread that listens to it.
//!
//! Decides nothing about the run; only if the hub is gone does it end the run for itself.

use super::auth::{NONCE, Secret, Side, random};
use super::desk::Desk;
use super::frame::{HUB_LIMIT, Inbox, Refusal, STRANGER_LIMIT};
use super::link::{self, Incoming, Outgoing, Reading, packet};
use super::message::{Hello, Message};
use crate::base::{Clock, Fault, Kind};
use crate::bootstrap::peer;
use crate::bootstrap::{Ending, PeerInfo, Pulse};
use mio::{Events, Interest, Poll, Token};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// How long one attempt to connect may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// How long the hub may take to answer a hello; it may have thousands to answer.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// The pause between two rounds of attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// A connection whose other end has proved to be our hub.
#[derive(Debug)]
pub(super) struct Found {
    stream: TcpStream,
    inbox: Inbox,
}

impl Found {
    /// Where the other end listens.
    pub(super) fn place(&self) -> String {
        let address = self.stream.peer_addr();
        address.map_or_else(|_| "?".to_owned(), |address| address.to_string())
    }
}

/// Why an attempt came to nothing.
#[derive(Debug)]
enum Miss {
    Io(io::Error),
    Closed,
    Refused(Refusal),
    WrongSecret,
    Ended(Box<Ending>),
}

impl From<io::Error> for Miss {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Refusal> for Miss {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Miss {
    /// How much it tells: who answered says more than that nobody does any more.
    fn weight(&self) -> u8 {
        match self {
            Self::Io(_) => 0,
            Self::Closed => 1,
            Self::Refused(_) => 2,
            Self::WrongSecret | Self::Ended(_) => 3,
        }
    }
}

/// Tries all addresses in turn until one of them is our hub.
///
/// # Errors
/// `Timeout` with what each address came to; untold if our hub has said how the run ended.
pub(super) fn find(
    candidates: &[SocketAddr],
    (hello, secret, job): (&Hello, &Secret, u64),
    limit: Duration,
    clock: &dyn Clock,
) -> Result<Found, Ending> {
    let until = clock.now().saturating_add(limit);
    let mut misses = vec![(0, String::new()); candidates.len()];
    loop {
        for (address, told) in candidates.iter().zip(&mut misses) {
            match attempt(address, hello, secret, job) {
                Ok(found) => return Ok(found),
                Err(Miss::Ended(ending)) => return Err(*ending),
                Err(miss) if miss.weight() >= told.0 => *told = (miss.weight(), miss.to_string()),
                Err(_) => {}
            }
        }
        if clock.now() >= until {
            let text = format!("did not meet rank 0 within {} s", limit.as_secs_f64());
            let fault = Fault::new(Kind::Timeout, text);
            let words = candidates.iter().zip(misses);
            let told = words.fold(fault, |fault, (address, (_, why))| {
                fault.detail(format!("{address}: {why}"))
            });
            return Err(told.into());
        }
        clock.pause(PAUSE);
    }
}

fn attempt(address: &SocketAddr, hello: &Hello, secret: &Secret, job: u64) -> Result<Found, Miss> {
    let mut stream = TcpStream::connect_timeout(address, CONNECT_LIMIT)?;
    if stream.local_addr()? == stream.peer_addr()? {
        let text = "connected to itself: nobody listens there yet";
        return Err(io::Error::other(text).into());
    }
    super::listen::tune(&stream)?;
    stream.set_read_timeout(Some(HANDSHAKE_LIMIT))?;
    stream.set_write_timeout(Some(HANDSHAKE_LIMIT))?;
    let greeting = Message::Hello(hello.clone());
    stream.write_all(&packet(job, &greeting))?;
    let mut inbox = Inbox::new(job, STRANGER_LIMIT);
    let Message::Challenge { nonce, proof } = receive(&mut stream, &mut inbox)? else {
        return Err(Refusal::Content.into());
    };
    let said = greeting.encode().1;
    if !secret.verify(Side::Hub, (&hello.nonce, &nonce), &said, &proof) {
        return Err(Miss::WrongSecret);
    }
    let proof = secret.prove(Side::Member, &hello.nonce, &nonce, &said);
    stream.write_all(&packet(job, &Message::Proof(proof)))?;
    inbox.set_limit(HUB_LIMIT);
    Ok(Found { stream, inbox })
}

/// The next message, read with blocking calls.
fn receive(stream: &mut TcpStream, inbox: &mut Inbox) -> Result<Message, Miss> {
    let mut buffer = [0; 4096];
    loop {
        if let Some((kind, bytes)) = inbox.next()? {
            return match Message::decode(kind, bytes)? {
                Message::Ended(sentence) => Err(Miss::Ended(Box::new(sentence.ending()))),
                message => Ok(message),
            };
        }
        match stream.read(&mut buffer)? {
            0 => return Err(Miss::Closed),
            len => inbox.push(&buffer[..len]),
        }
    }
}

impl std::fmt::Display for Miss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Closed => f.write_str(
                "closed the connection: it belongs to another run, or has another secret",
            ),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::WrongSecret => f.write_str("it does not know this run's secret"),
            Self::Ended(ending) => f.write_str(&ending.fault.message),
        }
    }
}

/// Who this process is, to be said to the hub.
///
/// # Errors
/// `Missing` if the system has no random numbers.
pub(super) fn hello(member: u32, members: u32, info: PeerInfo) -> Result<Hello, Fault> {
    Ok(Hello {
        member,
        members,
        info,
        nonce: random::<NONCE>()?,
    })
}

/// The service thread's state.
#[derive(Debug)]
pub(super) struct Service {
    poll: Poll,
    incoming: Incoming,
    outgoing: Arc<Outgoing>,
    desk: Arc<Desk>,
    pulse: Arc<Pulse>,
    job: u64,
    member: usize,
    peers: Vec<PeerInfo>,
}

impl Service {
    /// A service on a connection that was found; what to say goes through the second.
    pub(super) fn new(
        found: Found,
        (desk, pulse): (Arc<Desk>, Arc<Pulse>),
        job: u64,
        member: usize,
    ) -> io::Result<(Self, Arc<Outgoing>)> {
        found.stream.set_nonblocking(true)?;
        let mut stream = mio::net::TcpStream::from_std(found.stream);
        let poll = Poll::new()?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Token(0), interest)?;
        let stream = Arc::new(stream);
        let outgoing = Arc::new(Outgoing::new(Arc::clone(&stream)));
        let service = Self {
            poll,
            incoming: Incoming::new(stream, found.inbox),
            outgoing: Arc::clone(&outgoing),
            desk,
            pulse,
            job,
            member,
            peers: Vec::new(),
        };
        Ok((service, outgoing))
    }

    /// Listens until the connection is closed.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(4);
        let mut is_ending = true;
        loop {
            match self.listen(is_ending) {
                Ok(true) => {}
                Ok(false) => break self.lost("left without a word"),
                Err(refusal) => break self.lost(&format!("cannot be understood: {refusal}")),
            }
            if self.desk.finish.get().is_some() {
                break;
            }
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    break self.lost(&format!("cannot be waited for: {error}"));
                }
                _ => self.outgoing.flush(),
            }
            is_ending = events.iter().any(link::is_ending);
        }
        self.outgoing.close();
        self.desk.put_closed();
    }

    /// Reads the connection dry; false if it is closed.
    fn listen(&mut self, is_ending: bool) -> Result<bool, Refusal> {
        loop {
            let reading = self.incoming.read(is_ending);
            while let Some(message) = self.incoming.next()? {
                self.heard(message);
            }
            match reading {
                Reading::More => {}
                Reading::Dry => return Ok(true),
                Reading::Closed => return Ok(false),
            }
        }
    }

    fn heard(&mut self, message: Message) {
        match message {
            Message::Welcome(roster) => {
                self.peers = roster.peers().unwrap_or_default();
                self.desk.put_peers(self.peers.clone());
            }
            Message::Release(release) => self.desk.put_release(release),
            Message::Query => {
                let status = Message::Status(self.pulse.read_each());
                self.outgoing.send(packet(self.job, &status));
            }
            Message::Ended(sentence) => self.desk.put_ending(sentence.ending()),
            // nothing else is said to a member
            _ => {}
        }
    }

    /// The hub is gone: unless the run is over, this process ends it for itself. The first of each
    /// host says so, since nobody else can.
    fn lost(&self, how: &str) {
        if self.desk.is_leaving() || self.desk.finish.get().is_some() {
            return;
        }
        let phase = self.pulse.read().describe();
        let who = self
            .peers
            .first()
            .map_or_else(|| "rank 0".to_owned(), |first| peer::describe(first, 0));
        let fault = Fault::new(Kind::Peer, format!("{who} {how} while {phase}"));
        let first_of_host = (1..self.peers.len())
            .find(|&one| self.peers[one].identity == self.peers[self.member].identity);
        let tells = first_of_host.is_none_or(|first| first == self.member);
        let ending = Ending::by(fault);
        self.desk
            .put_ending(if tells { ending } else { ending.untold() });
    }
}
