//! One step that all members come to: who has come, with what, and what everybody gets.
//!
//! Pure; deadlines are compared by [`super::core`].

use super::message::{Call, Release, Verb};
use std::time::Duration;

/// How far ahead a common start lies for two members, and for each further one: the time in which
/// the releases go out and the members wake.
const HEAD_START: (Duration, Duration) = (Duration::from_micros(60), Duration::from_micros(10));
const LONGEST_HEAD_START: Duration = Duration::from_millis(2);

/// A step under way.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) name: String,
    pub(super) verb: Verb,
    pub(super) limit: Duration,
    pub(super) deadline: Duration,
    /// Who came first.
    pub(super) first: usize,
    parts: Vec<Option<Vec<u8>>>,
    arrived: usize,
    held: usize,
}

impl Round {
    /// The step that `call` of the first member to come opens.
    pub(super) fn open(members: usize, first: usize, call: &Call, now: Duration) -> Self {
        Self {
            name: call.name.clone(),
            verb: call.verb,
            limit: call.limit,
            deadline: now.saturating_add(call.limit),
            first,
            parts: vec![None; members],
            arrived: 0,
            held: 0,
        }
    }

    /// Notes a member's arrival; the first thing it brings counts.
    pub(super) fn arrive(&mut self, member: usize, bytes: Vec<u8>) {
        let part = &mut self.parts[member];
        if part.is_none() {
            self.held = self.held.saturating_add(bytes.len());
            *part = Some(bytes);
            self.arrived += 1;
        }
    }

    /// Bytes that all who came have brought.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Whether all have come.
    pub(super) fn is_complete(&self) -> bool {
        self.arrived == self.parts.len()
    }

    /// Whether this one has.
    pub(super) fn has(&self, member: usize) -> bool {
        self.parts[member].is_some()
    }

    /// What everybody gets. `now` is given if all share its clock.
    pub(super) fn release(self, sequence: u64, now: Option<Duration>) -> Release {
        let members = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        let (base, each) = HEAD_START;
        let ahead = (base + each * members).min(LONGEST_HEAD_START);
        let mut given = self.parts.into_iter().flatten();
        Release {
            group: 0,
            sequence,
            start: now
                .filter(|_| self.verb == Verb::StartLine)
                .map(|now| now + ahead),
            parts: match self.verb {
                Verb::Gather | Verb::Collect => given.collect(),
                Verb::Barrier | Verb::StartLine => Vec::new(),
                Verb::Broadcast => given.next().into_iter().collect(),
                Verb::Agree => given.find(|part| !part.is_empty()).into_iter().collect(),
            },
        }
    }
}
