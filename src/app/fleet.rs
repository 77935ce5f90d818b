//! Who takes part: every process says what it is, and from that everyone knows every rank's place.
//!
//! What cannot become one world is refused here, before a backend is asked.

use crate::backend::Equipment;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::World;
use crate::base::fault::Place;
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
}

/// Every rank's place, the same on every process.
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
        }
    }
}

impl Fleet {
    /// Seats everybody.
    ///
    /// # Errors
    /// `Disagree` if processes differ in version, backend or shape; `Launch` if two ranks would
    /// share a GPU without `--allow-shared-gpu`, or a host has no device at all.
    pub(super) fn seat(cards: Vec<Card>, allow_shared_gpu: bool) -> Result<Self, Fault> {
        agree(&cards)?;
        let mut seats = Vec::new();
        let mut local_processes: BTreeMap<&str, u32> = BTreeMap::new();
        for (process, card) in (0u32..).zip(&cards) {
            let local = local_processes.entry(&card.host_identity).or_default();
            for index in 0..card.shape.ranks() {
                let rank = process * card.shape.ranks() + index;
                let device = card.device(*local * card.shape.ranks() + index)?;
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
        notes.extend(shared_gpus(&seats, allow_shared_gpu)?);
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

    /// How many ranks sit on the device of `rank`.
    pub(super) fn sharers(&self, rank: Rank) -> u64 {
        let mine = &self.seats[rank.0 as usize].device;
        match &mine.uuid {
            Some(uuid) => self
                .seats
                .iter()
                .filter(|seat| seat.device.uuid.as_ref() == Some(uuid))
                .count() as u64,
            None => 1,
        }
    }
}

impl Card {
    /// The device of the process's host's `local`-th rank.
    ///
    /// A launcher that bound one device shows one, which is then the rank's whatever its index;
    /// where several are visible, ranks take them in order. A CPU plays as many as are asked for.
    fn device(&self, local: u32) -> Result<DeviceRecord, Fault> {
        let first = self.devices.first().ok_or_else(|| {
            Fault::new(
                Kind::Launch,
                format!("no device is visible on {}", self.host),
            )
        })?;
        if first.uuid.is_none() {
            return Ok(DeviceRecord {
                ordinal: local,
                ..first.clone()
            });
        }
        let first = self.first_device.unwrap_or(0) as usize;
        if first >= self.devices.len() {
            return Err(no_such_device(&self.host, first, self.devices.len()));
        }
        let index = (first + local as usize) % self.devices.len();
        Ok(self.devices[index].clone())
    }
}

fn no_such_device(host: &str, first: usize, visible: usize) -> Fault {
    Fault::usage(format!(
        "`NCCL_TESTS_DEVICE` is {first} on {host}, where {visible} devices are visible; expected 0 to {}",
        visible - 1
    ))
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

/// A note where GPUs are shared and that is allowed.
fn shared_gpus(seats: &[SeatRecord], allowed: bool) -> Result<Option<String>, Fault> {
    let mut users: BTreeMap<&str, Vec<&SeatRecord>> = BTreeMap::new();
    for seat in seats {
        if let Some(uuid) = &seat.device.uuid {
            users.entry(uuid).or_default().push(seat);
        }
    }
    let Some(shared) = users.values().find(|seats| seats.len() > 1) else {
        return Ok(None);
    };
    if allowed {
        let most = users.values().map(Vec::len).max().unwrap_or(1);
        return Ok(Some(format!(
            "up to {most} ranks share a GPU: times say nothing about separate GPUs"
        )));
    }
    let (a, b) = (shared[0], shared[1]);
    Err(Fault::new(
        Kind::Launch,
        format!(
            "ranks {} and {} would share one GPU ({})",
            a.rank, b.rank, a.device.name
        ),
    )
    .at(Place {
        rank: b.rank,
        host: b.host.clone(),
        gpu: Some(b.device.ordinal),
    })
    .detail(format!(
        "both see {} as a visible device",
        a.device.uuid.as_deref().unwrap_or("it")
    ))
    .hint("start no more ranks on a host than it has GPUs")
    .hint("to share a GPU on purpose, give `--allow-shared-gpu`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(host: &str, uuids: &[&str]) -> Card {
        let device = |(ordinal, uuid): (usize, &&str)| DeviceRecord {
            ordinal: u32::try_from(ordinal).unwrap(),
            name: "GPU".to_owned(),
            bus_id: "0000:00:00".to_owned(),
            uuid: (!uuid.is_empty()).then(|| (*uuid).to_owned()),
            memory_bytes: None,
        };
        Card {
            version: "1".to_owned(),
            host: host.to_owned(),
            host_identity: host.to_owned(),
            pid: 1,
            backend: "nccl".to_owned(),
            shape: Shape {
                threads: 1,
                gpus: 1,
            },
            devices: uuids.iter().enumerate().map(device).collect(),
            libraries: Vec::new(),
            first_device: None,
        }
    }

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
    fn a_device_that_the_launcher_bound_is_taken_whatever_the_local_rank() {
        let fleet = Fleet::seat(vec![card("n1", &["a"]), card("n1", &["b"])], false).unwrap();
        assert_eq!(fleet.seats[1].device.uuid.as_deref(), Some("b"));
        assert_eq!(fleet.seats[1].device.ordinal, 0);
    }

    #[test]
    fn two_ranks_on_one_gpu_are_refused_by_name_unless_that_is_asked_for() {
        let cards = || vec![card("n1", &["a"]), card("n1", &["a"])];
        let fault = Fleet::seat(cards(), false).unwrap_err();
        assert!(fault.message.contains("ranks 0 and 1"), "{fault}");
        let fleet = Fleet::seat(cards(), true).unwrap();
        assert_eq!(fleet.sharers(Rank(1)), 2);
        assert_eq!(fleet.notes.len(), 1);
    }

    #[test]
    fn a_first_device_that_is_not_there_is_refused_and_not_counted_round() {
        let mut one = card("n1", &["a", "b"]);
        for (first, taken) in [(1, Some("b")), (2, None), (u32::MAX, None)] {
            one.first_device = Some(first);
            let fleet = Fleet::seat(vec![one.clone()], false);
            let uuid = fleet.as_ref().ok().map(|fleet| &fleet.seats[0].device.uuid);
            assert_eq!(uuid, taken.map(|uuid| Some(uuid.to_owned())).as_ref());
            if let Err(fault) = fleet {
                assert_eq!(fault.kind, Kind::Usage);
                assert!(fault.message.contains("expected 0 to 1"), "{fault}");
            }
        }
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
