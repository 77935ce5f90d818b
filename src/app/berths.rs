//! What a process needs to know of everybody: how many ranks there are, and its own ranks' devices.
//!
//! Every process says what it is to the first, which seats them and answers all at once; what the
//! others look like stays with the first, or thousands of processes would each be sent thousands
//! of descriptions.

use super::fleet::Card;
use super::fleet::Fleet;
use super::gpus;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::World;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::record::DeviceRecord;
use serde::Deserialize;
use serde::Serialize;
use std::cell::RefCell;

/// The places of this process's ranks.
#[derive(Debug, Clone)]
pub(super) struct Berths {
    world: World,
    first: Rank,
    own: Vec<Berth>,
    local: u32,
}

/// One rank's place.
#[derive(Debug, Clone)]
struct Berth {
    device: DeviceRecord,
    sharers: u64,
}

/// Where a process stands among those of its host, and how many ranks share each rank's device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Standing {
    /// Processes of its host before it.
    pub(super) local: u32,
    /// Ranks on the device of each of its ranks, in order.
    pub(super) sharers: Vec<u64>,
}

/// Seats everybody; the fleet is there on the first process only.
///
/// # Errors
/// As [`Fleet::seat`], on every process, or those of the control plane.
pub(super) fn muster(
    plane: &dyn Bootstrap,
    step: Step<'_>,
    card: &Card,
    allow_shared_gpu: bool,
) -> Result<(Berths, Option<Fleet>), Fault> {
    let seated = RefCell::new(None);
    let seat = |said: &[Vec<u8>]| {
        let cards: Result<Vec<Card>, Fault> =
            said.iter().map(|card| bootstrap::decode(card)).collect();
        let fleet = Fleet::seat(cards?, allow_shared_gpu)?;
        let standings = bootstrap::encode(&fleet.standings());
        seated.replace(Some(fleet));
        standings
    };
    let said = plane.decide(step, &bootstrap::encode(card)?, &seat)?;
    let standings: Vec<Standing> = bootstrap::decode(&said)?;
    let berths = Berths::of(plane.member(), card, &standings)?;
    let is_first = plane.member() == 0;
    Ok((berths, seated.take().filter(|_| is_first)))
}

impl Berths {
    /// Those of `process`, which handed in `card`.
    fn of(process: usize, card: &Card, standings: &[Standing]) -> Result<Self, Fault> {
        let broken = || Fault::new(Kind::Disagree, "rank 0 sent a broken list of seats");
        let ranks = card.shape.ranks();
        let mine = standings.get(process).ok_or_else(broken)?;
        if mine.sharers.len() != ranks as usize {
            return Err(broken());
        }
        let berth = |(index, &sharers): (u32, &u64)| {
            let device =
                gpus::device(card, mine.local.saturating_mul(ranks).saturating_add(index))?;
            Ok(Berth { device, sharers })
        };
        let own: Result<Vec<Berth>, Fault> = (0..ranks).zip(&mine.sharers).map(berth).collect();
        let number = |count: usize| {
            let count = u32::try_from(count).ok();
            count
                .and_then(|count| count.checked_mul(ranks))
                .ok_or_else(broken)
        };
        Ok(Self {
            world: World(number(standings.len())?),
            first: Rank(number(process)?),
            own: own?,
            local: mine.local,
        })
    }

    /// Number of ranks.
    pub(super) fn world(&self) -> World {
        self.world
    }

    /// The first of this process's ranks.
    pub(super) fn first(&self) -> Rank {
        self.first
    }

    /// How many ranks this process has.
    pub(super) fn ranks(&self) -> u32 {
        u32::try_from(self.own.len()).unwrap_or(u32::MAX)
    }

    /// How many processes of this host come before this one.
    pub(super) fn local(&self) -> u32 {
        self.local
    }

    fn berth(&self, rank: Rank) -> &Berth {
        &self.own[(rank.0 - self.first.0) as usize]
    }

    /// The device of one of this process's ranks.
    ///
    /// # Panics
    /// If the rank is another process's.
    pub(super) fn device(&self, rank: Rank) -> &DeviceRecord {
        &self.berth(rank).device
    }

    /// How many ranks sit on that device.
    ///
    /// # Panics
    /// If the rank is another process's.
    pub(super) fn sharers(&self, rank: Rank) -> u64 {
        self.berth(rank).sharers
    }
}

#[cfg(test)]
mod tests {
    use super::super::gpus::testing::card;
    use super::*;

    fn standing(local: u32) -> Standing {
        Standing {
            local,
            sharers: vec![1],
        }
    }

    #[test]
    fn a_process_finds_its_device_from_its_own_card_and_where_it_stands() {
        let mine = card("n1", &["a", "b", "c"]);
        let standings = [standing(0), standing(0), standing(1)];
        let berths = Berths::of(2, &mine, &standings).unwrap();
        assert_eq!(berths.world(), World(3));
        assert_eq!(berths.device(Rank(2)).uuid.as_deref(), Some("b"));
        assert_eq!(berths.sharers(Rank(2)), 1);
    }

    #[test]
    fn a_list_that_does_not_fit_is_refused() {
        let mine = card("n1", &["a"]);
        let fault = Berths::of(1, &mine, &[standing(0)]).unwrap_err();
        assert_eq!(fault.kind, Kind::Disagree);
        let two = Standing {
            local: 0,
            sharers: vec![1, 1],
        };
        let fault = Berths::of(0, &mine, &[two]).unwrap_err();
        assert_eq!(fault.kind, Kind::Disagree);
    }
}
