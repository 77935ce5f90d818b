//! The path of whole runs: four processes on two hosts, a library that says what a log says, and
//! counters that move between two rows. The hosts are labels and the counters files of this test.

use super::harness::{Finished, start, told_by_all};
use super::path::tree;
use super::table::line;
use super::{LIMIT, by_hand, free_address, stand_ins};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Devices of a host of the instance type that the trees name.
const DEVICES: usize = 4;

/// Bytes that each device sends; all together more than the least and less than the most.
const EACH: u64 = 6 << 20;

/// Two hosts of four ranks, as many as the instance has GPUs.
const NODES: &str =
    "x:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0\n";

const EFA: &str =
    "x:1:1 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)
x:1:1 [0] NCCL INFO Using network Libfabric
x:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/Libfabric/0/GDRDMA
";

const TCP: &str = "x:1:1 [0] NCCL INFO NET/OFI Selected provider is tcp;ofi_rxm, fabric is 10.0.0.0/8 (found 1 nics)
x:1:1 [0] NCCL INFO Using network Libfabric
x:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/Libfabric/0
";

const SOCKET: &str = "x:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so
x:1:1 [0] NCCL INFO Using network Socket
x:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/Socket/0
";

const INTRA: &str = "x:1:1 [0] NCCL INFO Using network Libfabric
x:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0
x:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
";

/// What a cluster does in a run.
struct Scene {
    log: String,
    devices: usize,
    /// Bytes of each device, and of the other interface.
    bytes: u64,
    ethernet: u64,
    dead: Vec<usize>,
    hosts: [&'static str; 2],
    /// Whether there is a tree at all.
    visible: bool,
}

impl Scene {
    fn new(log: &str) -> Self {
        Self {
            log: format!("{NODES}{log}"),
            devices: DEVICES,
            bytes: EACH,
            ethernet: 0,
            dead: Vec::new(),
            hosts: ["a", "b"],
            visible: true,
        }
    }

    fn tcp(log: &str) -> Self {
        Self {
            bytes: 0,
            ethernet: 200 << 20,
            ..Self::new(log)
        }
    }

    /// Runs with a gate; the counters move once, after the first row.
    fn run(&self, gate: &str) -> Vec<Finished> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fs::write(at.join("log"), &self.log).unwrap();
        self.trees(at);
        let mut running: Vec<_> = self.commands(at, gate).iter_mut().map(start).collect();
        running[0].wait_for("the first row", LIMIT, |text| line(text).map(drop));
        if self.visible {
            symlink("after", at.join("next")).unwrap();
            fs::rename(at.join("next"), at.join("now")).unwrap();
        }
        fs::write(at.join("go"), "").unwrap();
        running.into_iter().map(|one| one.finish(LIMIT)).collect()
    }

    /// Counters before and after; `now` leads to those of the moment.
    fn trees(&self, at: &Path) {
        if !self.visible {
            fs::create_dir(at.join("now")).unwrap();
            return;
        }
        tree(&at.join("before"), self.devices, 0, &[], 0);
        tree(
            &at.join("after"),
            self.devices,
            self.bytes,
            &self.dead,
            self.ethernet,
        );
        for name in ["before", "after"] {
            let dmi = at.join(name).join("sys/devices/virtual/dmi/id");
            fs::create_dir_all(&dmi).unwrap();
            fs::write(dmi.join("sys_vendor"), "Amazon EC2\n").unwrap();
            fs::write(dmi.join("product_name"), "p6e-gb200.36xlarge\n").unwrap();
        }
        symlink("before", at.join("now")).unwrap();
    }

    fn commands(&self, at: &Path, gate: &str) -> Vec<Command> {
        let address = free_address();
        let library = stand_ins::library("libcuda.so.1");
        let args = "allreduce -g 2 -b 128K -e 256K -n 5 -w 0 -c 0";
        let args: Vec<&str> = args.split(' ').chain(["--require-path", gate]).collect();
        let process = |rank: usize| {
            let mut command = by_hand(rank, 4, &address, &args);
            let host = self.hosts[rank / 2];
            command
                .args(["--host-label", host, "--path-root"])
                .arg(at.join("now"));
            command
                .args((rank == 0).then(|| format!("--output={}", at.join("run.jsonl").display())));
            command.env("LD_LIBRARY_PATH", Path::new(&library).parent().unwrap());
            command.env("STAND_IN_CUDA_HOST", host);
            command.env("STAND_IN_NCCL_LOG", at.join("log"));
            command.env("STAND_IN_WAIT", format!("0:15:{}", at.join("go").display()));
            command
        };
        (0..4).map(process).collect()
    }
}

/// Fails unless all leave with `code` and the first says each of `words`.
fn expect(finished: &[Finished], code: i32, words: &[&str]) {
    for one in finished {
        assert_eq!(one.code(), Some(code), "{}", told_by_all(finished));
    }
    for word in words {
        finished[0].expect_said(word);
    }
    for other in &finished[1..] {
        assert!(
            !other.stderr.contains("path: "),
            "{}",
            told_by_all(finished)
        );
    }
}

#[test]
fn all_devices_of_two_hosts_carry_it_and_the_gate_is_met() {
    let finished = Scene::new(EFA).run("efa");
    expect(
        &finished,
        0,
        &["path: EFA (log and counters): Libfabric over efa, fabric efa-direct, 4 NICs"],
    );
    finished[0].expect_said("GPUDirect on 8 of 8 channels; NICs sent 50.3 MB, ");
    assert!(
        !finished[0].stderr.contains("warning"),
        "{}",
        finished[0].told()
    );
}

#[test]
fn half_the_devices_or_a_dead_rail_degrade_it_and_the_gate_is_not_met() {
    let half = Scene {
        devices: DEVICES / 2,
        bytes: 2 * EACH,
        ..Scene::new(EFA)
    };
    let words = "has 2 EFA devices, and a p6e-gb200.36xlarge has 4";
    expect(
        &half.run("efa"),
        6,
        &["path: EFA_DEGRADED", words, "gate: "],
    );
    let dead = Scene {
        dead: vec![2],
        ..Scene::new(EFA)
    };
    expect(
        &dead.run("efa"),
        6,
        &["path: EFA_DEGRADED", "carried nothing: rdmap2s0"],
    );
}

#[test]
fn tcp_is_told_whatever_its_name_and_whatever_the_log_says() {
    let words = [
        "path: TCP_PROVIDER (log and counters)",
        "FI_PROVIDER",
        "`--require-path any` is not met",
    ];
    expect(&Scene::tcp(TCP).run("any"), 6, &words);
    let words = [
        "path: SOCKET (log and counters)",
        "Could not find: libnccl-net.so",
    ];
    expect(&Scene::tcp(SOCKET).run("efa"), 6, &words);
    let words = [
        "path: SOCKET (counters)",
        "log and counters disagree: the log says EFA",
    ];
    expect(&Scene::tcp(EFA).run("efa"), 6, &words);
}

#[test]
fn inside_one_host_the_devices_need_not_move() {
    let scene = Scene {
        log: INTRA.to_owned(),
        bytes: 0,
        hosts: ["a", "a"],
        ..Scene::new("")
    };
    let mut finished = scene.run("nvlink");
    expect(&finished, 0, &["path: INTRA_NODE (log)"]);
    assert!(!finished.remove(0).stderr.contains("warning"));
}

#[test]
fn where_nothing_can_be_seen_nothing_is_guessed() {
    let hidden = Scene {
        visible: false,
        ..Scene::new("")
    };
    expect(
        &hidden.run("any"),
        6,
        &[
            "path: UNKNOWN: ",
            "is not visible",
            "gate: the path is UNKNOWN",
        ],
    );
    let hidden = Scene {
        visible: false,
        ..Scene::new(EFA)
    };
    expect(
        &hidden.run("efa"),
        0,
        &["path: EFA (log): ", "not all could be counted on"],
    );
}
