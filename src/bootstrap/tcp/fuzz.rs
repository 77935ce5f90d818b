//! The way in for fuzzing: what bytes from outside go through, from the frame to the hub's decisions.
//!
//! No sockets and no secret: everything behind the proof is reached as if it had been given.

use super::auth::{self, NONCE, PROOF};
use super::choice;
use super::core::Core;
use super::frame::{self, Inbox};
use super::message::{Call, Circle, Hello, Message, Release, Sentence, Verb};
use super::roster::Roster;
use crate::base::{Fault, Kind};
use crate::bootstrap::pulse::Reading;
use crate::bootstrap::{PeerInfo, threads};
use std::time::Duration;

/// The run that the frames of [`samples`] belong to.
const JOB: &str = "fuzz";

/// Processes of the world that a hub is asked to decide for.
const MEMBERS: u32 = 3;

/// What a stranger, a member and the hub may send at once.
pub const LIMITS: [usize; 3] = [frame::STRANGER_LIMIT, frame::MEMBER_LIMIT, frame::HUB_LIMIT];

/// Reads `bytes` as they would come off a connection that may send `limit` bytes at once, and does
/// with each message what a hub and a member do; gives the number of messages.
pub fn swallow(bytes: &[u8], limit: usize) -> usize {
    let mut inbox = Inbox::new(auth::job_id(JOB), limit);
    let mut hub = running();
    let mut messages = 0;
    for piece in bytes.chunks(1 << 10) {
        inbox.push(piece);
        while let Ok(Some((kind, bytes))) = inbox.next() {
            let Ok(message) = Message::decode(kind, bytes) else {
                return messages;
            };
            messages += 1;
            let now = Duration::from_millis(messages as u64);
            tell(&mut hub, 1 + messages % 2, message, now);
            hub.tick(now);
            drop(hub.take());
        }
    }
    // longer than any limit of ours
    hub.tick(Duration::from_hours(10_000_000));
    drop(hub.take());
    messages
}

/// A call within a group.
fn of_group() -> Message {
    Message::Call(Call {
        circle: Circle {
            group: (1 << 24) + 1,
            index: 1,
            size: 2,
        },
        sequence: 1,
        verb: Verb::Collect,
        limit: Duration::from_mins(1),
        name: "a group's step".to_owned(),
        bytes: b"ours".to_vec(),
    })
}

/// A frame of every kind, more than one where it has forms: what mutations begin with.
pub fn samples() -> Vec<Vec<u8>> {
    let call = |verb, bytes: &[u8]| {
        Message::Call(Call {
            circle: Circle::WHOLE,
            sequence: 1,
            verb,
            limit: Duration::from_mins(1),
            name: "the plan's digest".to_owned(),
            bytes: bytes.to_vec(),
        })
    };
    let release = |parts| {
        Message::Release(Release {
            group: 0,
            sequence: 1,
            start: Some(Duration::from_secs(1)),
            parts,
        })
    };
    let fault = Fault::new(Kind::Call, "broken").detail("so").hint("do");
    let messages = [
        Message::Hello(hello(1)),
        Message::Challenge {
            nonce: [1; NONCE],
            proof: [2; PROOF],
        },
        Message::Proof([3; PROOF]),
        Message::Welcome(Roster::of(&[peer(0), peer(1), peer(2)])),
        call(Verb::Gather, b"\x03\0\0\0\0\0\0\0abc"),
        call(Verb::Barrier, b""),
        of_group(),
        call(Verb::Collect, b"mine"),
        call(Verb::Agree, b"{}"),
        release(vec![vec![], vec![0, 1, 2], vec![3; 40]]),
        release(vec![choice::write(Err(fault.clone())).unwrap_or_default()]),
        Message::Query,
        Message::Status(vec![Reading::default()]),
        Message::Failed(fault.clone()),
        Message::Ended(Sentence {
            exit_code: 4,
            fault,
        }),
        Message::Leave,
    ];
    let frame = |message: &Message| {
        let (kind, bytes) = message.encode();
        frame::encode(auth::job_id(JOB), kind, &bytes)
    };
    messages.iter().map(frame).collect()
}

fn peer(member: u32) -> PeerInfo {
    PeerInfo {
        host: "node1".to_owned(),
        identity: "node1/boot/1".to_owned(),
        pid: 1000 + member,
        version: "1".to_owned(),
        ranks: 8,
    }
}

fn hello(member: u32) -> Hello {
    Hello {
        member,
        members: MEMBERS,
        info: peer(member),
        nonce: [7; NONCE],
    }
}

/// A hub of which only the last member has not come.
fn joining() -> Core {
    let times = (Duration::from_mins(1), Duration::ZERO);
    let mut hub = Core::new("here:1".to_owned(), MEMBERS as usize, peer(0), times);
    drop(hub.admit(&hello(1)));
    hub
}

/// A hub of which all members have come.
fn running() -> Core {
    let mut hub = joining();
    drop(hub.admit(&hello(2)));
    hub
}

/// Does what either side does when it hears `message`.
fn tell(hub: &mut Core, member: usize, message: Message, now: Duration) {
    match message {
        Message::Hello(hello) => drop(joining().admit(&hello)),
        Message::Welcome(roster) => drop(roster.peers()),
        Message::Release(release) => {
            drop(choice::read(&release.parts));
            drop(threads::unpack_all(&release.parts, 1));
        }
        Message::Call(call) => hub.call(member, call, now),
        Message::Status(readings) => {
            hub.failed(2, Fault::new(Kind::Timeout, "late"), now);
            hub.answered(member, readings);
        }
        Message::Failed(fault) => hub.failed(member, fault, now),
        Message::Ended(sentence) => drop(sentence.ending()),
        Message::Leave => hub.left(member),
        Message::Challenge { .. } | Message::Proof(_) | Message::Query => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_understood_alone_and_all_of_them_in_a_row() {
        let samples = samples();
        for sample in &samples {
            assert_eq!(swallow(sample, LIMITS[0]), 1);
        }
        assert_eq!(swallow(&samples.concat(), LIMITS[0]), samples.len());
    }
}
