//! The first process's service thread: all connections in one loop.
//!
//! Moves bytes and keeps deadlines; what to do is [`Core`]'s decision.

use super::auth::{PROOF, Secret, Side};
use super::core::{Core, Out, sentence};
use super::desk::Desk;
use super::frame::MEMBER_LIMIT;
use super::line::{self, Line, Who};
use super::link::{self, Reading, packet};
use super::mailbox::{self, Letter, Mailbox};
use super::message::{Hello, Message, Release};
use super::parts::{Parts, Stop};
use crate::base::{Clock, Fault, Kind};
use crate::bootstrap::witness::ANSWER_LIMIT;
use crate::bootstrap::{Ending, Pulse};
use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long a stranger has to show that it is ours.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// How many strangers are listened to at once, beyond the members still awaited.
const MOST_STRANGERS: usize = 256;

/// How many connections are accepted at one turn of the loop.
const MOST_ACCEPTED: usize = 1024;

/// How often a loop that waits for members looks whether more can be accepted.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

const WAKE: Token = Token(0);
const FIRST_LISTENER: usize = 1;
const FIRST_LINE: usize = 64;

/// The hub's loop and its connections.
#[derive(Debug)]
pub(super) struct Hub {
    poll: Poll,
    listeners: Vec<TcpListener>,
    lines: Vec<Option<Line>>,
    /// Each member's connection; the first has none.
    by_member: Vec<Option<usize>>,
    core: Core,
    mailbox: Arc<Mailbox>,
    desk: Arc<Desk>,
    pulse: Arc<Pulse>,
    clock: Arc<dyn Clock>,
    job: u64,
    secret: Secret,
}

impl Hub {
    /// A hub that is ready to [`Hub::run`].
    pub(super) fn new(parts: Parts) -> io::Result<(Self, Arc<Mailbox>)> {
        let poll = Poll::new()?;
        let mailbox = Arc::new(Mailbox::new(poll.registry(), WAKE)?);
        let mut listeners = parts.listeners;
        for (index, listener) in listeners.iter_mut().enumerate() {
            let token = Token(FIRST_LISTENER + index);
            poll.registry()
                .register(listener, token, Interest::READABLE)?;
        }
        let hub = Self {
            poll,
            listeners,
            lines: Vec::new(),
            by_member: vec![None; parts.members],
            core: parts.core,
            mailbox: Arc::clone(&mailbox),
            desk: parts.desk,
            pulse: parts.pulse,
            clock: parts.clock,
            job: parts.job,
            secret: parts.secret,
        };
        Ok((hub, mailbox))
    }

    /// Serves until the run is over, or until the process's plane is dropped.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        loop {
            if let Some(why) = self.act() {
                return self.stop(why);
            }
            match self.turn(&mut events) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => self.core.end_by(Fault::new(
                    Kind::Call,
                    format!("the control plane cannot wait for its connections: {error}"),
                )),
            }
        }
    }

    /// Waits for something to happen and hands it to the core; false if it is to stop at once.
    fn turn(&mut self, events: &mut Events) -> io::Result<bool> {
        let timeout = self.timeout();
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        self.accept();
        for event in &*events {
            self.happened(event);
        }
        for letter in self.mailbox.take() {
            match letter {
                Letter::Say(message) => self.said(0, message),
                Letter::Witnessed(said) => self.core.witnessed(said),
                Letter::Drop => return Ok(false),
            }
        }
        if self.core.is_joining() {
            line::drop_strangers(&mut self.lines, self.clock.now());
        }
        self.core.tick(self.clock.now());
        Ok(true)
    }

    fn timeout(&self) -> Option<Duration> {
        let now = self.clock.now();
        let due = self.core.deadline();
        let due = due.map(|due| due.saturating_sub(now) + Duration::from_millis(1));
        if self.core.is_joining() {
            Some(due.map_or(ACCEPT_AGAIN, |due| due.min(ACCEPT_AGAIN)))
        } else {
            due
        }
    }

    /// Does what the core wants; how to stop, if it wants that.
    fn act(&mut self) -> Option<Stop> {
        loop {
            let outs = self.core.take();
            if outs.is_empty() {
                return None;
            }
            for out in outs {
                match out {
                    Out::All(message) => self.tell_all(message),
                    Out::First(release) => {
                        self.tell_others(&Message::Release(release.thin()));
                        self.desk.put_release(release);
                    }
                    Out::Group(members, release, is_for_first) => {
                        self.tell_group(&members, &release, is_for_first);
                    }
                    Out::End(ending) => return Some(Stop::Ended(Box::new(ending))),
                    Out::Done => return Some(Stop::Left),
                }
            }
        }
    }

    fn tell_others(&self, message: &Message) {
        let packet = packet(self.job, message);
        let lines = self.by_member.iter().flatten();
        for line in lines.filter_map(|&line| self.lines[line].as_ref()) {
            line.outgoing.send(Arc::clone(&packet));
        }
    }

    /// Gives the members of a group a release; where it is for the first, the others get it thin.
    fn tell_group(&self, members: &[usize], release: &Release, is_for_first: bool) {
        let others = if is_for_first {
            release.thin()
        } else {
            release.clone()
        };
        let packets = [release.clone(), others.clone()].map(Message::Release);
        let packets = packets.map(|message| packet(self.job, &message));
        for (index, &member) in members.iter().enumerate() {
            let is_first = index == 0;
            if member == 0 {
                self.desk.put_release(if is_first {
                    release.clone()
                } else {
                    others.clone()
                });
            } else if let Some(line) =
                self.by_member[member].and_then(|line| self.lines[line].as_ref())
            {
                line.outgoing
                    .send(Arc::clone(&packets[usize::from(!is_first)]));
            }
        }
    }

    fn tell_all(&mut self, message: Message) {
        self.tell_others(&message);
        match message {
            Message::Welcome(roster) => {
                // no more are awaited: what still knocks is refused by the system
                self.listeners.clear();
                line::drop_strangers(&mut self.lines, Duration::MAX);
                self.desk.put_peers(roster.peers().unwrap_or_default());
            }
            Message::Release(release) => self.desk.put_release(release),
            Message::Query => {
                self.core.answered(0, self.pulse.read_each());
                if mailbox::ask(&self.mailbox, self.desk.stand.take()) {
                    self.core.await_witness(self.clock.now() + ANSWER_LIMIT);
                }
            }
            _ => {}
        }
    }

    fn accept(&mut self) {
        for index in 0..self.listeners.len() {
            // not more at once, so that a flood of strangers keeps no member waiting
            for _ in 0..MOST_ACCEPTED {
                let Ok((stream, _)) = self.listeners[index].accept() else {
                    break;
                };
                self.make_room();
                let until = self.clock.now() + HANDSHAKE_LIMIT;
                // a connection that cannot be registered is one that was closed
                drop(self.add(stream, until));
            }
        }
    }

    fn add(&mut self, stream: TcpStream, until: Duration) -> io::Result<()> {
        // places are looked for only when there are as many as there can be connections
        let is_full = self.lines.len() >= MOST_STRANGERS + self.by_member.len();
        let mut free = self.lines.iter();
        let free = is_full.then(|| free.position(Option::is_none)).flatten();
        let index = free.unwrap_or(self.lines.len());
        let watched = (self.poll.registry(), Token(FIRST_LINE + index));
        let line = Line::open(stream, watched, self.job, until)?;
        match free {
            Some(index) => self.lines[index] = Some(line),
            None => self.lines.push(Some(line)),
        }
        Ok(())
    }

    /// Drops the stranger that has been here longest if there are too many.
    fn make_room(&mut self) {
        let most = MOST_STRANGERS + self.by_member.len();
        if self.lines.len() >= most {
            line::drop_oldest_stranger(&mut self.lines, most);
        }
    }

    fn happened(&mut self, event: &Event) {
        let Some(index) = event.token().0.checked_sub(FIRST_LINE) else {
            return;
        };
        if let Some(Some(line)) = self.lines.get(index)
            && event.is_writable()
        {
            line.outgoing.flush();
        }
        self.read(index, link::is_ending(event));
    }

    /// Reads a connection dry and hands on what it said.
    fn read(&mut self, index: usize, is_ending: bool) {
        while let Some(Some(line)) = self.lines.get_mut(index) {
            let reading = line.incoming.read(is_ending);
            while let Some(Some(line)) = self.lines.get_mut(index) {
                match line.incoming.next() {
                    Ok(Some(message)) => self.heard(index, message),
                    Ok(None) => break,
                    Err(_) => self.hang_up(index),
                }
            }
            match reading {
                Reading::More => {}
                Reading::Dry => return,
                Reading::Closed => return self.hang_up(index),
            }
        }
    }

    /// A connection is over: that of a member is its death, unless it has said goodbye.
    fn hang_up(&mut self, index: usize) {
        if let Some(line) = self.lines[index].take()
            && let Who::Member(member) = line.who
        {
            self.by_member[member] = None;
            let phase = self.pulse.read().phase;
            self.core.closed(member, &phase, self.clock.now());
        }
    }

    fn heard(&mut self, index: usize, message: Message) {
        let Some(line) = self.lines[index].as_mut() else {
            return;
        };
        match (&line.who, message) {
            (Who::Member(member), message) => {
                let member = *member;
                self.said(member, message);
            }
            (Who::Stranger { until }, Message::Hello(hello)) => {
                let until = *until;
                self.challenge(index, hello, until);
            }
            (Who::Challenged { .. }, Message::Proof(proof)) => self.judge(index, &proof),
            _ => self.lines[index] = None,
        }
    }

    /// A member says something.
    fn said(&mut self, member: usize, message: Message) {
        let now = self.clock.now();
        match message {
            Message::Call(call) => self.core.call(member, call, now),
            Message::Status(reading) => self.core.answered(member, reading),
            Message::Failed(fault) => self.core.failed(member, fault, now),
            Message::Leave => {
                self.core.left(member);
                if let Some(line) =
                    self.by_member[member].and_then(|line| self.lines[line].as_ref())
                {
                    line.outgoing.finish();
                }
            }
            _ => {
                if let Some(index) = self.by_member[member] {
                    self.hang_up(index);
                }
            }
        }
    }

    fn challenge(&mut self, index: usize, hello: Hello, until: Duration) {
        if let Some(line) = self.lines[index].as_mut()
            && line
                .challenge(hello, until, &self.secret, self.job)
                .is_err()
        {
            self.lines[index] = None;
        }
    }

    /// Lets a stranger in that has proved to be ours; another is dropped without a word.
    fn judge(&mut self, index: usize, proof: &[u8; PROOF]) {
        let Some(line) = self.lines[index].as_mut() else {
            return;
        };
        let Who::Challenged {
            hello, said, nonce, ..
        } = &line.who
        else {
            return;
        };
        let nonces = (&hello.nonce, nonce);
        if !self.secret.verify(Side::Member, nonces, said, proof) {
            self.lines[index] = None;
            return;
        }
        let Ok(member) = usize::try_from(hello.member) else {
            return;
        };
        match self.core.admit(hello) {
            Ok(_) => {
                line.incoming.set_limit(MEMBER_LIMIT);
                line.who = Who::Member(member);
                self.by_member[member] = Some(index);
            }
            Err(fault) => line
                .outgoing
                .send(packet(self.job, &sentence(&Ending::by(fault)))),
        }
    }

    /// Tells all others how the run ended, gives them time to read it, then tells the first process.
    fn stop(mut self, why: Stop) {
        self.listeners.clear();
        if let Stop::Ended(ending) = &why {
            let packet = packet(self.job, &sentence(ending));
            for line in self.lines.iter().flatten() {
                // those who are about to join must not look for this run any longer either
                if !matches!(line.who, Who::Stranger { .. }) {
                    line.outgoing.send(Arc::clone(&packet));
                }
            }
        }
        line::see_off(self.lines, &mut self.poll, self.clock.as_ref());
        if let Stop::Ended(ending) = why {
            self.desk.put_ending(*ending);
        }
        self.desk.put_closed();
    }
}
