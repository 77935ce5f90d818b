//! Many members in one thread: what benches and tests of large worlds join a hub with.
//!
//! They speak the real protocol from hello to goodbye, but read no further into long messages than
//! their length: thousands of processes would each do that with a processor and memory of their own.

use super::auth::{self, Secret, Side};
use super::frame::{self, HEADER, HUB_LIMIT, Refusal, STRANGER_LIMIT};
use super::link::{Outgoing, Packet, packet};
use super::member::hello;
use super::message::{Call, Circle, Hello, Message, Verb};
use crate::base::{Clock, Fault, Kind};
use crate::bootstrap::pulse::Reading;
use crate::bootstrap::{PeerInfo, Step};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// Which members a swarm plays, and what they know.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Who they are, by member; the first is member 1.
    pub peers: Vec<PeerInfo>,
    /// Members of the world, the first one included.
    pub members: u32,
    /// The run's name.
    pub job: String,
    /// The run's secret.
    pub secret: Secret,
    /// How long a join or a step may take.
    pub limit: Duration,
    /// A clock that runs.
    pub clock: Arc<dyn Clock>,
}

/// Members 1 and up of a world whose first is elsewhere.
#[derive(Debug)]
pub struct Swarm {
    poll: Poll,
    members: Vec<Member>,
    job: u64,
    secret: Secret,
    limit: Duration,
    clock: Arc<dyn Clock>,
    steps: u64,
    buffer: Vec<u8>,
    received: u64,
}

#[derive(Debug)]
struct Member {
    stream: Arc<TcpStream>,
    outgoing: Outgoing,
    skim: Skim,
    hello: Hello,
    greeted: bool,
    joined: bool,
    /// Steps that it was released from.
    released: u64,
}

impl Swarm {
    /// Connects all members at once and returns when each has been welcomed.
    ///
    /// # Errors
    /// `Call` with the system's words, `Peer` if the hub hangs up, `Timeout`.
    pub fn join(recipe: Recipe, hub: SocketAddr) -> Result<Self, Fault> {
        let mut swarm = Self {
            poll: Poll::new().map_err(|error| failed("poll", &error))?,
            members: Vec::with_capacity(recipe.peers.len()),
            job: auth::job_id(&recipe.job),
            secret: recipe.secret,
            limit: recipe.limit,
            clock: recipe.clock,
            steps: 0,
            buffer: vec![0; BUFFER],
            received: 0,
        };
        super::listen::raise_descriptor_limit();
        for (member, me) in (1..).zip(recipe.peers) {
            let hello = hello(member, recipe.members, me)?;
            swarm
                .add(hub, hello)
                .map_err(|error| failed("connect", &error))?;
        }
        swarm.until("all are welcomed", |member| member.joined)?;
        Ok(swarm)
    }

    fn add(&mut self, hub: SocketAddr, hello: Hello) -> io::Result<()> {
        let mut stream = TcpStream::connect(hub)?;
        let (token, interest) = (
            Token(self.members.len()),
            Interest::READABLE | Interest::WRITABLE,
        );
        self.poll
            .registry()
            .register(&mut stream, token, interest)?;
        super::listen::tune(&stream)?;
        let stream = Arc::new(stream);
        self.members.push(Member {
            outgoing: Outgoing::new(Arc::clone(&stream)),
            stream,
            skim: Skim::default(),
            hello,
            greeted: false,
            joined: false,
            released: 0,
        });
        Ok(())
    }

    /// All members come to a barrier; returns when each has been released.
    ///
    /// # Errors
    /// As [`Swarm::join`].
    pub fn barrier(&mut self, step: Step<'_>) -> Result<(), Fault> {
        self.step(Verb::Barrier, step, Vec::new())
    }

    /// All members give `bytes`; returns when each has been sent everybody's.
    ///
    /// # Errors
    /// As [`Swarm::join`].
    pub fn all_gather(&mut self, step: Step<'_>, bytes: Vec<u8>) -> Result<(), Fault> {
        self.step(Verb::Gather, step, bytes)
    }

    /// All members give `bytes`, which the first gets alone.
    ///
    /// # Errors
    /// As [`Swarm::join`].
    pub fn collect(&mut self, step: Step<'_>, bytes: Vec<u8>) -> Result<(), Fault> {
        self.step(Verb::Collect, step, bytes)
    }

    /// All members are sent what the first gives.
    ///
    /// # Errors
    /// As [`Swarm::join`].
    pub fn broadcast(&mut self, step: Step<'_>) -> Result<(), Fault> {
        self.step(Verb::Broadcast, step, Vec::new())
    }

    /// Bytes that all members have been sent so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    fn step(&mut self, verb: Verb, step: Step<'_>, bytes: Vec<u8>) -> Result<(), Fault> {
        self.steps += 1;
        let sequence = self.steps;
        self.say(&Message::Call(Call {
            circle: Circle::WHOLE,
            sequence,
            verb,
            limit: step.limit,
            name: step.name.to_owned(),
            bytes,
        }));
        self.until(step.name, |member| member.released >= sequence)
    }

    /// All members say goodbye and close.
    pub fn leave(self) {
        self.say(&Message::Leave);
        for member in &self.members {
            member.outgoing.finish();
        }
    }

    fn say(&self, message: &Message) {
        let packet = packet(self.job, message);
        for member in &self.members {
            member.outgoing.send(Arc::clone(&packet));
        }
    }

    /// Serves all connections until `done` holds for each member.
    fn until(&mut self, what: &str, done: impl Fn(&Member) -> bool) -> Result<(), Fault> {
        let since = self.clock.now();
        let mut events = Events::with_capacity(1024);
        let mut left = self.members.iter().filter(|member| !done(member)).count();
        while left > 0 {
            let waited = self.clock.now().saturating_sub(since);
            if waited >= self.limit {
                let text = format!("{left} members still wait: {what}");
                return Err(Fault::new(Kind::Timeout, text));
            }
            self.poll
                .poll(&mut events, Some(self.limit.saturating_sub(waited)))
                .map_err(|error| failed("poll", &error))?;
            for event in &events {
                let index = event.token().0;
                let before = done(&self.members[index]);
                self.serve(index, event.is_read_closed())?;
                left -= usize::from(!before && done(&self.members[index]));
            }
        }
        Ok(())
    }

    fn serve(&mut self, index: usize, is_ending: bool) -> Result<(), Fault> {
        let member = &mut self.members[index];
        if !member.greeted {
            if member.stream.peer_addr().is_err() {
                return match member.stream.take_error() {
                    Ok(Some(error)) => Err(failed("connect", &error)),
                    _ => Ok(()),
                };
            }
            member.greeted = true;
            let greeting = Message::Hello(member.hello.clone());
            member.outgoing.send(packet(self.job, &greeting));
        }
        member.outgoing.flush();
        loop {
            match (&*member.stream).read(&mut self.buffer) {
                Ok(0) => return Err(Fault::new(Kind::Peer, "the hub closed a connection")),
                Ok(len) => {
                    self.received += len as u64;
                    member.take(&self.buffer[..len], self.job, &self.secret)?;
                    if len < self.buffer.len() && !is_ending {
                        // a shorter read than was asked for has emptied the socket
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("read", &error)),
            }
        }
    }
}

impl Member {
    fn take(&mut self, mut bytes: &[u8], job: u64, secret: &Secret) -> Result<(), Fault> {
        while let Some((kind, kept)) = self.skim.next(&mut bytes, job).map_err(refused)? {
            match kind {
                // Welcome, Release
                4 => self.joined = true,
                6 => self.released += 1,
                _ => {
                    let message = Message::decode(kind, &kept).map_err(refused)?;
                    if let Some(answer) = self.answer(message, job, secret)? {
                        self.outgoing.send(answer);
                    }
                }
            }
        }
        Ok(())
    }

    fn answer(&self, message: Message, job: u64, secret: &Secret) -> Result<Option<Packet>, Fault> {
        match message {
            Message::Challenge { nonce, proof } => {
                let said = Message::Hello(self.hello.clone()).encode().1;
                let nonces = (&self.hello.nonce, &nonce);
                if !secret.verify(Side::Hub, nonces, &said, &proof) {
                    return Err(Fault::new(Kind::Launch, "the hub has another secret"));
                }
                let proof = secret.prove(Side::Member, nonces.0, nonces.1, &said);
                Ok(Some(packet(job, &Message::Proof(proof))))
            }
            Message::Query => Ok(Some(packet(
                job,
                &Message::Status(vec![Reading::default()]),
            ))),
            Message::Ended(sentence) => Err(sentence.fault),
            _ => Err(refused(Refusal::Content)),
        }
    }
}

/// Frames as they come, of which only short ones are kept.
#[derive(Debug, Default)]
struct Skim {
    head: Vec<u8>,
    /// Kind of the frame under way, and how many of its bytes are still to come.
    frame: Option<(u8, usize)>,
    is_long: bool,
    kept: Vec<u8>,
}

impl Skim {
    /// Takes bytes off `bytes` up to the end of a frame; `None` if they end before it does.
    fn next(&mut self, bytes: &mut &[u8], job: u64) -> Result<Option<(u8, Vec<u8>)>, Refusal> {
        if self.frame.is_none() {
            self.head
                .extend_from_slice(cut(bytes, HEADER - self.head.len()));
            self.frame = frame::header(&self.head, job, HUB_LIMIT)?;
            self.is_long = self.frame.is_some_and(|(_, len)| len > STRANGER_LIMIT);
        }
        let Some((kind, left)) = &mut self.frame else {
            return Ok(None);
        };
        let piece = cut(bytes, *left);
        *left -= piece.len();
        if !self.is_long {
            self.kept.extend_from_slice(piece);
        }
        if *left > 0 {
            return Ok(None);
        }
        let kind = *kind;
        self.head.clear();
        self.frame = None;
        Ok(Some((kind, std::mem::take(&mut self.kept))))
    }
}

/// Takes at most `most` bytes off the front.
fn cut<'a>(bytes: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (piece, rest) = bytes.split_at(most.min(bytes.len()));
    *bytes = rest;
    piece
}

fn failed(call: &str, error: &io::Error) -> Fault {
    Fault::new(
        Kind::Call,
        format!("a simulated member's {call} failed: {error}"),
    )
}

fn refused(refusal: Refusal) -> Fault {
    Fault::new(
        Kind::Disagree,
        format!("a simulated member cannot read the hub: {refusal}"),
    )
}
