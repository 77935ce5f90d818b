//! Verdicts from logs and counters together: what each state of a cluster looks like.

use super::*;
use crate::path::log::facts;
use crate::record::path::DeviceTraffic;
use std::collections::BTreeMap;

const GIB: u64 = 1 << 30;

const EFA: &str =
    "a:1:1 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)
a:1:1 [0] NCCL INFO Using network Libfabric
a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Libfabric/0/GDRDMA";

const TCP: &str = "a:1:1 [0] NCCL INFO NET/OFI Selected provider is tcp, fabric is x (found 1 nics)
a:1:1 [0] NCCL INFO Using network Libfabric";

const SOCKET: &str = "a:1:1 [0] NCCL INFO Using network Socket
a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0";

const INTRA: &str = "a:1:1 [0] NCCL INFO Using network Libfabric
a:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8
a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM";

/// A host whose EFA devices sent so much each.
fn host(name: &str, sent: &[u64], ethernet: u64) -> HostTraffic {
    let device = |(index, &tx): (usize, &u64)| DeviceTraffic {
        name: format!("rdmap{index}"),
        kind: NicKind::Efa,
        tx_bytes: Some(tx),
        rx_bytes: Some(tx),
        moved: BTreeMap::from([("retrans_timeout_events".to_owned(), 0)]),
        ..DeviceTraffic::default()
    };
    HostTraffic {
        host: name.to_owned(),
        instance: Some("p5.48xlarge".to_owned()),
        devices: sent.iter().enumerate().map(device).collect(),
        ethernet_tx_bytes: Some(ethernet),
        ..HostTraffic::default()
    }
}

fn evidence(log: &str, hosts: Vec<HostTraffic>) -> Evidence {
    Evidence {
        logs: vec![("a".to_owned(), facts(log))],
        hosts,
        // two nodes that send 32 GiB each
        needed: Some(Needed {
            least: 64.0 * 1_073_741_824.0,
            most: 128.0 * 1_073_741_824.0,
            even: true,
        }),
        ranks_per_node: Some(8),
        ..Evidence::default()
    }
}

fn two_hosts(log: &str, sent: &[u64], ethernet: u64) -> PathRecord {
    let hosts = ["a", "b"].map(|name| host(name, sent, ethernet));
    judge(&evidence(log, hosts.into()))
}

fn said(path: &PathRecord) -> String {
    crate::path::text::findings(path)
}

#[test]
fn all_devices_carry_and_it_is_efa_by_log_and_counters() {
    let path = two_hosts(EFA, &[GIB; 32], 0);
    assert_eq!((path.verdict, path.reason.as_deref()), (Verdict::Efa, None));
    assert_eq!(path.by, [Basis::Log, Basis::Counters].into());
    assert!(path.findings.is_empty(), "{}", said(&path));
    assert_eq!(path.traffic.unwrap().nic_tx_bytes, Some(64 * GIB));
    assert_eq!(path.traffic.unwrap().retransmission_timeouts, Some(0));
    assert_eq!(path.traffic.unwrap().retransmitted_packets, None);
}

#[test]
fn half_the_devices_missing_degrades_it_and_says_how_many_there_should_be() {
    let path = two_hosts(EFA, &[2 * GIB; 16], 0);
    assert_eq!(path.verdict, Verdict::EfaDegraded);
    let reason = path.reason.unwrap();
    assert_eq!(reason, "a has 16 EFA devices, and a p5.48xlarge has 32");
}

#[test]
fn a_dead_rail_is_named() {
    let mut sent = vec![GIB; 32];
    sent[7] = 0;
    let path = two_hosts(EFA, &sent, 0);
    assert_eq!(path.verdict, Verdict::EfaDegraded);
    assert!(path.reason.unwrap().ends_with("carried nothing: rdmap7"));
}

#[test]
fn rails_that_differ_are_named_with_the_ratio() {
    let mut sent = vec![GIB; 32];
    sent[3] = GIB / 2;
    let path = two_hosts(EFA, &sent, 0);
    assert_eq!(path.verdict, Verdict::EfaDegraded);
    let reason = path.reason.unwrap();
    assert!(
        reason.contains("2.00 times") && reason.contains("rdmap3"),
        "{reason}"
    );
}

#[test]
fn idle_rails_are_right_where_a_node_has_fewer_ranks_than_gpus() {
    let mut sent = vec![0; 32];
    sent[..4].fill(8 * GIB);
    let hosts = ["a", "b"].map(|name| host(name, &sent, 0));
    let path = judge(&Evidence {
        ranks_per_node: Some(1),
        ..evidence(EFA, hosts.into())
    });
    assert_eq!(path.verdict, Verdict::Efa, "{:?}", path.reason);
}

#[test]
fn a_log_that_lies_is_found_out_where_other_interfaces_carried_it() {
    let path = two_hosts(EFA, &[0; 32], 32 * GIB);
    assert_eq!(path.verdict, Verdict::Socket);
    assert_eq!(path.by, [Basis::Counters].into());
    assert!(
        said(&path).contains("disagree: the log says EFA"),
        "{}",
        said(&path)
    );
}

#[test]
fn a_log_that_nothing_bears_out_is_unknown() {
    let path = two_hosts(EFA, &[0; 32], 0);
    assert_eq!(path.verdict, Verdict::Unknown);
    assert!(path.reason.unwrap().contains("did not move"));
    let path = two_hosts(SOCKET, &[GIB; 32], 0);
    assert_eq!(path.verdict, Verdict::Unknown);
    assert!(said(&path).contains("disagree: the log says SOCKET"));
}

#[test]
fn a_part_of_the_bytes_degrades_it() {
    let path = two_hosts(EFA, &[GIB / 2; 32], 0);
    assert_eq!(path.verdict, Verdict::EfaDegraded);
    assert!(path.reason.unwrap().contains("carried 50 % of the least"));
}

#[test]
fn tcp_under_libfabrics_name_and_a_fall_back_are_told_apart() {
    let path = two_hosts(TCP, &[0; 32], 32 * GIB);
    assert_eq!(path.verdict, Verdict::TcpProvider);
    assert!(said(&path).contains("FI_PROVIDER"));
    let path = two_hosts(SOCKET, &[0; 32], 32 * GIB);
    assert_eq!(path.verdict, Verdict::Socket);
    assert_eq!(path.by, [Basis::Log, Basis::Counters].into());
}

#[test]
fn inside_a_node_idle_devices_are_right() {
    let none = Evidence {
        needed: Some(Needed::default()),
        ..evidence(INTRA, vec![host("a", &[0; 32], 0)])
    };
    let path = judge(&none);
    assert_eq!(path.verdict, Verdict::IntraNode);
    assert!(path.findings.is_empty(), "{}", said(&path));
}

#[test]
fn hidden_counters_leave_the_log_and_are_said() {
    let hidden = HostTraffic {
        host: "a".to_owned(),
        unread: vec!["`/sys/class/infiniband` is not there".to_owned()],
        ..HostTraffic::default()
    };
    let path = judge(&evidence(EFA, vec![hidden.clone()]));
    assert_eq!(
        (path.verdict, path.by.clone()),
        (Verdict::Efa, [Basis::Log].into())
    );
    assert!(said(&path).contains("not all could be counted on a"));
    let path = judge(&evidence("", vec![hidden]));
    assert_eq!(path.verdict, Verdict::Unknown);
    assert!(path.reason.is_some());
}

#[test]
fn counters_alone_tell_where_there_is_no_log() {
    let path = two_hosts("", &[GIB; 32], 0);
    assert_eq!(
        (path.verdict, path.by.clone()),
        (Verdict::Efa, [Basis::Counters].into())
    );
    assert_eq!(two_hosts("", &[0; 32], 32 * GIB).verdict, Verdict::Socket);
    assert_eq!(two_hosts("", &[0; 32], 0).verdict, Verdict::Unknown);
}

#[test]
fn little_traffic_is_not_judged_by() {
    let little = Evidence {
        needed: Some(Needed {
            least: 1e6,
            most: 4e6,
            even: true,
        }),
        ..evidence(EFA, vec![host("a", &[0; 32], 0)])
    };
    let path = judge(&little);
    assert_eq!((path.verdict, path.by), (Verdict::Efa, [Basis::Log].into()));
}

#[test]
fn staging_through_the_host_degrades_only_where_gpu_direct_is_to_be_had() {
    let staged = EFA.replace("/GDRDMA", "");
    assert_eq!(
        two_hosts(&staged, &[GIB; 32], 0).verdict,
        Verdict::EfaDegraded
    );
    let g6 = crate::path::instance::by_name("g6.48xlarge");
    let one = Evidence {
        instance: g6,
        ..evidence(&staged.replace("32 nics", "1 nics"), vec![])
    };
    assert_eq!(judge(&one).verdict, Verdict::Efa);
}

#[test]
fn time_outs_and_drops_are_warned_of_and_do_not_change_the_path() {
    let mut bad = host("a", &[GIB; 32], 0);
    bad.devices[2]
        .moved
        .insert("retrans_timeout_events".to_owned(), 5);
    let path = judge(&evidence(EFA, vec![bad, host("b", &[GIB; 32], 0)]));
    assert_eq!(path.verdict, Verdict::Efa);
    assert!(
        said(&path).contains("a rdmap2 retrans_timeout_events 5"),
        "{}",
        said(&path)
    );
    assert_eq!(path.traffic.unwrap().retransmission_timeouts, Some(5));
}

#[test]
fn only_the_hosts_that_sent_the_least_are_kept() {
    let hosts = (0..40).map(|index| host(&format!("h{index:02}"), &[GIB * (40 - index); 32], 0));
    let path = judge(&evidence(EFA, hosts.collect()));
    assert_eq!(path.hosts.len(), PathRecord::HOSTS);
    assert_eq!(path.hosts[0].host, "h39");
    assert_eq!(path.traffic.unwrap().hosts, 40);
}
