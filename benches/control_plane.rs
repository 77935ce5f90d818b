//! How the control plane scales: time to join, barrier and gather, and rank 0's memory, by ranks.
//!
//! `cargo bench --bench control_plane -- [REPEATS [RANKS…]]` (5, and 4 16 64 256 1024 4096) starts
//! itself again for each repeat as rank 0 and as one process that plays all other ranks from one
//! poll loop; a world of 4 is 4 real processes. A line has median, least and most of the repeats.
#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails by panicking, prints what it measured and reads the clock"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use ncclbench::bootstrap::tcp::swarm::{Recipe, Swarm};
use ncclbench::bootstrap::tcp::{self, Joining, Secret, TcpPlane};
use ncclbench::bootstrap::{Bootstrap, PeerInfo, ProcessPlane};
use std::io::{BufRead, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::step;

const RANKS: [u32; 6] = [4, 16, 64, 256, 1024, 4096];
const LIMIT: Duration = Duration::from_mins(5);

/// Worlds up to this size are made of real processes.
const MOST_REAL: u32 = 4;

/// What each gather is given by a rank.
const GATHERS: [usize; 2] = [64, 1024];

/// What a choice is given by a rank; the answer is short.
const GIVEN: usize = 1024;

/// Columns of a line, in the order in which rank 0 prints them.
const COLUMNS: [&str; 8] = [
    "join ms",
    "barrier us",
    "gather 64 B ms",
    "gather 1 KiB ms",
    "decide 1 KiB ms",
    "joined MiB",
    "most MiB",
    "sockets MiB",
];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["first", ranks] => first(ranks.parse().unwrap()),
        ["swarm", ranks] => swarm(ranks.parse().unwrap()),
        ["member", ranks, member] => real(ranks.parse().unwrap(), member.parse().unwrap()),
        [] => all(5, &RANKS),
        [repeats] => all(repeats.parse().unwrap(), &RANKS),
        [repeats, ranks @ ..] => {
            let ranks = ranks.iter().map(|ranks| ranks.parse().unwrap());
            all(repeats.parse().unwrap(), &ranks.collect::<Vec<_>>());
        }
    }
}

fn all(repeats: usize, ranks: &[u32]) {
    println!("{repeats} repeats; each cell is median (least, most)");
    println!("| ranks | {} |", COLUMNS.join(" | "));
    println!("|{}", "---:|".repeat(COLUMNS.len() + 1));
    for &ranks in ranks {
        let runs: Vec<Vec<f64>> = (0..repeats).map(|_| once(ranks)).collect();
        let cells = (0..COLUMNS.len()).map(|column| {
            let mut values: Vec<f64> = runs.iter().map(|run| run[column]).collect();
            values.sort_by(f64::total_cmp);
            let (least, most) = (values[0], values[values.len() - 1]);
            format!("{:.1} ({least:.1}, {most:.1})", values[values.len() / 2])
        });
        println!("| {ranks} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

/// One repeat, in processes of its own.
fn once(ranks: u32) -> Vec<f64> {
    let child = again(&["first", &ranks.to_string()]);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "rank 0 of {ranks} failed");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect()
}

fn again(args: &[&str]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Barriers and gathers of a world: few where each takes long.
fn counts(ranks: u32) -> (usize, usize) {
    let few = |most: u32, least: u32| (most / ranks).clamp(least, 2000) as usize;
    (few(80_000, 20), few(8_000, 2))
}

/// Eight ranks on a host, as on most machines with GPUs.
fn peer(member: u32) -> PeerInfo {
    let host = format!("ip-10-0-{}-{}", member / 2048, member / 8 % 256);
    PeerInfo {
        identity: format!("{host}/3f2b8c1e-0d5a-4f0e-9a53-0b5f3f0c8a11/4026531840"),
        host,
        pid: 100_000 + member,
        version: "bench".to_owned(),
        ranks: 1,
    }
}

fn joining(ranks: u32, member: u32) -> Joining {
    Joining {
        member,
        members: ranks,
        me: peer(member),
        job: "bench".to_owned(),
        secret: Secret::new("bench"),
        limit: LIMIT,
        clock: support::clock(),
    }
}

fn first(ranks: u32) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut others: Vec<Child> = if ranks <= MOST_REAL {
        let member = |one: u32| again(&["member", &ranks.to_string(), &one.to_string()]);
        (1..ranks).map(member).collect()
    } else {
        vec![again(&["swarm", &ranks.to_string()])]
    };
    let mut ready = String::new();
    for other in &mut others {
        let output = other.stdout.as_mut().unwrap();
        std::io::BufReader::new(output)
            .read_line(&mut ready)
            .unwrap();
    }
    let start = Instant::now();
    for other in &mut others {
        writeln!(other.stdin.as_mut().unwrap(), "{address}").unwrap();
    }
    let plane = tcp::host(&joining(ranks, 0), vec![listener], address.to_string()).unwrap();
    plane.barrier(step("joined")).unwrap();
    let mut figures = vec![start.elapsed().as_secs_f64() * 1e3];
    let joined = memory("VmRSS");
    figures.extend(time(&plane, ranks));
    figures.extend([joined, memory("VmHWM"), sockets()]);
    plane.leave();
    for mut other in others {
        assert!(other.wait().unwrap().success());
    }
    let words: Vec<String> = figures.iter().map(f64::to_string).collect();
    println!("{}", words.join(" "));
}

/// A barrier in µs, then the gathers and the choice in ms.
fn time(plane: &TcpPlane, ranks: u32) -> Vec<f64> {
    let (barriers, gathers) = counts(ranks);
    let start = Instant::now();
    for _ in 0..barriers {
        plane.barrier(step("a barrier")).unwrap();
    }
    let mut figures = vec![start.elapsed().as_secs_f64() * 1e6 / barriers as f64];
    for len in GATHERS {
        let mine = vec![7; len];
        let start = Instant::now();
        for _ in 0..gathers {
            plane.all_gather(step("a gather"), &mine).unwrap();
        }
        // the last gather is over when everybody has it
        plane.barrier(step("a barrier")).unwrap();
        figures.push(start.elapsed().as_secs_f64() * 1e3 / gathers as f64);
    }
    let start = Instant::now();
    for _ in 0..gathers {
        let first = |all: &[Vec<u8>]| Ok(all[0][..8].to_vec());
        plane.decide(step("a choice"), &[7; GIVEN], &first).unwrap();
    }
    plane.barrier(step("a barrier")).unwrap();
    figures.push(start.elapsed().as_secs_f64() * 1e3 / gathers as f64);
    figures
}

/// Says that this process is there and reads where the first is.
fn hub() -> SocketAddr {
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().parse().unwrap()
}

fn swarm(ranks: u32) {
    let recipe = Recipe {
        peers: (1..ranks).map(peer).collect(),
        members: ranks,
        job: "bench".to_owned(),
        secret: Secret::new("bench"),
        limit: LIMIT,
        clock: support::clock(),
    };
    let mut swarm = Swarm::join(recipe, hub()).unwrap();
    swarm.barrier(step("joined")).unwrap();
    let (barriers, gathers) = counts(ranks);
    for _ in 0..barriers {
        swarm.barrier(step("a barrier")).unwrap();
    }
    for len in GATHERS {
        for _ in 0..gathers {
            swarm.all_gather(step("a gather"), vec![7; len]).unwrap();
        }
        swarm.barrier(step("a barrier")).unwrap();
    }
    for _ in 0..gathers {
        swarm.collect(step("a choice"), vec![7; GIVEN]).unwrap();
        swarm.broadcast(step("a choice")).unwrap();
    }
    swarm.barrier(step("a barrier")).unwrap();
    swarm.leave();
}

fn real(ranks: u32, member: u32) {
    let plane = tcp::connect(&joining(ranks, member), &[hub()]).unwrap();
    plane.barrier(step("joined")).unwrap();
    time(&plane, ranks);
    plane.leave();
}

/// A line of this process's status, in MiB.
fn memory(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1024.0
}

/// What the kernel holds in buffers of TCP connections, of this whole machine, in MiB.
fn sockets() -> f64 {
    let stat = std::fs::read_to_string("/proc/net/sockstat").unwrap();
    let line = stat.lines().find(|line| line.starts_with("TCP:")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let pages: f64 = words[words.iter().position(|word| *word == "mem").unwrap() + 1]
        .parse()
        .unwrap();
    pages * 4096.0 / f64::from(1 << 20)
}
