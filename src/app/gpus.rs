//! Which GPU is whose: by what each process can see, compared over all by unique id.
//!
//! What is visible is the driver's business (`CUDA_VISIBLE_DEVICES` by index, UUID or MIG id, a
//! container's devices); only what it shows is looked at here, before NCCL is asked.

use super::fleet::Card;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::fault::Place;
use crate::record::DeviceRecord;
use crate::record::SeatRecord;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// The device of the `local`-th rank of a process's host.
///
/// A launcher that bound one device shows one, which is then the rank's whatever its index; where
/// several are visible, ranks take them in order. A CPU plays as many as are asked for.
///
/// # Errors
/// `Launch` where the process sees none, `Usage` where `NCCL_TESTS_DEVICE` is beyond the last.
pub(super) fn device(card: &Card, local: u32) -> Result<DeviceRecord, Fault> {
    let first = card.devices.first().ok_or_else(|| {
        let text = format!("no device is visible on {}", card.host);
        Fault::new(Kind::Launch, text)
    })?;
    if first.uuid.is_none() {
        return Ok(DeviceRecord {
            ordinal: local,
            ..first.clone()
        });
    }
    let start = card.first_device.unwrap_or(0) as usize;
    if start >= card.devices.len() {
        return Err(no_such_device(card, start));
    }
    let index = (start + local as usize) % card.devices.len();
    Ok(card.devices[index].clone())
}

fn no_such_device(card: &Card, first: usize) -> Fault {
    Fault::usage(format!(
        "`NCCL_TESTS_DEVICE` is {first} on {}, where {} devices are visible; expected 0 to {}",
        card.host,
        card.devices.len(),
        card.devices.len() - 1
    ))
}

/// What the processes of one host see together, and how many ranks they hold.
#[derive(Debug)]
struct HostView<'a> {
    first: &'a Card,
    /// The first rank there.
    rank: u32,
    ranks: u32,
    uuids: BTreeSet<&'a str>,
}

impl<'a> HostView<'a> {
    /// Each host that has GPUs or should, in the order of its first rank.
    fn all(cards: &'a [Card]) -> Vec<Self> {
        let mut hosts: Vec<Self> = Vec::new();
        for (process, card) in (0u32..).zip(cards) {
            let known = |host: &Self| host.first.host_identity == card.host_identity;
            let index = hosts.iter().position(known).unwrap_or(hosts.len());
            if index == hosts.len() {
                hosts.push(Self {
                    first: card,
                    rank: process * card.shape.ranks(),
                    ranks: 0,
                    uuids: BTreeSet::new(),
                });
            }
            let host = &mut hosts[index];
            host.ranks += card.shape.ranks();
            let uuids = card.devices.iter().filter_map(|one| one.uuid.as_deref());
            host.uuids.extend(uuids);
        }
        hosts.retain(|host| host.first.devices.iter().all(|one| one.uuid.is_some()));
        hosts
    }

    /// `node2 has 4 visible GPUs for 8 ranks`.
    fn lack(&self) -> Option<String> {
        let gpus = self.uuids.len();
        (gpus < self.ranks as usize).then(|| {
            let (gpu_s, rank_s) = (plural(gpus), plural(self.ranks as usize));
            let (host, ranks) = (&self.first.host, self.ranks);
            format!("{host} has {gpus} visible GPU{gpu_s} for {ranks} rank{rank_s}")
        })
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Refuses a launch with more ranks on a host than its processes can see GPUs together.
///
/// # Errors
/// `Launch`, naming every such host.
pub(super) fn enough(cards: &[Card]) -> Result<(), Fault> {
    let hosts = HostView::all(cards);
    let mut short = hosts
        .iter()
        .filter_map(|host| Some((host, host.lack()?)))
        .peekable();
    let Some((host, lack)) = short.next() else {
        return Ok(());
    };
    let place = Place {
        rank: host.rank,
        host: host.first.host.clone(),
        gpu: None,
    };
    let mut fault = Fault::new(Kind::Launch, lack).at(place);
    if let Some(list) = &host.first.visible {
        fault = fault.detail(format!("`CUDA_VISIBLE_DEVICES` is `{list}` there"));
    }
    fault = short.fold(fault, |fault, (_, lack)| fault.detail(lack));
    let ranks = host.ranks;
    Err(fault
        .hint(format!("ask for the GPUs: `--gpus-per-node={ranks}` or `--gpus-per-task=1` under Slurm"))
        .hint("or start as many ranks on a host as it has GPUs; to share them on purpose, give `--allow-shared-gpu`"))
}

/// A note where GPUs are shared and that is allowed.
///
/// # Errors
/// `Launch` where they are and it is not, naming two ranks.
pub(super) fn shared(seats: &[SeatRecord], allowed: bool) -> Result<Option<String>, Fault> {
    let mut users: BTreeMap<&str, Vec<&SeatRecord>> = BTreeMap::new();
    for seat in seats {
        if let Some(uuid) = &seat.device.uuid {
            users.entry(uuid).or_default().push(seat);
        }
    }
    let mut shared: Vec<_> = users.values().filter(|seats| seats.len() > 1).collect();
    shared.sort_by_key(|seats| seats[0].rank);
    let Some(first) = shared.first() else {
        return Ok(None);
    };
    if allowed {
        let most = shared.iter().map(|seats| seats.len()).max().unwrap_or(1);
        return Ok(Some(format!(
            "up to {most} ranks share a GPU: times say nothing about separate GPUs"
        )));
    }
    Err(duplicate(first[0], first[1]))
}

fn duplicate(a: &SeatRecord, b: &SeatRecord) -> Fault {
    let at = |seat: &SeatRecord| format!("{} ({}, {})", seat.rank, seat.host, seat.device.bus_id);
    let uuid = b.device.uuid.as_deref().unwrap_or_default();
    let text = format!(
        "ranks {} and {} would share one GPU: {} {uuid}",
        at(a),
        at(b),
        b.device.name
    );
    Fault::new(Kind::Launch, text)
        .at(Place {
            rank: b.rank,
            host: b.host.clone(),
            gpu: Some(b.device.ordinal),
        })
        .hint("give all processes of a host the same `CUDA_VISIBLE_DEVICES`, or each its own GPU: `--gpus-per-task=1` under Slurm")
        .hint("to share a GPU on purpose, give `--allow-shared-gpu`")
}

/// A note where two ranks sit on slices of one GPU, which are different devices at one address.
pub(super) fn slices(seats: &[SeatRecord]) -> Option<String> {
    let mut by_address: BTreeMap<(&str, &str), &SeatRecord> = BTreeMap::new();
    let mut slices = seats.iter().filter(|seat| {
        let uuid = seat.device.uuid.as_deref();
        uuid.is_some_and(|uuid| uuid.starts_with("MIG-"))
    });
    slices.find_map(|seat| {
        let key = (seat.host.as_str(), seat.device.bus_id.as_str());
        let other = by_address.insert(key, seat)?;
        (other.device.uuid != seat.device.uuid).then(|| {
            format!(
                "ranks {} and {} are on MIG slices of one GPU ({}, {}): NCCL may refuse them",
                other.rank, seat.rank, seat.host, seat.device.bus_id
            )
        })
    })
}

#[cfg(test)]
pub(super) mod testing {
    //! Cards for tests.

    use super::super::fleet::Shape;
    use super::Card;
    use super::DeviceRecord;

    /// A process on `host` that sees GPUs of these ids; an empty id is a CPU.
    pub(in crate::app) fn card(host: &str, uuids: &[&str]) -> Card {
        let device = |(ordinal, uuid): (usize, &&str)| DeviceRecord {
            ordinal: u32::try_from(ordinal).unwrap(),
            name: "GPU".to_owned(),
            bus_id: format!("0000:0{uuid}:00"),
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
            visible: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fleet::Fleet;
    use super::testing::card;
    use super::*;

    #[test]
    fn a_device_that_the_launcher_bound_is_taken_whatever_the_local_rank() {
        let cards = ["a", "b", "c"].map(|gpu| card("n1", &[gpu])).into();
        let fleet = Fleet::seat(cards, false).unwrap();
        let taken: Vec<_> = fleet.seats.iter().map(|seat| &seat.device).collect();
        assert_eq!(taken[2].uuid.as_deref(), Some("c"));
        assert!(taken.iter().all(|device| device.ordinal == 0));
    }

    #[test]
    fn a_first_device_that_is_not_there_is_refused_and_not_counted_round() {
        let mut one = card("n1", &["a", "b"]);
        for (first, taken) in [(1, Some("b")), (2, None), (u32::MAX, None)] {
            one.first_device = Some(first);
            let given = device(&one, 0);
            let uuid = given.as_ref().ok().map(|device| device.uuid.as_deref());
            assert_eq!(uuid, taken.map(Some));
            if let Err(fault) = given {
                assert_eq!(fault.kind, Kind::Usage);
                assert!(fault.message.contains("expected 0 to 1"), "{fault}");
            }
        }
    }

    #[test]
    fn a_host_with_fewer_gpus_than_ranks_is_named_with_both_numbers() {
        let mut cards = vec![card("n1", &["a", "b", "c"]); 3];
        cards.extend(vec![card("n2", &["d", "e"]); 5]);
        cards.push(card("n3", &["f"]));
        cards[3].visible = Some("0,1".to_owned());
        let fault = Fleet::seat(cards, false).unwrap_err();
        assert_eq!(fault.kind, Kind::Launch);
        assert_eq!(fault.message, "n2 has 2 visible GPUs for 5 ranks");
        assert_eq!(fault.details, ["`CUDA_VISIBLE_DEVICES` is `0,1` there"]);
        assert_eq!(fault.place.unwrap().rank, 3);
    }

    #[test]
    fn every_host_that_lacks_gpus_is_in_the_one_message() {
        let mut cards = vec![card("n1", &["a"]); 3];
        cards.extend(vec![card("n2", &[]); 2]);
        let fault = Fleet::seat(cards, false).unwrap_err();
        assert_eq!(fault.message, "n1 has 1 visible GPU for 3 ranks");
        assert_eq!(fault.details, ["n2 has 0 visible GPUs for 2 ranks"]);
    }

    #[test]
    fn gpus_that_single_processes_see_count_together() {
        let mut cards = ["a", "b", "c"].map(|gpu| card("n1", &[gpu])).to_vec();
        cards[1].devices.clear();
        let fault = enough(&cards).unwrap_err();
        assert_eq!(fault.message, "n1 has 2 visible GPUs for 3 ranks");
    }

    #[test]
    fn two_ranks_that_see_the_same_gpu_are_refused_with_hosts_and_addresses() {
        let cards = vec![card("n1", &["a", "b"]), card("n1", &["b", "a"])];
        let fault = Fleet::seat(cards, false).unwrap_err();
        let text = "ranks 0 (n1, 0000:0a:00) and 1 (n1, 0000:0a:00) would share one GPU: GPU a";
        assert_eq!(fault.message, text);
    }

    #[test]
    fn one_gpu_in_two_containers_is_one_gpu() {
        let cards = vec![card("n1", &["a"]), card("n2", &["a"])];
        let fault = Fleet::seat(cards, false).unwrap_err();
        assert!(
            fault
                .message
                .starts_with("ranks 0 (n1, 0000:0a:00) and 1 (n2, "),
            "{fault}"
        );
    }

    #[test]
    fn sharing_that_was_asked_for_is_allowed_and_noted() {
        let fleet = Fleet::seat(vec![card("n1", &["a"]); 3], true).unwrap();
        assert_eq!(fleet.standings()[1].sharers, [3]);
        assert_eq!(fleet.notes.len(), 1);
        assert!(fleet.notes[0].starts_with("up to 3 ranks share"));
    }

    #[test]
    fn slices_of_one_gpu_are_separate_devices_with_a_note() {
        let mut cards = vec![card("n1", &["MIG-1"]), card("n1", &["MIG-2"])];
        for card in &mut cards {
            card.devices[0].bus_id = "0000:53:00".to_owned();
        }
        let fleet = Fleet::seat(cards, false).unwrap();
        assert!(fleet.notes[0].contains("MIG slices of one GPU (n1, 0000:53:00)"));
    }
}
