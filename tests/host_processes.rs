//! Backend `host` between real processes: this test binary starts itself.
#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and a child tells its parent what it got"
)]

mod support;
#[path = "common/sweep.rs"]
mod sweep;

use ncclbench::backend;
use ncclbench::backend::{Session, ThreadSeat};
use ncclbench::base::pattern::{Recipe, Source, Stretch};
use ncclbench::base::{Bytes, DataType, Fault, Rank, RedOp, Span, World};
use ncclbench::bootstrap::Bootstrap;
use ncclbench::bootstrap::threads::ThreadPlane;
use ncclbench::collective;
use ncclbench::plan::PlanSpec;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use support::{Hub, Spoke, clock, seat, step};

/// Starts one child for each letter of `shape`, which is the name of its host.
fn start(hub: &Hub, shape: &str, role: &str) -> Vec<Child> {
    let start = |rank: usize| {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{} {rank} {shape} {role}", hub.name()).unwrap();
        child
    };
    (0..shape.len()).map(start).collect()
}

/// What the ranks of a child said, after their marks.
fn said(child: Child) -> Vec<String> {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text
        .lines()
        .filter_map(|line| Some(line.split_once("said: ")?.1.to_owned()));
    lines.collect()
}

#[test]
#[ignore = "the other side of this file's tests: it reads from standard input what to do"]
fn child() {
    let mut line = String::new();
    BufReader::new(std::io::stdin())
        .read_line(&mut line)
        .unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let [hub, rank, shape, role] = words.as_slice() else {
        panic!("{line}")
    };
    let process: usize = rank.parse().unwrap();
    let plane = Arc::new(Spoke::join(hub, process, shape.len()));
    let threads = if *role == "check-threads" { 2 } else { 1 };
    let lanes = ThreadPlane::join(plane, threads, clock());
    std::thread::scope(|scope| {
        for (thread, lane) in lanes.iter().enumerate() {
            let rank = process * threads + thread;
            let host = format!("node-{}", &shape[process..=process]);
            scope.spawn(move || play(role, lane, rank, shape.len() * threads, &host));
        }
    });
}

/// One rank of a child.
fn play(role: &str, plane: &ThreadPlane, rank: usize, ranks: usize, host: &str) {
    let world = World(u32::try_from(ranks).unwrap());
    let seat = seat(Rank(u32::try_from(rank).unwrap()), world, host, None);
    let backend = backend::ALL
        .iter()
        .find(|backend| backend.name() == "host")
        .unwrap();
    let mut session = backend.open(&seat, plane).unwrap();
    if role == "sweep" {
        println!("said: {}", check_all(session.as_mut(), &seat, plane));
    } else if role.starts_with("check") {
        println!("said: {}", check(session.as_mut(), plane));
    } else {
        println!(
            "said: {}",
            outlive(session.as_mut(), rank, ranks).unwrap_err()
        );
    }
}

/// How many collectives are right, of some datatypes and operators, with every root.
fn check_all(session: &mut dyn Session, seat: &ThreadSeat, plane: &dyn Bootstrap) -> usize {
    let some = |spec: PlanSpec| PlanSpec {
        dtypes: vec![DataType::Float, DataType::Int8],
        redops: vec![RedOp::Avg, RedOp::MulSum],
        ..spec
    };
    let hypercube = seat.world.0.is_power_of_two();
    let run = collective::ALL.iter().map(|what| what.name());
    let run = run.filter(|name| *name != "hypercube" || hypercube);
    run.map(|name| {
        let specs: Vec<_> = sweep::everything(name).into_iter().map(some).collect();
        sweep::expect_right(&sweep::run(&specs, session, seat, plane));
    })
    .count()
}

/// Wrong elements of all-reduces and all-to-alls of many sizes.
fn check(session: &mut dyn Session, plane: &dyn Bootstrap) -> u64 {
    let (rank, world) = (session.ops(0).rank(), session.ops(0).world());
    let ranks = u64::from(world.0);
    let buffers = [0, 1].map(|_| session.alloc(0, Bytes(ranks * 400_000)).unwrap());
    let mut wrong = 0;
    for count in [1, 7, 1000, 65537] {
        let reduced = Recipe {
            seed: count,
            dtype: DataType::Bfloat16,
            redop: Some(RedOp::Sum),
            world,
        };
        let [send, recv] = buffers.map(|buffer| Span::whole(buffer, Bytes(count * 2)));
        let expect = [Stretch {
            len: count,
            source: Source::Reduced { at: 0 },
        }];
        session.poison(0, recv, &reduced).unwrap();
        session.fill(0, send, &reduced).unwrap();
        session
            .ops(0)
            .all_reduce(send, recv, DataType::Bfloat16, RedOp::Sum)
            .unwrap();
        wrong += session
            .verify(0, recv, &reduced, &expect)
            .unwrap()
            .unwrap()
            .wrong;
        let copied = Recipe {
            seed: count,
            dtype: DataType::Float,
            redop: None,
            world,
        };
        let [send, recv] = buffers.map(|buffer| Span::whole(buffer, Bytes(count * 4 * ranks)));
        let at = u64::from(rank.0) * count;
        let from = |rank| Stretch {
            len: count,
            source: Source::Copied { rank, at },
        };
        let expect: Vec<Stretch> = world.ranks().map(from).collect();
        session.poison(0, recv, &copied).unwrap();
        session.fill(0, send, &copied).unwrap();
        plane.barrier(step("filled")).unwrap();
        session
            .ops(0)
            .all_to_all(send, recv, DataType::Float)
            .unwrap();
        wrong += session
            .verify(0, recv, &copied, &expect)
            .unwrap()
            .unwrap()
            .wrong;
    }
    wrong
}

/// Reduces for ever; the last rank tells its parent that it is in the middle of it.
fn outlive(session: &mut dyn Session, rank: usize, ranks: usize) -> Result<(), Fault> {
    let buffer = session.alloc(0, Bytes(1 << 20)).unwrap();
    let span = Span::whole(buffer, Bytes(1 << 20));
    for turn in 0_u64.. {
        session
            .ops(0)
            .all_reduce(span, span, DataType::Float, RedOp::Sum)?;
        if rank == ranks - 1 && turn == 3 {
            println!("said: reducing");
        }
    }
    Ok(())
}

#[test]
fn processes_of_one_host_and_of_several_get_what_they_should() {
    for (shape, role, ranks) in [
        ("aaa", "check", 1),
        ("aaab", "check", 1),
        ("abcab", "check", 1),
        ("aa", "check-threads", 2),
        ("aba", "check-threads", 2),
    ] {
        let hub = Hub::open(shape.len());
        let children = start(&hub, shape, role);
        hub.serve();
        for child in children {
            assert_eq!(said(child), vec!["0"; ranks], "{shape} {role}");
        }
    }
}

#[test]
fn every_collective_is_right_between_processes_of_one_host_and_of_two() {
    for (shape, right) in [("aaa", "10"), ("aabba", "10"), ("abab", "11")] {
        let hub = Hub::open(shape.len());
        let children = start(&hub, shape, "sweep");
        hub.serve();
        for child in children {
            assert_eq!(said(child), [right], "{shape}");
        }
    }
}

#[test]
fn a_process_that_is_killed_while_all_wait_without_a_limit_is_noticed_and_named() {
    for shape in ["aaa", "abc"] {
        let hub = Hub::open(shape.len());
        let mut children = start(&hub, shape, "outlive");
        let mut victim = children.pop().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| hub.serve());
            let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap().ends_with("said: reducing")));
            victim.kill().unwrap();
        });
        victim.wait().unwrap();
        let faults: Vec<String> = children.into_iter().flat_map(said).collect();
        let name = format!("rank 2 (node-{})", &shape[2..]);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults.iter().any(|fault| fault.contains(&name)),
            "{faults:?}"
        );
    }
}
