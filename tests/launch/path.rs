//! `ncclbench path`: recorded logs and counters to a verdict, by the whole program.

use super::harness::{Finished, run};
use super::{LIMIT, program};
use std::fs;
use std::path::{Path, PathBuf};

/// The verdicts as files' names end.
const VERDICTS: [&str; 7] = [
    "efa",
    "efa_degraded",
    "infiniband",
    "socket",
    "tcp_provider",
    "intra_node",
    "unknown",
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nccl-logs")
}

pub(crate) fn fixture(name: &str) -> String {
    fixtures().join(name).to_str().unwrap().to_owned()
}

fn judged(args: &[&str]) -> Finished {
    let mut command = program(&["path"]);
    run(command.args(args), LIMIT)
}

fn verdict(finished: &Finished) -> String {
    let json: serde_json::Value = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.told()));
    json["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn every_recorded_log_gets_the_verdict_that_its_name_ends_in() {
    let mut seen = 0;
    for entry in fs::read_dir(fixtures()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(stem) = name.strip_suffix(".txt") else {
            continue;
        };
        let expected = stem.rsplit('.').next().unwrap();
        assert!(VERDICTS.contains(&expected), "{name}");
        let finished = judged(&["--log", &fixture(&name), "--json"]).expect_code(0);
        assert_eq!(verdict(&finished).to_lowercase(), expected, "{name}");
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
}

/// A host's tree with so many EFA devices, of which `dead` do not move, and two bridges.
pub(crate) fn tree(root: &Path, devices: usize, bytes: u64, dead: &[usize], ethernet: u64) {
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for index in 0..devices {
        let device = format!("sys/class/infiniband/rdmap{index}s0");
        let moved = if dead.contains(&index) { 0 } else { bytes };
        for name in ["tx_bytes", "rx_bytes", "rdma_write_bytes"] {
            let path = format!("{device}/ports/1/hw_counters/{name}");
            put(&path, &format!("{}\n", 1000 + moved));
        }
        put(&format!("{device}/device/uevent"), "DRIVER=efa\n");
        put(&format!("{device}/ports/1/state"), "4: ACTIVE\n");
    }
    for index in 0..2 {
        let bridge = format!("sys/class/infiniband/mlx5_{index}");
        put(&format!("{bridge}/device/uevent"), "DRIVER=mlx5_core\n");
        put(&format!("{bridge}/ports/1/counters/port_xmit_data"), "0\n");
        put(&format!("{bridge}/ports/1/state"), "1: DOWN\n");
    }
    let line = format!("  ens1: 0 0 0 0 0 0 0 0 {ethernet} 0 0 0 0 0 0 0\n");
    put("proc/net/dev", &line);
}

/// What a log and the counters of 8 devices, of which so many are there, say together.
fn with_counters(log: &str, devices: usize, bytes: u64, dead: &[usize], ethernet: u64) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|name| folder.path().join(name));
    tree(&before, devices, 0, &[], 0);
    tree(&after, devices, bytes, dead, ethernet);
    let kept = ["--counters-before", before.to_str().unwrap()];
    let later = ["--counters-after", after.to_str().unwrap()];
    let log = fixture(log);
    let mut args = vec!["--log", &log, "--json", "--instance", "p6-b200.48xlarge"];
    args.extend(kept.iter().chain(&later));
    judged(&args)
}

#[test]
fn counters_bear_a_log_out_degrade_it_or_find_it_out() {
    const LOG: &str = "p6-b200.efa.txt";
    const GIB: u64 = 1 << 30;
    for (log, devices, bytes, dead, ethernet, expected) in [
        (LOG, 8, GIB, vec![], 0, "EFA"),
        (LOG, 4, GIB, vec![], 0, "EFA_DEGRADED"),
        (LOG, 8, GIB, vec![5], 0, "EFA_DEGRADED"),
        (LOG, 8, 0, vec![], GIB, "SOCKET"),
        (LOG, 8, 0, vec![], 0, "UNKNOWN"),
        ("socket-fallback.socket.txt", 8, 0, vec![], GIB, "SOCKET"),
        (
            "libfabric-over-tcp.tcp_provider.txt",
            8,
            0,
            vec![],
            GIB,
            "TCP_PROVIDER",
        ),
        ("socket-fallback.socket.txt", 8, GIB, vec![], 0, "UNKNOWN"),
    ] {
        let finished = with_counters(log, devices, bytes, &dead, ethernet);
        assert_eq!(verdict(&finished), expected, "{}", finished.told());
        assert!(
            finished.stdout.contains("\"mlx5_1\""),
            "{}",
            finished.told()
        );
    }
}

#[test]
fn a_dead_rail_and_missing_devices_are_named() {
    let told = |devices, dead: &[usize]| {
        with_counters("p6-b200.efa.txt", devices, 1 << 30, dead, 0).stdout
    };
    assert!(told(8, &[5]).contains("carried nothing: rdmap5s0"));
    assert!(told(4, &[]).contains("has 4 EFA devices, and a p6-b200.48xlarge has 8"));
}

#[test]
fn a_path_that_was_required_and_is_not_there_is_code_6() {
    let socket = fixture("socket-fallback.socket.txt");
    let finished = judged(&["--log", &socket, "--require-path", "efa"]).expect_code(6);
    finished.expect_said("gate: the path is SOCKET; `--require-path efa` is not met");
    let efa = fixture("p6-b200.efa.txt");
    drop(judged(&["--log", &efa, "--require-path", "EFA"]).expect_code(0));
}

#[test]
fn what_cannot_be_read_or_is_not_known_is_no_verdict() {
    let nothing = tempfile::NamedTempFile::new().unwrap();
    let empty = nothing.path().to_str().unwrap();
    let finished = judged(&["--log", empty, "--json"]).expect_code(7);
    assert_eq!(verdict(&finished), "UNKNOWN");
    let fixture = fixture("g6.efa.txt");
    for (args, code, words) in [
        (
            vec!["--log", "/nowhere/a.log"],
            3,
            "cannot read `/nowhere/a.log`",
        ),
        (vec![], 2, "--log"),
        (
            vec!["--log", &fixture, "--instance", "m5.large"],
            2,
            "unknown instance type `m5.large`",
        ),
        (
            vec!["--log", &fixture, "--require-path", "ib"],
            2,
            "accepted: efa, infiniband",
        ),
        (
            vec!["--log", &fixture, "--counters-before", "/tmp"],
            2,
            "--counters-after",
        ),
        (
            vec![
                "--log",
                &fixture,
                "--counters-before",
                "/nowhere",
                "--counters-after",
                "/nowhere",
            ],
            3,
            "/nowhere",
        ),
        (vec!["--log", &fixture, "--run", &fixture], 2, "line 1"),
    ] {
        judged(&args).expect_code(code).expect_said(words);
    }
}
