//! What is wrong with a path that is the right one: devices that are missing or idle, staging through
//! the host, errors; and what a reader should know besides.

use super::Evidence;
use super::instance::Instance;
use super::judge::{Counted, ENOUGH_BYTES, part};
use crate::record::PathRecord;
use crate::record::path::{DeviceTraffic, Finding, HostTraffic, Verdict};

/// Largest over smallest that rails of one host may differ by.
const UNBALANCED: f64 = 1.25;

/// Bytes for each device from which on rails are compared: small operations use few channels.
const RAIL_BYTES: u64 = 4 << 20;

/// Counters of packets that were sent again.
pub(super) const RETRANSMITTED: &[&str] = &["retrans_pkts", "roce_adp_retrans", "packet_seq_err"];

/// Counters of time-outs.
pub(super) const TIMED_OUT: &[&str] = &["retrans_timeout_events", "local_ack_timeout_err"];

/// Further counters that should stand still, by the kernel's names for EFA and mlx5.
const FAULTS: &[&str] = &[
    "unresponsive_remote_events",
    "impaired_remote_conn_events",
    "rx_drops",
    "rdma_read_wr_err",
    "rdma_write_wr_err",
    "out_of_sequence",
    "rnr_nak_retry_err",
    "port_rcv_errors",
    "port_xmit_discards",
    "symbol_error",
    "link_error_recovery",
    "link_downed",
];

/// Adds what is found, and degrades EFA where it must be.
pub(super) fn examine(
    record: &mut PathRecord,
    evidence: &Evidence,
    instance: Option<&Instance>,
    counted: Counted,
) {
    let over_efa = matches!(record.verdict, Verdict::Efa | Verdict::EfaDegraded);
    if over_efa {
        let wrongs = [
            inventory(record, evidence, instance),
            staging(record, instance),
            rails(evidence, instance, counted),
        ];
        for wrong in wrongs.into_iter().flatten() {
            degrade(record, wrong);
        }
        protocol(record, instance);
    }
    unread(record, evidence);
    faults(record, &evidence.hosts);
    different_networks(record, evidence);
    fallen_back(record);
    too_much(record);
}

/// The first reason counts; all are findings.
fn degrade(record: &mut PathRecord, wrong: Finding) {
    if record.verdict == Verdict::Efa {
        record.reason = Some(wrong.text.clone());
    }
    record.verdict = Verdict::EfaDegraded;
    record.findings.push(wrong);
}

fn warning(text: String, hint: &str) -> Finding {
    Finding {
        warning: true,
        text,
        hint: Some(hint.to_owned()),
    }
}

fn note(text: String) -> Finding {
    Finding {
        warning: false,
        text,
        hint: None,
    }
}

/// Fewer devices than the instance type has, on a host or in the plugin's eyes.
fn inventory(
    record: &PathRecord,
    evidence: &Evidence,
    instance: Option<&Instance>,
) -> Option<Finding> {
    let instance = instance?;
    let (name, all) = (instance.name, instance.devices);
    let hint = "attach every interface as EFA (launch template), and give containers all of `/dev/infiniband`";
    let looked_at = evidence
        .hosts
        .iter()
        .filter(|host| !host.devices.is_empty());
    let few = looked_at.min_by_key(|host| host.devices.len());
    if let Some(host) = few.filter(|host| host.devices.len() < all as usize) {
        let (host, found) = (&host.host, host.devices.len());
        return Some(warning(
            format!("{host} has {found} EFA devices, and a {name} has {all}"),
            hint,
        ));
    }
    let found = *record.log.nics.first()?;
    let text = format!("the plugin found {found} NICs, and a {name} has {all}");
    (found < all).then(|| warning(text, hint))
}

/// Channels through the host's memory where NICs should read the GPUs'.
fn staging(record: &PathRecord, instance: Option<&Instance>) -> Option<Finding> {
    let (mut all, mut direct) = (0, 0);
    for channels in record.log.net_channels.values() {
        all += channels.all;
        direct += channels.gpu_direct;
    }
    let wanted = instance.is_some_and(|one| one.gpu_direct) || direct > 0;
    let disabled = record
        .log
        .troubles
        .iter()
        .any(|line| line.contains("GDR disabled on GDR-supported"));
    if !(disabled || wanted && direct < all) {
        return None;
    }
    Some(warning(
        format!("GPUDirect on {direct} of {all} channels: the others go through the host's memory"),
        "look for `/dev/gdrdrv` and dma-buf, and for `OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK`",
    ))
}

/// Rails that carry nothing, or much less than others of their host. Where a node has fewer ranks than
/// GPUs, or not every rank sends to other nodes, idle rails are as they should be.
fn rails(evidence: &Evidence, instance: Option<&Instance>, counted: Counted) -> Option<Finding> {
    if !matches!(counted, Counted::Carried(_) | Counted::Partly(..)) {
        return None;
    }
    let full = match (evidence.ranks_per_node, instance) {
        (Some(ranks), Some(instance)) => ranks >= instance.gpus,
        (Some(_), None) => false,
        (None, _) => true,
    };
    if !full || evidence.needed.is_some_and(|needed| !needed.even) {
        return None;
    }
    let busy = evidence.hosts.iter().filter(|host| is_busy(host));
    let worst = busy.max_by(|a, b| spread(a).total_cmp(&spread(b)))?;
    let ratio = spread(worst);
    if ratio <= UNBALANCED {
        return None;
    }
    Some(warning(
        rail_text(worst, ratio),
        "look at the link of that device, and for NICs that NCCL was told to leave out",
    ))
}

fn rail_text(host: &HostTraffic, ratio: f64) -> String {
    let idle = host
        .devices
        .iter()
        .filter(|device| device.tx_bytes == Some(0));
    let idle: Vec<String> = idle.map(place).collect();
    let name = &host.host;
    let all = host.devices.len();
    match idle.len() {
        0 => {
            let least = host.devices.iter().min_by_key(|device| device.tx_bytes);
            let least = least.map(place).unwrap_or_default();
            format!(
                "the rails of {name} are not balanced: the busiest sent {ratio:.2} times as much as {least}"
            )
        }
        1 => format!("a rail of {name} carried nothing: {}", idle[0]),
        some => format!(
            "{some} of {all} rails of {name} carried nothing: {}",
            some_of(&idle)
        ),
    }
}

fn some_of(names: &[String]) -> String {
    let few: Vec<&str> = names.iter().take(4).map(String::as_str).collect();
    let more = if names.len() > few.len() { ", …" } else { "" };
    format!("{}{more}", few.join(", "))
}

/// `rdmap16s27 (0000:10:1b.0, NUMA node 0)`.
fn place(device: &DeviceTraffic) -> String {
    let bus = device.bus_id.clone();
    let numa = device.numa.map(|node| format!("NUMA node {node}"));
    let known: Vec<String> = [bus, numa].into_iter().flatten().collect();
    if known.is_empty() {
        device.name.clone()
    } else {
        format!("{} ({})", device.name, known.join(", "))
    }
}

fn is_busy(host: &HostTraffic) -> bool {
    let sent: u64 = host
        .devices
        .iter()
        .filter_map(|device| device.tx_bytes)
        .sum();
    host.devices.len() > 1 && sent / host.devices.len() as u64 >= RAIL_BYTES
}

/// Largest over smallest; infinite where one sent nothing.
fn spread(host: &HostTraffic) -> f64 {
    let sent: Vec<u64> = host
        .devices
        .iter()
        .filter_map(|device| device.tx_bytes)
        .collect();
    match (sent.iter().max(), sent.iter().min()) {
        (Some(_), Some(0)) => f64::INFINITY,
        (Some(&most), Some(&least)) => part(most, least),
        _ => 1.0,
    }
}

/// The worst host's largest over smallest; none where a rail sent nothing or nothing was counted.
pub(super) fn rail_ratio(hosts: &[HostTraffic]) -> Option<f64> {
    let spreads = hosts
        .iter()
        .filter(|host| host.devices.len() > 1)
        .map(spread);
    spreads.reduce(f64::max).filter(|ratio| ratio.is_finite())
}

/// Sum of counters over all devices; none where no device has any of them.
pub(super) fn moved(hosts: &[HostTraffic], names: &[&str]) -> Option<u64> {
    let devices = hosts.iter().flat_map(|host| &host.devices);
    let counts = devices.flat_map(|device| names.iter().filter_map(|name| device.moved.get(*name)));
    counts.copied().reduce(|sum, one| sum + one)
}

/// A protocol that is not what the plugin takes by itself.
fn protocol(record: &mut PathRecord, instance: Option<&Instance>) {
    let Some(usual) = instance.and_then(|one| one.protocol) else {
        return;
    };
    let other = record
        .log
        .protocols
        .iter()
        .find(|name| name.as_str() != usual);
    if let Some(other) = other {
        let text = format!("the plugin uses the protocol {other}, and {usual} is usual here");
        record
            .findings
            .push(warning(text, "unset `OFI_NCCL_PROTOCOL`"));
    }
}

/// What could not be read is said, and never taken for 0.
fn unread(record: &mut PathRecord, evidence: &Evidence) {
    let reasons = evidence.no_log.iter().chain(&evidence.no_counters);
    record
        .findings
        .extend(reasons.map(|reason| note(reason.clone())));
    let with = evidence.hosts.iter().find(|host| !host.unread.is_empty());
    if let Some(host) = with {
        let why = some_of(&host.unread);
        record.findings.push(note(format!(
            "not all could be counted on {}: {why}",
            host.host
        )));
    }
}

fn faults(record: &mut PathRecord, hosts: &[HostTraffic]) {
    let mut bad = Vec::new();
    for host in hosts {
        for device in &host.devices {
            let names = TIMED_OUT.iter().chain(FAULTS).chain(RETRANSMITTED);
            let seen = names.filter_map(|name| Some((*name, *device.moved.get(*name)?)));
            let seen = seen.filter(|(_, count)| *count > 0);
            bad.extend(
                seen.map(|(name, count)| format!("{} {} {name} {count}", host.host, device.name)),
            );
        }
    }
    if !bad.is_empty() {
        let text = format!("devices counted errors: {}", some_of(&bad));
        record
            .findings
            .push(warning(text, "look at that device's link, cable and peer"));
    }
}

/// Logs that name different networks, and whose they are.
fn different_networks(record: &mut PathRecord, evidence: &Evidence) {
    if record.log.networks.len() < 2 {
        return;
    }
    let total = |name: &String| record.log.networks.get(name).copied().unwrap_or(0);
    let Some(rare) = record
        .log
        .networks
        .keys()
        .min_by_key(|name| total(name))
        .cloned()
    else {
        return;
    };
    let mut whose: Vec<String> = evidence
        .logs
        .iter()
        .filter(|(_, facts)| facts.networks.contains_key(&rare))
        .map(|(who, _)| who.clone())
        .collect();
    whose.dedup();
    let text = format!(
        "not all processes use one network: {rare} on {}",
        some_of(&whose)
    );
    record.findings.push(warning(
        text,
        "compare `ncclbench doctor` there and elsewhere",
    ));
}

/// Where TCP carries it, what NCCL said about it and what usually leads there.
fn fallen_back(record: &mut PathRecord) {
    let hint = match record.verdict {
        Verdict::TcpProvider => "unset `FI_PROVIDER`; look whether `fi_info -p efa` lists devices",
        Verdict::Socket
            if asked_for(record, "NCCL_NET", "Socket")
                || asked_for(record, "NCCL_NET_PLUGIN", "none") =>
        {
            "`NCCL_NET=Socket` or `NCCL_NET_PLUGIN=none` asks for it; unset them for another path"
        }
        Verdict::Socket => {
            "the plugin was not loaded or found no device: leave `NCCL_NET` and `NCCL_NET_PLUGIN` as the image sets them, and look for `/dev/infiniband` and the plugin's folder in `LD_LIBRARY_PATH`"
        }
        _ => return,
    };
    let why = record.log.troubles.first().cloned();
    let why = why.map_or_else(String::new, |line| format!("; NCCL says: {line}"));
    record
        .findings
        .push(warning(format!("the bytes go over TCP{why}"), hint));
}

fn asked_for(record: &PathRecord, name: &str, value: &str) -> bool {
    record
        .log
        .settings
        .get(name)
        .is_some_and(|set| set == value)
}

fn too_much(record: &mut PathRecord) {
    let Some(traffic) = record.traffic else {
        return;
    };
    let (Some(sent), Some(most)) = (traffic.nic_tx_bytes, traffic.expected_most_bytes) else {
        return;
    };
    if sent > ENOUGH_BYTES && sent / 2 > most {
        let text =
            "the NICs sent more than twice the most that was expected: something else uses them";
        record.findings.push(note(text.to_owned()));
    }
}
