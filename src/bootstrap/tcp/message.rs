//! What is said over the wire, and its form in bytes.
//!
//! Says nothing about when a message is in place: that is [`super::core`]'s and [`super::member`]'s.

use super::auth::{NONCE, PROOF};
use super::frame::Refusal;
use super::roster::Roster;
use crate::base::Fault;
use crate::bootstrap::Ending;
use crate::bootstrap::PeerInfo;
use crate::bootstrap::pulse::Reading;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A message, either way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// Member to hub, first: who it is.
    Hello(Hello),
    /// Hub to member: shows that it knows the secret and asks for the same.
    Challenge {
        nonce: [u8; NONCE],
        proof: [u8; PROOF],
    },
    /// Member to hub: the answer.
    Proof([u8; PROOF]),
    /// Hub to member: all are here.
    Welcome(Roster),
    /// Member to hub: it has come to a step.
    Call(Call),
    /// Hub to member: all have.
    Release(Release),
    /// Hub to member: what are you doing? Answered by the service thread.
    Query,
    /// The answer, a reading for each thread.
    Status(Vec<Reading>),
    /// Member to hub: the run cannot go on.
    Failed(Fault),
    /// Hub to member: the run has ended.
    Ended(Sentence),
    /// Member to hub: goodbye.
    Leave,
}

/// Who a member is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) member: u32,
    pub(super) members: u32,
    pub(super) info: PeerInfo,
    pub(super) nonce: [u8; NONCE],
}

/// What a member asks all others to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Everybody's bytes to everybody.
    Gather,
    /// Nothing but meeting.
    Barrier,
    /// A barrier with a common start.
    StartLine,
    /// Everybody's bytes to the first member.
    Collect,
    /// The first member's bytes to everybody.
    Broadcast,
    /// The bytes of the lowest member that has any.
    Agree,
}

/// Among whom a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Circle {
    /// The group's name; 0 is the whole world.
    pub(super) group: u64,
    /// This member's place in the group; of no meaning in the whole world.
    pub(super) index: u32,
    /// How many the group has; of no meaning in the whole world.
    pub(super) size: u32,
}

impl Circle {
    /// The whole world.
    pub(super) const WHOLE: Self = Self {
        group: 0,
        index: 0,
        size: 0,
    };
}

/// A member's arrival at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) circle: Circle,
    pub(super) sequence: u64,
    pub(super) verb: Verb,
    pub(super) limit: Duration,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// All have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release {
    /// The group's name; 0 is the whole world.
    pub(super) group: u64,
    pub(super) sequence: u64,
    /// When to start, on the host's clock; only if all share it.
    pub(super) start: Option<Duration>,
    pub(super) parts: Vec<Vec<u8>>,
}

/// How the run ended; the report is the first member's alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sentence {
    pub(super) exit_code: u8,
    pub(super) fault: Fault,
}

impl Sentence {
    /// What it means to a member: the first prints it.
    pub(super) fn ending(self) -> Ending {
        Ending {
            exit_code: self.exit_code,
            ..Ending::by(self.fault).untold()
        }
    }
}

const VERBS: [Verb; 6] = [
    Verb::Gather,
    Verb::Barrier,
    Verb::StartLine,
    Verb::Collect,
    Verb::Broadcast,
    Verb::Agree,
];

impl Message {
    /// The number of its kind and its bytes.
    pub(super) fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Hello(hello) => (1, json(hello)),
            Self::Challenge { nonce, proof } => (2, [&nonce[..], &proof[..]].concat()),
            Self::Proof(proof) => (3, proof.to_vec()),
            Self::Welcome(roster) => (4, json(roster)),
            Self::Call(call) => (5, call.encode()),
            Self::Release(release) => (6, release.encode()),
            Self::Query => (7, Vec::new()),
            Self::Status(readings) => (8, json(readings)),
            Self::Failed(fault) => (9, json(fault)),
            Self::Ended(sentence) => (10, json(sentence)),
            Self::Leave => (11, Vec::new()),
        }
    }

    /// The message in a frame's bytes.
    pub(super) fn decode(kind: u8, bytes: &[u8]) -> Result<Self, Refusal> {
        let mut reader = Reader(bytes);
        let message = match kind {
            1 => Some(Self::Hello(from_json(bytes)?)),
            2 => reader.challenge(),
            3 => bytes.try_into().ok().map(Self::Proof),
            4 => Some(Self::Welcome(from_json(bytes)?)),
            5 => reader.call().map(Self::Call),
            6 => reader.release().map(Self::Release),
            7 => Some(Self::Query),
            8 => Some(Self::Status(from_json(bytes)?)),
            9 => Some(Self::Failed(from_json(bytes)?)),
            10 => Some(Self::Ended(from_json(bytes)?)),
            11 => Some(Self::Leave),
            _ => None,
        };
        message.ok_or(Refusal::Content)
    }
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    // plain structs of strings and numbers can always be written
    serde_json::to_vec(value).unwrap_or_default()
}

fn from_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|_| Refusal::Content)
}

impl Call {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(48 + self.name.len() + self.bytes.len());
        bytes.extend_from_slice(&self.circle.group.to_le_bytes());
        bytes.extend_from_slice(&self.circle.index.to_le_bytes());
        bytes.extend_from_slice(&self.circle.size.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.push(self.verb as u8);
        bytes.extend_from_slice(&nanos(self.limit).to_le_bytes());
        put(&mut bytes, self.name.as_bytes());
        put(&mut bytes, &self.bytes);
        bytes
    }
}

impl Release {
    /// The same without what members brought.
    pub(super) fn thin(&self) -> Self {
        Self {
            group: self.group,
            sequence: self.sequence,
            start: self.start,
            parts: Vec::new(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let len: usize = self.parts.iter().map(|part| part.len() + 4).sum();
        let mut bytes = Vec::with_capacity(32 + len);
        bytes.extend_from_slice(&self.group.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.start.map_or(0, nanos).to_le_bytes());
        for part in &self.parts {
            put(&mut bytes, part);
        }
        bytes
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn put(into: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    into.extend_from_slice(&len.to_le_bytes());
    into.extend_from_slice(bytes);
}

/// Takes fields off the front of a frame's bytes; never believes a length that is not there.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn block(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(u32::from_le_bytes(self.array()?)).ok()?;
        let (block, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(block)
    }

    fn challenge(&mut self) -> Option<Message> {
        let (nonce, proof) = (self.array()?, self.array()?);
        Some(Message::Challenge { nonce, proof })
    }

    fn circle(&mut self) -> Option<Circle> {
        Some(Circle {
            group: self.number()?,
            index: u32::from_le_bytes(self.array()?),
            size: u32::from_le_bytes(self.array()?),
        })
    }

    fn call(&mut self) -> Option<Call> {
        Some(Call {
            circle: self.circle()?,
            sequence: self.number()?,
            verb: *VERBS.get(usize::from(self.array::<1>()?[0]))?,
            limit: Duration::from_nanos(self.number()?),
            name: String::from_utf8(self.block()?.to_vec()).ok()?,
            bytes: self.block()?.to_vec(),
        })
    }

    fn release(&mut self) -> Option<Release> {
        let group = self.number()?;
        let sequence = self.number()?;
        let start = self.number()?;
        let mut parts = Vec::new();
        while !self.0.is_empty() {
            parts.push(self.block()?.to_vec());
        }
        Some(Release {
            group,
            sequence,
            start: (start > 0).then(|| Duration::from_nanos(start)),
            parts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::testing;
    use proptest::prelude::*;

    #[test]
    fn messages_read_back_as_they_were_written() {
        let messages = [
            Message::Hello(Hello {
                member: 1,
                members: 3,
                info: testing::peer(1),
                nonce: [7; NONCE],
            }),
            Message::Challenge {
                nonce: [1; NONCE],
                proof: [2; PROOF],
            },
            Message::Proof([3; PROOF]),
            Message::Call(Call {
                circle: Circle {
                    group: 3,
                    index: 1,
                    size: 2,
                },
                sequence: 9,
                verb: Verb::Agree,
                limit: Duration::from_mins(1),
                name: "the plan's digest".to_owned(),
                bytes: vec![0, 1, 2],
            }),
            Message::Release(Release {
                group: 3,
                sequence: 9,
                start: Some(Duration::from_nanos(5)),
                parts: vec![vec![], vec![4, 5]],
            }),
            Message::Failed(Fault::usage("broken")),
            Message::Leave,
        ];
        for message in messages {
            let (kind, bytes) = message.encode();
            assert_eq!(Message::decode(kind, &bytes), Ok(message));
        }
    }

    #[test]
    fn a_hello_with_long_names_is_small_enough_for_a_stranger() {
        let mut info = testing::peer(u32::MAX - 1000);
        info.host = "h".repeat(255);
        info.identity = "i".repeat(1024);
        let hello = Message::Hello(Hello {
            member: u32::MAX,
            members: u32::MAX,
            info,
            nonce: [255; NONCE],
        });
        assert!(hello.encode().1.len() < super::super::frame::STRANGER_LIMIT);
    }

    proptest! {
        #[test]
        fn any_bytes_of_any_kind_are_read_without_a_panic(kind in 0u8..16, bytes: Vec<u8>) {
            drop(Message::decode(kind, &bytes));
        }
    }
}
