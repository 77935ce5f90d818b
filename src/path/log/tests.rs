//! Lines of every generation of plugin, and what they come to.

use super::*;

fn of(said: &str) -> LogFacts {
    facts(&format!("node-a:1:2 [0] NCCL INFO {said}\n"))
}

#[test]
fn a_network_of_two_words_is_read_to_the_end_of_the_line() {
    let facts = of("Using network AWS Libfabric");
    assert_eq!(facts.networks.keys().collect::<Vec<_>>(), ["AWS Libfabric"]);
    let facts = of("Channel 00/0 : 0[101c0] -> 8[101c0] [send] via NET/AWS Libfabric/0/GDRDMA");
    let channels = facts.net_channels["AWS Libfabric"];
    assert_eq!((channels.all, channels.gpu_direct), (1, 1));
}

#[test]
fn every_spelling_of_the_selected_provider_is_read() {
    for (said, name, fabric, nics) in [
        ("NET/OFI Selected Provider is efa", "efa", None, None),
        (
            "NET/OFI Selected Provider is efa (found 4 nics)",
            "efa",
            None,
            Some(4),
        ),
        (
            "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
            "efa",
            Some("efa-direct"),
            Some(32),
        ),
        (
            "NET/OFI Selected provider is tcp;ofi_rxm, fabric is 172.16.0.0/16 (found 1 nics)",
            "tcp;ofi_rxm",
            Some("172.16.0.0/16"),
            Some(1),
        ),
    ] {
        let facts = of(said);
        assert_eq!(facts.providers.keys().collect::<Vec<_>>(), [name]);
        assert_eq!(facts.fabrics.first().map(String::as_str), fabric);
        assert_eq!(facts.nics.first().copied(), nics);
    }
}

#[test]
fn channels_are_counted_by_their_way_whatever_follows_it() {
    let log = "h:1:1 [0] NCCL INFO Channel 00/1 : 3[0] -> 0[0] [receive] via NET/Socket/0/Shared\n\
               h:1:1 [0] NCCL INFO Channel 00/1 : 3[0] -> 0[0] [send] via NET/IB/2(5)/GDRDMA(PCI)/Shared\n\
               h:1:1 [0] NCCL INFO Channel 02/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n\
               h:1:1 [0] NCCL INFO Channel 02 : 0[0] -> 1[1] via SHM/direct/direct\n\
               h:1:1 [0] NCCL INFO CollNet 00/0 : 1 [send] via COLLNET/SHARP/0/GDRDMA\n";
    let facts = facts(log);
    let nets: Vec<_> = facts
        .net_channels
        .iter()
        .map(|(name, one)| (name.as_str(), one.all, one.gpu_direct))
        .collect();
    assert_eq!(
        nets,
        [("COLLNET/SHARP", 1, 1), ("IB", 1, 1), ("Socket", 1, 0)]
    );
    assert_eq!(
        facts.local_channels.keys().collect::<Vec<_>>(),
        ["P2P/CUMEM", "SHM/direct"]
    );
}

#[test]
fn ranks_nodes_devices_and_settings_are_read() {
    let facts = of("comm 0x55d9 rank 1 nRanks 16 nNodes 2 localRanks 8 localRank 1 MNNVL 0");
    assert_eq!(
        (facts.ranks.first(), facts.nodes.first()),
        (Some(&16), Some(&2))
    );
    let facts = of("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>");
    assert_eq!(
        facts.ib_ports.iter().collect::<Vec<_>>(),
        ["mlx5_0:1/IB", "mlx5_1:1/RoCE"]
    );
    assert_eq!(
        of("NET/Socket : Using [0]lo:127.0.0.1<0>")
            .interfaces
            .first()
            .unwrap(),
        "lo"
    );
    assert_eq!(
        of("NCCL_NET set by environment to Socket").settings["NCCL_NET"],
        "Socket"
    );
    assert_eq!(
        of("MNNVL 1 cliqueId 0 cliqueSize 8 cliqueRank 3").nvlink_domain,
        Some(8)
    );
    let off = of("NET/Libfabric : GPU Direct RDMA Disabled for HCA 0 'rdmap16s27'");
    assert_eq!(off.gpu_direct_off.first().unwrap(), "rdmap16s27");
}

#[test]
fn what_is_usual_on_efa_is_no_trouble_and_a_failed_plugin_is() {
    assert!(of("Failed to initialize NET plugin IB").troubles.is_empty());
    assert_eq!(
        of("Failed to initialize NET plugin Libfabric")
            .troubles
            .len(),
        1
    );
    let warned = facts("\na:1:1 [0] x.cc:1 NCCL WARN NET/OFI Couldn't open domain\n");
    assert_eq!(
        warned.troubles.first().unwrap(),
        "NET/OFI Couldn't open domain"
    );
}

#[test]
fn facts_of_two_logs_add_up_and_a_log_without_nccl_has_none() {
    let mut both = of("Using network Socket");
    merge(&mut both, &of("Using network Socket"));
    merge(&mut both, &of("Using network IB"));
    assert_eq!(
        (both.networks["Socket"], both.networks["IB"], both.lines),
        (2, 1, 3)
    );
    assert_eq!(
        facts("# nccl-tests version 2.19.6\n  8  2 float\n").lines,
        0
    );
}
