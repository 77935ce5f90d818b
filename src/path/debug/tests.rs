//! What the user set, what is set for it, and what of the log is shown.

use super::*;

fn of(variables: &[(&str, &str)]) -> Capture {
    capture(&variables.iter().copied().collect())
}

fn set(capture: &Capture) -> Vec<&str> {
    match capture {
        Capture::Ours { variables, .. } => {
            variables.iter().map(|(_, value)| value.as_str()).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn picked(capture: &Capture, lines: &[&str]) -> Vec<String> {
    let Capture::Ours { shown, .. } = capture else {
        panic!("{capture:?}");
    };
    let mut filter = Filter::new(shown.clone());
    lines.iter().filter_map(|line| filter.pick(line)).collect()
}

const LOG: [&str; 6] = [
    "a:1:1 [0] NCCL INFO NCCL version 2.28.3+cuda13.0",
    "a:1:1 [0] NCCL INFO Using network Socket",
    "a:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
    "a:1:1 [0] NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===",
    "",
    "[2026-01-01 00:00:00] a:1:1 [0] x.cc:3 NCCL WARN oh",
];

#[test]
fn a_user_who_asked_for_nothing_sees_nothing() {
    let capture = of(&[("NCCL_DEBUG_FILE", "/never/opened")]);
    assert_eq!(set(&capture), ["INFO", "INIT,NET,ENV,GRAPH"]);
    assert!(picked(&capture, &LOG).is_empty());
}

#[test]
fn a_user_who_asked_for_info_sees_it_without_what_was_added() {
    let capture = of(&[("NCCL_DEBUG", "info")]);
    assert_eq!(set(&capture), ["INFO", "BOOTSTRAP,ENV,INIT,NET,GRAPH"]);
    let warned = format!("\n{}", LOG[5]);
    assert_eq!(picked(&capture, &LOG), [LOG[0], LOG[1], &warned]);
}

#[test]
fn a_user_who_asked_for_all_sees_all_and_in_one_piece() {
    let capture = of(&[("NCCL_DEBUG", "TRACE"), ("NCCL_DEBUG_SUBSYS", "ALL")]);
    assert_eq!(set(&capture), ["TRACE", "ALL"]);
    let all = picked(&capture, &LOG).join("\n");
    assert_eq!(all, LOG.join("\n"));
}

#[test]
fn a_user_who_asked_for_warnings_sees_them_and_the_bare_version() {
    let capture = of(&[("NCCL_DEBUG", "WARN"), ("NCCL_DEBUG_SUBSYS", "COLL")]);
    assert_eq!(set(&capture), ["INFO", "INIT,NET,ENV,GRAPH"]);
    let warned = format!("\n{}", LOG[5]);
    assert_eq!(
        picked(&capture, &LOG),
        ["NCCL version 2.28.3+cuda13.0", &warned]
    );
    let version = of(&[("NCCL_DEBUG", "VERSION")]);
    assert_eq!(picked(&version, &LOG), ["NCCL version 2.28.3+cuda13.0"]);
    let more = of(&[("NCCL_DEBUG", "WARN"), ("NCCL_WARN_ENABLE_DEBUG_INFO", "1")]);
    assert_eq!(
        picked(&more, &[LOG[1], LOG[5], LOG[1]]),
        [warned.as_str(), LOG[1]]
    );
}

#[test]
fn subsystems_are_added_to_a_list_and_to_a_list_of_exceptions() {
    let capture = of(&[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "INIT,COLL")]);
    assert_eq!(set(&capture)[1], "COLL,INIT,NET,ENV,GRAPH");
    let env = "a:1:1 [0] NCCL INFO NCCL_NET set by environment to IB";
    assert!(picked(&capture, &[env]).is_empty());
    let capture = of(&[
        ("NCCL_DEBUG", "INFO"),
        ("NCCL_DEBUG_SUBSYS", "^GRAPH,PROXY"),
    ]);
    assert_eq!(set(&capture)[1], "^PROXY");
    let capture = of(&[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "^GRAPH")]);
    assert_eq!(set(&capture)[1], "ALL");
}

#[test]
fn what_the_user_set_is_left_alone_where_it_tells_enough_or_would_have_to_change() {
    let theirs = of(&[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_FILE", "/tmp/n.%h.%p")]);
    assert_eq!(theirs, Capture::Theirs("/tmp/n.%h.%p".to_owned()));
    for (variables, words) in [
        (
            [("NCCL_DEBUG", "WARN"), ("NCCL_DEBUG_FILE", "/tmp/n")],
            "NCCL_DEBUG_FILE",
        ),
        (
            [("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "COLL")],
            "leaves out INIT",
        ),
        (
            [("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "^INIT")],
            "leaves out INIT",
        ),
    ] {
        assert!(matches!(of(&variables), Capture::Not(why) if why.contains(words)));
    }
}

#[test]
fn topology_is_told_from_networks_that_are_named_alike() {
    for said in [
        "CPU/0-0 (1/1/2)",
        "+ PCI[24.0] - GPU/0-60 (0)",
        "               + NVL[20.0] - NVS/0",
        " 0 : GPU/0-60 GPU/0-61",
        "Pattern 4, crossNic 0",
    ] {
        assert!(is_graph(said), "{said}");
    }
    for said in [
        "NET/Socket : Using [0]lo:127.0.0.1<0>",
        "NET/OFI Selected provider is efa",
        "Trees [0] 2/-1/-1->0->-1",
        "Channel 00/02 : 0 1 2 3",
        "comm 0x1 rank 1 nRanks 4",
    ] {
        assert!(!is_graph(said) && !is_net(said), "{said}");
    }
}

#[test]
fn lines_of_two_subsystems_are_shown_where_either_was_asked_for() {
    let lines = [
        "a:1:1 [0] NCCL INFO New proxy send connection 1 from local rank 0, transport 2",
        "a:1:1 [0] NCCL INFO Connected to proxy localRank 0 -> connection 0x7f",
        "a:1:1 [0] NCCL INFO ncclTopoPopulateNics : Filled lo in topo with pciPath=(null) keep=1 coll=(null)",
        "a:1:1 [0] NCCL INFO ncclP2pSchedule: group size used is 4",
        "a:1:1 [0] NCCL INFO dlvsym failed on mlx5dv_reg_dmabuf_mr - no such symbol",
        "a:1:1 [0] NCCL INFO NCCL_SOCKET_IFNAME set to lo",
    ];
    let seen = |subsystems| {
        let variables = [("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", subsystems)];
        picked(&of(&variables), &lines).len()
    };
    assert_eq!(
        ["INIT", "INIT,PROXY", "INIT,GRAPH", "INIT,NET"].map(seen),
        [0, 2, 2, 5]
    );
}
