//! Who takes part: every process says what it is, and from that everyone knows every rank's place.
//!
//! What cannot become one world is refused here, before a backend is asked.

use super::berths::Standing;
use super::gpus;
use crate::backend::Equipment;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::World;
use crate::record::DeviceRecord;
use crate::record::LibraryRecord;
use crate::record::SeatRecord;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

/// Threads for each process and ranks for each thread (`-t`, `-g`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shape {
    /// Threads for each process.
    pub(super) threads: u32,
    /// Ranks for each thread.
    pub(super) gpus: u32,
}

/// What one process says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Card {
    /// This program's version.
    pub(super) version: String,
    /// Its host, up to the first dot.
    pub(super) host: String,
    /// What tells hosts apart.
    pub(super) host_identity: String,
    /// Its process id.
    pub(super) pid: u32,
    /// Its backend.
    pub(super) backend: String,
    /// Its threads and ranks.
    pub(super) shape: Shape,
    /// The devices it sees.
    pub(super) devices: Vec<DeviceRecord>,
    /// The libraries it loaded.
    pub(super) libraries: Vec<LibraryRecord>,
    /// The variable that picks the first device (`NCCL_TESTS_DEVICE`), where it is set.
    pub(super) first_device: Option<u32>,
    /// `CUDA_VISIBLE_DEVICES`, where it is set: what the driver chose `devices` by.
    pub(super) visible: Option<String>,
}

/// Every rank's place; on the first process only.
#[derive(Debug, Clone)]
pub(super) struct Fleet {
    /// Seats by rank.
    pub(super) seats: Vec<SeatRecord>,
    /// What every process said, by process.
    pub(super) cards: Vec<Card>,
    /// What a reader must know: shared GPUs, libraries that differ.
    pub(super) notes: Vec<String>,
}

impl Shape {
    /// Ranks for each process.
    pub(super) fn ranks(self) -> u32 {
        self.threads * self.gpus
    }
}

impl Card {
    /// This process's card.
    pub(super) fn new(
        identity: (String, String),
        backend: &str,
        shape: Shape,
        found: &Equipment,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: identity.0,
            host_identity: identity.1,
            pid: std::process::id(),
            backend: backend.to_owned(),
            shape,
            devices: found.devices.clone(),
            libraries: found.libraries.clone(),
            first_device: None,
            visible: None,
        }
    }
}

impl Fleet {
    /// Seats everybody.
    ///
    /// # Errors
    /// `Disagree` if processes differ in version, backend or shape; `Launch` if a host has fewer
    /// GPUs than ranks or two ranks would share one without `--allow-shared-gpu`, or if a host has
    /// no device at all.
    pub(super) fn seat(cards: Vec<Card>, allow_shared_gpu: bool) -> Result<Self, Fault> {
        agree(&cards)?;
        if !allow_shared_gpu {
            gpus::enough(&cards)?;
        }
        let mut seats = Vec::new();
        let mut local_processes: BTreeMap<&str, u32> = BTreeMap::new();
        for (process, card) in (0u32..).zip(&cards) {
            let local = local_processes.entry(&card.host_identity).or_default();
            for index in 0..card.shape.ranks() {
                let rank = process * card.shape.ranks() + index;
                let device = gpus::device(card, *local * card.shape.ranks() + index)?;
                seats.push(SeatRecord {
                    rank,
                    process,
                    pid: card.pid,
                    host: card.host.clone(),
                    device,
                });
            }
            *local += 1;
        }
        let mut notes = library_notes(&cards);
        notes.extend(gpus::shared(&seats, allow_shared_gpu)?);
        notes.extend(gpus::slices(&seats));
        Ok(Self {
            seats,
            cards,
            notes,
        })
    }

    /// Number of ranks.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "ranks are numbered by u32 throughout"
    )]
    pub(super) fn world(&self) -> World {
        World(self.seats.len() as u32)
    }

    /// Number of hosts.
    pub(super) fn hosts(&self) -> usize {
        let mut names: Vec<_> = self.cards.iter().map(|card| &card.host_identity).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }

    /// What each process needs to know of all others, by process.
    pub(super) fn standings(&self) -> Vec<Standing> {
        let mut users: BTreeMap<&str, u64> = BTreeMap::new();
        for uuid in self
            .seats
            .iter()
            .filter_map(|seat| seat.device.uuid.as_deref())
        {
            *users.entry(uuid).or_default() += 1;
        }
        let sharers = |seat: &SeatRecord| match &seat.device.uuid {
            Some(uuid) => users[uuid.as_str()],
            None => 1,
        };
        let mut hosts: BTreeMap<&str, u32> = BTreeMap::new();
        let mut standings = Vec::with_capacity(self.cards.len());
        let ranks = self.cards[0].shape.ranks() as usize;
        for (card, seats) in self.cards.iter().zip(self.seats.chunks(ranks)) {
            let local = hosts.entry(&card.host_identity).or_default();
            standings.push(Standing {
                local: *local,
                sharers: seats.iter().map(sharers).collect(),
            });
            *local += 1;
        }
        standings
    }
}

fn agree(cards: &[Card]) -> Result<(), Fault> {
    let first = &cards[0];
    for (process, card) in cards.iter().enumerate() {
        let pairs = [
            ("version", first.version.clone(), card.version.clone()),
            ("backend", first.backend.clone(), card.backend.clone()),
            (
                "`-t`",
                first.shape.threads.to_string(),
                card.shape.threads.to_string(),
            ),
            (
                "`-g`",
                first.shape.gpus.to_string(),
                card.shape.gpus.to_string(),
            ),
        ];
        for (what, theirs, mine) in pairs {
            if theirs != mine {
                return Err(Fault::new(
                    Kind::Disagree,
                    format!(
                        "processes disagree on the {what}: process 0 ({}) has {theirs}, process {process} ({}) has {mine}",
                        first.host, card.host
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Libraries whose versions differ from the first process's.
fn library_notes(cards: &[Card]) -> Vec<String> {
    let mut notes = Vec::new();
    for card in cards {
        for (mine, first) in card.libraries.iter().zip(&cards[0].libraries) {
            if mine.version != first.version {
                notes.push(format!(
                    "{} is {} on {} but {} on {}",
                    mine.name, mine.version, card.host, first.version, cards[0].host
                ));
            }
        }
    }
    notes.sort_unstable();
    notes.dedup();
    notes
}

#[cfg(test)]
mod tests {
    use super::super::gpus::testing::card;
    use super::*;

    #[test]
    fn ranks_take_the_visible_devices_in_order_on_each_host() {
        let two = ["a", "b"];
        let cards = vec![card("n1", &two), card("n1", &two), card("n2", &["c", "d"])];
        let fleet = Fleet::seat(cards, false).unwrap();
        let taken: Vec<_> = fleet
            .seats
            .iter()
            .map(|seat| seat.device.uuid.clone().unwrap())
            .collect();
        assert_eq!(taken, ["a", "b", "c"]);
        assert_eq!((fleet.world(), fleet.hosts()), (World(3), 2));
    }

    #[test]
    fn a_process_is_told_where_it_stands_on_its_host_and_who_shares_its_devices() {
        let cards = ["n1", "n2", "n1"].map(|host| card(host, &["a"]));
        let fleet = Fleet::seat(cards.into(), true).unwrap();
        let standing = |local, sharers| Standing {
            local,
            sharers: vec![sharers],
        };
        let expected = [standing(0, 3), standing(0, 3), standing(1, 3)];
        assert_eq!(fleet.standings(), expected);
    }

    #[test]
    fn a_cpu_plays_as_many_devices_as_there_are_ranks() {
        let mut one = card("n1", &[""]);
        one.shape = Shape {
            threads: 1,
            gpus: 3,
        };
        let fleet = Fleet::seat(vec![one], false).unwrap();
        assert_eq!(
            fleet
                .seats
                .iter()
                .map(|seat| seat.device.ordinal)
                .collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }

    #[test]
    fn processes_that_differ_are_refused() {
        let mut other = card("n2", &["b"]);
        other.shape.gpus = 2;
        let fault = Fleet::seat(vec![card("n1", &["a"]), other], false).unwrap_err();
        assert_eq!(fault.kind, Kind::Disagree);
        assert!(fault.message.contains("`-g`"), "{fault}");
    }
}
