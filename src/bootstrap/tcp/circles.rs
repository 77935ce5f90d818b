//! The hub's side of groups: which step each has come to.
//!
//! Pure; the whole world's own steps are [`super::core`]'s.

use super::message::{Call, Release};
use super::round::Round;
use std::collections::BTreeMap;
use std::time::Duration;

/// All groups that have come to a step.
#[derive(Debug, Default)]
pub(super) struct Circles(BTreeMap<u64, Group>);

#[derive(Debug)]
struct Group {
    /// Which member has which place, as far as they have come.
    who: Vec<Option<usize>>,
    sequence: u64,
    round: Option<Round>,
}

/// What a step gives, and to whom, in the order of their places.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) release: Release,
    pub(super) members: Vec<usize>,
    /// Only the first gets what was brought.
    pub(super) is_for_first: bool,
}

/// What a call came to.
#[derive(Debug)]
pub(super) enum Came {
    /// Others are awaited.
    Waits,
    /// All have come.
    Done(Done),
    /// It cannot be; why.
    Odd(String),
}

impl Circles {
    /// A member has come to a step of a group. There are `members` in all, and no group is larger;
    /// there are no more groups than could be of use.
    pub(super) fn call(
        &mut self,
        (member, members): (usize, usize),
        call: Call,
        (now, shared): (Duration, Option<Duration>),
    ) -> Came {
        let circle = call.circle;
        let (index, size) = (circle.index as usize, circle.size as usize);
        let is_new = !self.0.contains_key(&circle.group);
        if index >= size || size > members || (is_new && self.0.len() >= members.saturating_mul(64))
        {
            return Came::Odd(format!(
                "place {index} of {size} in a group of {members} members"
            ));
        }
        let group = self.0.entry(circle.group).or_insert_with(|| Group {
            who: vec![None; size],
            sequence: 0,
            round: None,
        });
        if group.who.len() != size || group.who[index].is_some_and(|one| one != member) {
            return Came::Odd(format!("place {index} of {size} is another's"));
        }
        group.who[index] = Some(member);
        group.arrive(index, call, (now, shared))
    }

    /// When the first step of any group must be complete.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.rounds().map(|round| round.deadline).min()
    }

    /// Whether a group waits for somebody at a step; the step's name.
    pub(super) fn pending(&self) -> Option<&str> {
        self.rounds().next().map(|round| round.name.as_str())
    }

    fn rounds(&self) -> impl Iterator<Item = &Round> {
        self.0.values().filter_map(|group| group.round.as_ref())
    }

    /// A step that is overdue, with which of all `members` need not be looked for.
    pub(super) fn overdue(&mut self, now: Duration, members: usize) -> Option<(Round, Vec<bool>)> {
        let is_late = |group: &&mut Group| {
            let round = group.round.as_ref();
            round.is_some_and(|round| now >= round.deadline)
        };
        let group = self.0.values_mut().find(is_late)?;
        let round = group.round.take()?;
        let mut arrived = vec![true; members];
        for (index, member) in group.who.iter().enumerate() {
            if let Some(member) = member {
                arrived[*member] = round.has(index);
            }
        }
        Some((round, arrived))
    }
}

impl Group {
    fn arrive(
        &mut self,
        index: usize,
        call: Call,
        (now, shared): (Duration, Option<Duration>),
    ) -> Came {
        let size = self.who.len();
        let round = self
            .round
            .get_or_insert_with(|| Round::open(size, index, &call, now));
        let same = round.name == call.name && round.verb == call.verb;
        if !same || call.sequence != self.sequence + 1 {
            return Came::Odd(format!(
                "`{}` while others are at `{}`",
                call.name, round.name
            ));
        }
        round.arrive(index, call.bytes);
        if round.held() > super::core::MOST_HELD {
            return Came::Odd(format!(
                "`{}` is given too much by all together",
                round.name
            ));
        }
        let Some(round) = self.round.take_if(|round| round.is_complete()) else {
            return Came::Waits;
        };
        self.sequence += 1;
        let is_for_first = round.verb == super::message::Verb::Collect;
        let release = Release {
            group: call.circle.group,
            ..round.release(self.sequence, shared)
        };
        Came::Done(Done {
            release,
            members: self.who.iter().copied().flatten().collect(),
            is_for_first,
        })
    }
}
