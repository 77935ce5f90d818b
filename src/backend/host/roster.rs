//! Who takes part and where each rank sits: hosts in the order of their first ranks.
//!
//! Made once from what every rank says of itself; nothing here talks to anybody later.

use crate::backend::ThreadSeat;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// What a rank says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Card {
    rank: u32,
    host: String,
    identity: String,
    process: u64,
}

/// A rank's place.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Host name for messages.
    host: String,
    /// Tells processes apart; ranks of one process share it.
    pub(super) process: u64,
    /// Index of its host in [`Roster::hosts`].
    pub(super) host_index: usize,
    /// Its index among the ranks of its host.
    pub(super) local: usize,
}

/// All places, seen from one rank.
#[derive(Debug, Clone)]
pub(super) struct Roster {
    /// Whose view it is.
    pub(super) me: Rank,
    /// Every rank's place, by rank.
    pub(super) members: Vec<Member>,
    /// The ranks of each host, ascending.
    pub(super) hosts: Vec<Vec<Rank>>,
}

impl Roster {
    /// Exchanges cards with all ranks.
    ///
    /// # Errors
    /// Those of the control plane; `Disagree` if the cards do not make one world.
    pub(super) fn exchange(seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<Self, Fault> {
        let &[me] = seat.ranks.as_slice() else {
            let what = format!(
                "backend `host` drives one rank for each thread, not {}",
                seat.ranks.len()
            );
            return Err(Fault::unsupported(what));
        };
        let mine = Card {
            rank: me.0,
            host: seat.host.clone(),
            identity: seat.host_identity.clone(),
            process: this_process(),
        };
        let step = Step {
            name: "the ranks' places",
            limit: seat.limit,
        };
        let cards = boot.all_gather(step, &bootstrap::encode(&mine)?)?;
        let cards: Result<Vec<Card>, Fault> =
            cards.iter().map(|card| bootstrap::decode(card)).collect();
        Self::of(me, cards?)
    }

    fn of(me: Rank, mut cards: Vec<Card>) -> Result<Self, Fault> {
        cards.sort_by_key(|card| card.rank);
        let complete = cards.iter().zip(0..).all(|(card, rank)| card.rank == rank);
        if !complete || me.0 as usize >= cards.len() {
            let ranks: Vec<_> = cards.iter().map(|card| card.rank).collect();
            let what = format!("the ranks that came do not make one world: {ranks:?}");
            return Err(Fault::new(Kind::Disagree, what));
        }
        let mut hosts: Vec<Vec<Rank>> = Vec::new();
        let mut known = HashMap::new();
        let mut members = Vec::with_capacity(cards.len());
        for card in cards {
            let host_index = *known.entry(card.identity).or_insert_with(|| {
                hosts.push(Vec::new());
                hosts.len() - 1
            });
            let local = hosts[host_index].len();
            hosts[host_index].push(Rank(card.rank));
            members.push(Member {
                host: card.host,
                process: card.process,
                host_index,
                local,
            });
        }
        Ok(Self { me, members, hosts })
    }

    /// My own place.
    pub(super) fn mine(&self) -> &Member {
        self.at(self.me)
    }

    /// A rank's place.
    pub(super) fn at(&self, rank: Rank) -> &Member {
        &self.members[rank.0 as usize]
    }

    /// The ranks of my host; my own is entry `mine().local`.
    pub(super) fn neighbours(&self) -> &[Rank] {
        &self.hosts[self.mine().host_index]
    }

    /// Whether a rank is on my host.
    pub(super) fn is_near(&self, rank: Rank) -> bool {
        self.at(rank).host_index == self.mine().host_index
    }

    /// A rank as messages name it: `rank 2 (node2)`.
    pub(super) fn who(&self, rank: Rank) -> String {
        match self.members.get(rank.0 as usize) {
            Some(member) => format!("rank {rank} ({})", member.host),
            None => format!("rank {rank}"),
        }
    }
}

/// A number that no other process has, but for bad luck of 1 in 2⁶⁴. Process ids would not do:
/// containers on one host repeat them.
fn this_process() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(random)
}

/// A random number, from what the standard library seeds its hash tables with.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(rank: u32, identity: &str) -> Card {
        Card {
            rank,
            host: format!("host-{identity}"),
            identity: identity.to_owned(),
            process: 0,
        }
    }

    #[test]
    fn ranks_unevenly_spread_and_interleaved_get_their_places() {
        let cards = vec![
            card(3, "b"),
            card(0, "a"),
            card(1, "b"),
            card(2, "a"),
            card(4, "c"),
        ];
        let roster = Roster::of(Rank(3), cards).unwrap();
        assert_eq!(
            roster.hosts,
            [
                vec![Rank(0), Rank(2)],
                vec![Rank(1), Rank(3)],
                vec![Rank(4)]
            ]
        );
        assert_eq!(
            (roster.mine().local, roster.neighbours()),
            (1, [Rank(1), Rank(3)].as_slice())
        );
        assert!(roster.is_near(Rank(1)) && !roster.is_near(Rank(2)));
        assert_eq!(roster.who(Rank(4)), "rank 4 (host-c)");
    }

    #[test]
    fn two_of_one_rank_are_refused() {
        let fault = Roster::of(Rank(0), vec![card(0, "a"), card(0, "a")]).unwrap_err();
        assert_eq!(fault.kind, Kind::Disagree);
    }
}
