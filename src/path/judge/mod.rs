//! The verdict: what the log says held against what was counted.

use super::claim;
use super::claim::Claim;
use super::expect::Needed;
use super::health;
use super::instance;
use super::instance::Instance;
use super::log;
use crate::record::PathRecord;
use crate::record::path::{Basis, Finding, HostTraffic, LogFacts, NicKind, TrafficRecord, Verdict};
use std::collections::BTreeSet;

/// All that is known of a run's path.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// What each log says, and whose it is.
    pub logs: Vec<(String, LogFacts)>,
    /// Why there is no log, or none of some processes.
    pub no_log: Option<String>,
    /// What each host counted.
    pub hosts: Vec<HostTraffic>,
    /// Why nothing was counted, where that was tried.
    pub no_counters: Option<String>,
    /// What must have been sent, where that is known.
    pub needed: Option<Needed>,
    /// Ranks of the fullest node, where that is known.
    pub ranks_per_node: Option<u32>,
    /// The instance type, where somebody says it.
    pub instance: Option<&'static Instance>,
}

/// Less than this is not told from what else a host sends.
pub(super) const ENOUGH_BYTES: u64 = 4 << 20;

/// From this part of the least on, the NICs carried it.
const CARRIED: f64 = 0.8;

/// Below this part, they did not.
const IDLE: f64 = 0.05;

/// What the counters say by themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Counted {
    /// They cannot be read, or too little was sent to judge by.
    Nothing,
    /// Devices of this sort carried it.
    Carried(NicKind),
    /// They carried this part of it, and not all.
    Partly(NicKind, f64),
    /// They stood still, and the other interfaces moved.
    Ethernet,
    /// They stood still, and nothing else is known to have moved.
    Idle,
}

/// Judges.
pub fn judge(evidence: &Evidence) -> PathRecord {
    let mut facts = LogFacts::default();
    for (_, one) in &evidence.logs {
        log::merge(&mut facts, one);
    }
    let instance = evidence
        .instance
        .or_else(|| said_instance(evidence, &facts));
    let traffic = traffic(evidence);
    let counted = traffic.map_or(Counted::Nothing, |traffic| counted(evidence, &traffic));
    let mut findings = Vec::new();
    let mut said = claim::of_log(&facts);
    if facts.lines == 0 {
        said.reason = evidence.no_log.clone().or(said.reason);
    }
    let (claim, by) = decide(&said, counted, &mut findings);
    let mut record = PathRecord {
        verdict: claim.verdict,
        reason: claim.reason,
        by,
        findings,
        instance: instance.map(|one| one.name.to_owned()),
        log: facts,
        traffic,
        hosts: evidence.hosts.clone(),
    };
    health::examine(&mut record, evidence, instance, counted);
    keep_few_hosts(&mut record);
    record.findings.sort_by_key(|finding| !finding.warning);
    record.findings.dedup();
    record
}

/// The instance type as the machines or the plugin say it, if all say the same.
fn said_instance(evidence: &Evidence, facts: &LogFacts) -> Option<&'static Instance> {
    let hosts = evidence
        .hosts
        .iter()
        .filter_map(|host| host.instance.as_ref());
    let mut names: Vec<&String> = hosts.chain(&facts.instances).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [one] => instance::by_name(one),
        _ => None,
    }
}

/// Sums over all hosts; unknown where one of them is.
fn traffic(evidence: &Evidence) -> Option<TrafficRecord> {
    let hosts = &evidence.hosts;
    if hosts.is_empty() {
        return None;
    }
    let nic = |host: &HostTraffic| {
        let sent = host.devices.iter().map(|device| device.tx_bytes);
        sent.reduce(|sum, one| Some(sum? + one?)).flatten()
    };
    let sum = |of: &dyn Fn(&HostTraffic) -> Option<u64>| hosts.iter().map(of).sum();
    Some(TrafficRecord {
        hosts: u32::try_from(hosts.len()).unwrap_or(u32::MAX),
        expected_least_bytes: evidence.needed.map(|needed| whole(needed.least)),
        expected_most_bytes: evidence.needed.map(|needed| whole(needed.most)),
        nic_tx_bytes: sum(&nic),
        ethernet_tx_bytes: sum(&|host| host.ethernet_tx_bytes),
        rail_ratio: health::rail_ratio(hosts),
        retransmitted_packets: health::moved(hosts, health::RETRANSMITTED),
        retransmission_timeouts: health::moved(hosts, health::TIMED_OUT),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate of bytes, which is not negative and saturates"
)]
fn whole(bytes: f64) -> u64 {
    bytes as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a part, for which 53 bits are enough"
)]
pub(super) fn part(of: u64, all: u64) -> f64 {
    of as f64 / all as f64
}

/// What the counters say. Without a forecast the bytes on other interfaces are what they are held against.
fn counted(evidence: &Evidence, traffic: &TrafficRecord) -> Counted {
    let kind = kind(&evidence.hosts);
    let needs = traffic.expected_least_bytes;
    let (nic, ethernet) = (traffic.nic_tx_bytes, traffic.ethernet_tx_bytes.unwrap_or(0));
    match (nic, needs) {
        (_, Some(least)) if least < ENOUGH_BYTES => Counted::Nothing,
        (None, Some(least)) if no_device(evidence) && part(ethernet, least) >= 0.5 => {
            Counted::Ethernet
        }
        (None, None) if no_device(evidence) && ethernet >= ENOUGH_BYTES => Counted::Ethernet,
        (None, _) => Counted::Nothing,
        (Some(nic), Some(least)) => match part(nic, least) {
            carried if carried >= CARRIED => Counted::Carried(kind),
            carried if carried >= IDLE => Counted::Partly(kind, carried),
            _ if part(ethernet, least) >= 0.5 => Counted::Ethernet,
            _ => Counted::Idle,
        },
        (Some(nic), None) if nic.max(ethernet) < ENOUGH_BYTES && nic > 0 => Counted::Nothing,
        (Some(nic), None) if nic == 0 || part(nic, ethernet.max(1)) < IDLE => {
            if ethernet >= ENOUGH_BYTES {
                Counted::Ethernet
            } else {
                Counted::Idle
            }
        }
        (Some(_), None) => Counted::Carried(kind),
    }
}

/// Whether hosts were looked at, nothing hid their devices, and there is none.
fn no_device(evidence: &Evidence) -> bool {
    let without = |host: &HostTraffic| host.devices.is_empty() && host.unread.is_empty();
    evidence.hosts.iter().all(without)
}

fn kind(hosts: &[HostTraffic]) -> NicKind {
    let devices = hosts.iter().flat_map(|host| &host.devices);
    let kinds: Vec<NicKind> = devices.map(|device| device.kind).collect();
    match kinds.first() {
        Some(first) if kinds.iter().all(|kind| kind == first) => *first,
        _ => NicKind::Unknown,
    }
}

fn verdict_of(kind: NicKind) -> Option<Verdict> {
    match kind {
        NicKind::Efa => Some(Verdict::Efa),
        NicKind::Infiniband => Some(Verdict::Infiniband),
        NicKind::Unknown => None,
    }
}

/// Puts the two together. What was counted outweighs what was said where bytes are seen elsewhere.
fn decide(said: &Claim, counted: Counted, findings: &mut Vec<Finding>) -> (Claim, BTreeSet<Basis>) {
    use Verdict::{Efa, EfaDegraded, Infiniband, IntraNode, Socket, TcpProvider, Unknown};
    let log = || BTreeSet::from([Basis::Log]);
    let both = || BTreeSet::from([Basis::Log, Basis::Counters]);
    let counters = || BTreeSet::from([Basis::Counters]);
    match (said.verdict, counted) {
        (Unknown, Counted::Carried(kind)) => match verdict_of(kind) {
            Some(verdict) => (Claim::sure(verdict), counters()),
            None => (said.clone(), BTreeSet::new()),
        },
        (Unknown, Counted::Ethernet) => (Claim::sure(Socket), counters()),
        (Unknown, _) => (said.clone(), BTreeSet::new()),
        // what else uses the NICs of one node is counted too
        (_, Counted::Nothing) | (IntraNode, _) => (said.clone(), log()),
        (Efa | EfaDegraded, Counted::Carried(NicKind::Efa))
        | (Infiniband, Counted::Carried(NicKind::Infiniband))
        | (Socket | TcpProvider, Counted::Ethernet | Counted::Idle) => (said.clone(), both()),
        (Efa, Counted::Partly(NicKind::Efa, carried)) => (degraded(carried), both()),
        (Efa | EfaDegraded | Infiniband, Counted::Ethernet) => {
            findings.push(disagree(
                said.verdict,
                "the bytes went over other interfaces",
            ));
            (Claim::sure(Socket), counters())
        }
        (_, other) => {
            let found = words(other);
            findings.push(disagree(said.verdict, found));
            let reason = format!("the log says {}, and {found}", said.verdict);
            (Claim::unknown(reason), both())
        }
    }
}

fn degraded(carried: f64) -> Claim {
    Claim {
        verdict: Verdict::EfaDegraded,
        reason: Some(format!(
            "the EFA devices carried {:.0} % of the least that the operations send",
            carried * 100.0
        )),
    }
}

fn words(counted: Counted) -> &'static str {
    match counted {
        Counted::Carried(NicKind::Efa) => "EFA devices carried as much as the operations send",
        Counted::Carried(_) => "RDMA devices carried as much as the operations send",
        Counted::Partly(..) => "RDMA devices carried a part of what the operations send",
        Counted::Ethernet => "the bytes went over other interfaces",
        Counted::Idle => "the counters of the RDMA devices did not move",
        Counted::Nothing => "nothing was counted",
    }
}

fn disagree(said: Verdict, found: &str) -> Finding {
    Finding {
        warning: true,
        text: format!("log and counters disagree: the log says {said}, and {found}"),
        hint: Some(
            "look whether the log is of this run, and whether something else uses the NICs"
                .to_owned(),
        ),
    }
}

/// Hosts that sent the least first, and not too many of them.
fn keep_few_hosts(record: &mut PathRecord) {
    let sent = |host: &HostTraffic| -> u64 {
        host.devices
            .iter()
            .filter_map(|device| device.tx_bytes)
            .sum()
    };
    record
        .hosts
        .sort_by(|a, b| sent(a).cmp(&sent(b)).then_with(|| a.host.cmp(&b.host)));
    record.hosts.truncate(PathRecord::HOSTS);
}

#[cfg(test)]
mod tests;
