//! Two readings of a host's counters to what its devices carried.

use super::health::{RETRANSMITTED, TIMED_OUT};
use crate::record::path::{DeviceTraffic, HostTraffic, NicKind};
use crate::record::{NicCounters, NicReading};
use std::collections::BTreeMap;

/// What happened between two readings of a host. `interfaces` are those that NCCL's sockets use, where
/// the log names them; without them all but the loopback count.
pub fn between<'a>(
    host: &str,
    before: &NicReading,
    after: &NicReading,
    interfaces: impl IntoIterator<Item = &'a String>,
) -> HostTraffic {
    let mut unread = before.unread.clone();
    unread.extend(after.unread.iter().cloned());
    let (used, ignored) = on_the_path(&after.devices);
    let mut traffic = HostTraffic {
        host: host.to_owned(),
        instance: after.instance.clone().or_else(|| before.instance.clone()),
        ignored,
        ethernet_tx_bytes: ethernet(before, after, interfaces),
        ..HostTraffic::default()
    };
    for now in used {
        match before.devices.iter().find(|then| then.name == now.name) {
            Some(then) => traffic.devices.push(device(then, now, &mut unread)),
            None => unread.push(format!("{} was not there before", now.name)),
        }
    }
    let gone = before
        .devices
        .iter()
        .filter(|then| !after.devices.iter().any(|now| now.name == then.name));
    unread.extend(gone.map(|then| format!("{} is gone", then.name)));
    unread.sort();
    unread.dedup();
    traffic.unread = unread;
    traffic
}

/// What a device is.
///
/// # Source
/// AWS EFA is PCI vendor 0x1d0f; Linux, `drivers/infiniband/hw/efa/efa_verbs.c`, for the names of
/// counters that only it has.
pub(super) fn kind(device: &NicCounters) -> NicKind {
    let has = |name: &str| device.counters.contains_key(name);
    match (device.driver.as_deref(), device.vendor.as_deref()) {
        (Some("efa"), _) | (None, Some("0x1d0f")) => NicKind::Efa,
        (Some(_), _) | (None, Some(_)) => NicKind::Infiniband,
        (None, None) if has("port_xmit_data") => NicKind::Infiniband,
        (None, None) if has("send_wrs") || has("rdma_read_wrs") => NicKind::Efa,
        (None, None) => NicKind::Unknown,
    }
}

/// The devices of the path, and the names of others: beside EFA devices the bridges of some
/// instances do not count, and nowhere does a port that is down.
fn on_the_path(devices: &[NicCounters]) -> (Vec<&NicCounters>, Vec<String>) {
    let any_efa = devices.iter().any(|one| kind(one) == NicKind::Efa);
    let is_down = |one: &NicCounters| one.state.as_deref().is_some_and(|state| state != "ACTIVE");
    let (used, others): (Vec<_>, Vec<_>) = devices.iter().partition(|one| match kind(one) {
        NicKind::Efa => true,
        _ => !any_efa && !is_down(one),
    });
    let others = others.into_iter().map(|one| one.name.clone()).collect();
    (used, others)
}

fn device(then: &NicCounters, now: &NicCounters, unread: &mut Vec<String>) -> DeviceTraffic {
    let mut moved = BTreeMap::new();
    let mut known = BTreeMap::new();
    for (name, &value) in &now.counters {
        let Some(&was) = then.counters.get(name) else {
            continue;
        };
        match value.checked_sub(was) {
            Some(delta) => {
                known.insert(name.as_str(), delta);
                if delta > 0 && name != "lifespan" || is_watched(name) {
                    moved.insert(name.clone(), delta);
                }
            }
            None => unread.push(format!("{}: {name} went back", now.name)),
        }
    }
    let kind = kind(now);
    let (tx_bytes, rx_bytes) = bytes(kind, &known);
    if tx_bytes.is_none() {
        unread.push(format!("{}: no counter of bytes sent", now.name));
    }
    DeviceTraffic {
        name: now.name.clone(),
        kind,
        bus_id: now.bus_id.clone(),
        numa: now.numa,
        tx_bytes,
        rx_bytes,
        moved,
    }
}

/// Whether a counter is kept although it stood still: that it is there says that 0 is a fact.
fn is_watched(name: &str) -> bool {
    RETRANSMITTED.contains(&name) || TIMED_OUT.contains(&name)
}

/// Bytes sent and received. InfiniBand counts words of four bytes.
///
/// # Source
/// Linux, `Documentation/ABI/stable/sysfs-class-infiniband`, `port_xmit_data`.
fn bytes(kind: NicKind, known: &BTreeMap<&str, u64>) -> (Option<u64>, Option<u64>) {
    let of = |name: &str| known.get(name).copied();
    let words = |name: &str| of(name).map(|words| words.saturating_mul(4));
    match kind {
        NicKind::Infiniband => (words("port_xmit_data"), words("port_rcv_data")),
        NicKind::Efa | NicKind::Unknown => (of("tx_bytes"), of("rx_bytes")),
    }
}

fn ethernet<'a>(
    before: &NicReading,
    after: &NicReading,
    interfaces: impl IntoIterator<Item = &'a String>,
) -> Option<u64> {
    let (before, after) = (before.ethernet.as_ref()?, after.ethernet.as_ref()?);
    let named: Vec<&String> = interfaces.into_iter().collect();
    let counts = |name: &String| {
        if named.is_empty() {
            name != "lo"
        } else {
            named.contains(&name)
        }
    };
    let sent = after.iter().filter(|(name, _)| counts(name));
    let delta = |(name, now): (&String, &u64)| {
        now.saturating_sub(before.get(name).copied().unwrap_or(*now))
    };
    Some(sent.map(delta).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nic(name: &str, driver: Option<&str>, counters: &[(&str, u64)]) -> NicCounters {
        NicCounters {
            name: name.to_owned(),
            driver: driver.map(str::to_owned),
            counters: counters
                .iter()
                .map(|&(name, value)| (name.to_owned(), value))
                .collect(),
            ..NicCounters::default()
        }
    }

    fn reading(devices: Vec<NicCounters>) -> NicReading {
        NicReading {
            devices,
            ..NicReading::default()
        }
    }

    #[test]
    fn bridges_beside_efa_are_ignored_and_a_missing_counter_is_unknown_and_not_zero() {
        let bridge = nic("mlx5_0", Some("mlx5_core"), &[("port_xmit_data", 5)]);
        let then = reading(vec![
            nic("rdmap1", Some("efa"), &[("tx_bytes", 10)]),
            bridge.clone(),
        ]);
        let now = reading(vec![
            nic("rdmap1", Some("efa"), &[("tx_bytes", 17)]),
            bridge,
        ]);
        let traffic = between("a", &then, &now, []);
        assert_eq!(traffic.ignored, ["mlx5_0"]);
        assert_eq!(traffic.devices.len(), 1);
        assert_eq!(
            (traffic.devices[0].tx_bytes, traffic.devices[0].rx_bytes),
            (Some(7), None)
        );
    }

    #[test]
    fn infiniband_counts_words_and_a_port_that_is_down_is_left_out() {
        let mut down = nic("mlx5_1", Some("mlx5_core"), &[]);
        down.state = Some("DOWN".to_owned());
        let at = |words| {
            reading(vec![
                nic("mlx5_0", Some("mlx5_core"), &[("port_xmit_data", words)]),
                down.clone(),
            ])
        };
        let traffic = between("a", &at(100), &at(350), []);
        assert_eq!(traffic.devices[0].tx_bytes, Some(1000));
        assert_eq!(traffic.ignored, ["mlx5_1"]);
    }

    #[test]
    fn a_counter_that_goes_back_and_a_device_that_comes_late_are_said() {
        let then = reading(vec![nic("rdmap1", Some("efa"), &[("tx_bytes", 10)])]);
        let now = reading(vec![
            nic("rdmap1", Some("efa"), &[("tx_bytes", 3)]),
            nic("rdmap2", Some("efa"), &[]),
        ]);
        let traffic = between("a", &then, &now, []);
        assert_eq!(traffic.devices[0].tx_bytes, None);
        assert_eq!(
            traffic.unread,
            [
                "rdmap1: no counter of bytes sent",
                "rdmap1: tx_bytes went back",
                "rdmap2 was not there before"
            ]
        );
    }

    #[test]
    fn a_device_without_a_driver_is_known_by_its_vendor_or_its_counters() {
        let mut amazon = nic("x", None, &[]);
        amazon.vendor = Some("0x1d0f".to_owned());
        assert_eq!(kind(&amazon), NicKind::Efa);
        assert_eq!(kind(&nic("x", None, &[("send_wrs", 1)])), NicKind::Efa);
        assert_eq!(
            kind(&nic("x", None, &[("port_xmit_data", 1)])),
            NicKind::Infiniband
        );
        assert_eq!(kind(&nic("x", None, &[])), NicKind::Unknown);
    }

    #[test]
    fn the_loopback_counts_only_where_nccls_sockets_use_it() {
        let at = |lo: u64, eth: u64| NicReading {
            ethernet: Some([("lo".to_owned(), lo), ("eth0".to_owned(), eth)].into()),
            ..NicReading::default()
        };
        let (then, now) = (at(0, 0), at(100, 7));
        assert_eq!(between("a", &then, &now, []).ethernet_tx_bytes, Some(7));
        assert_eq!(
            between("a", &then, &now, [&"lo".to_owned()]).ethernet_tx_bytes,
            Some(100)
        );
    }
}
