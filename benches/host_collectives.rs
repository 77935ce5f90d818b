//! How fast backend `host` is: all-reduce and all-to-all between processes of this machine.
//!
//! `cargo bench --bench host_collectives -- [RANKS [COLLECTIVE [SIZE…]]]` starts itself RANKS times
//! (4 unless said) and prints, for each size, time and algorithm bandwidth of n back-to-back
//! operations after a warm-up and a barrier, out of place, float, mean over ranks. The processes
//! meet at their parent, over a socket of its own.
#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails by panicking, prints what it measured and reads the clock"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use ncclbench::backend;
use ncclbench::base::{Buffer, Bytes, DataType, Rank, RedOp, Span, World};
use ncclbench::bootstrap::Bootstrap;
use std::time::{Duration, Instant};
use support::{Hub, Spoke, seat, step};

const SIZES: [u64; 6] = [64, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    match args
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["rank", rank, ranks, hub, collective, sizes @ ..] => {
            let spoke = Spoke::join(hub, rank.parse().unwrap(), ranks.parse().unwrap());
            measure(
                &spoke,
                collective,
                &sizes
                    .iter()
                    .map(|size| size.parse().unwrap())
                    .collect::<Vec<_>>(),
            );
        }
        given => parent(given),
    }
}

fn parent(given: &[&str]) {
    let ranks: usize = given.first().map_or(4, |ranks| ranks.parse().unwrap());
    let sizes: Vec<String> = match given.get(2..) {
        Some(sizes) if !sizes.is_empty() => sizes
            .iter()
            .map(|size| size.parse::<Bytes>().unwrap().0.to_string())
            .collect(),
        _ => SIZES.iter().map(u64::to_string).collect(),
    };
    let collectives = given
        .get(1)
        .map_or(vec!["allreduce", "alltoall"], |name| vec![*name]);
    for collective in collectives {
        let hub = Hub::open(ranks);
        let mut children: Vec<_> = (0..ranks)
            .map(|rank| {
                std::process::Command::new(std::env::current_exe().unwrap())
                    .args([
                        "rank",
                        &rank.to_string(),
                        &ranks.to_string(),
                        hub.name(),
                        collective,
                    ])
                    .args(&sizes)
                    .spawn()
                    .unwrap()
            })
            .collect();
        hub.serve();
        assert!(
            children
                .iter_mut()
                .all(|child| child.wait().unwrap().success())
        );
    }
}

fn measure(plane: &Spoke, collective: &str, sizes: &[u64]) {
    let ranks = u32::try_from(plane.members()).unwrap();
    let rank = Rank(u32::try_from(plane.member()).unwrap());
    let seat = seat(rank, World(ranks), "node1", Some(Duration::from_mins(1)));
    let host = backend::ALL
        .iter()
        .find(|backend| backend.name() == "host")
        .unwrap();
    let mut session = host.open(&seat, plane).unwrap();
    let largest = Bytes(*sizes.iter().max().unwrap());
    let (from, into): (Buffer, Buffer) = (
        session.alloc(0, largest).unwrap(),
        session.alloc(0, largest).unwrap(),
    );
    for &size in sizes {
        let (send, recv) = (
            Span::whole(from, Bytes(size)),
            Span::whole(into, Bytes(size)),
        );
        let operation = || {
            if collective == "alltoall" {
                session
                    .ops(0)
                    .all_to_all(send, recv, DataType::Float)
                    .unwrap();
            } else {
                session
                    .ops(0)
                    .all_reduce(send, recv, DataType::Float, RedOp::Sum)
                    .unwrap();
            }
        };
        (0..2).for_each(|_| operation());
        plane.barrier(step("start")).unwrap();
        let count = 200_000_000 / (size + 200_000) + 3;
        let start = Instant::now();
        (0..count).for_each(|_| operation());
        let mine = start.elapsed().as_secs_f64() / count as f64;
        let all = plane
            .all_gather(step("times"), &mine.to_le_bytes())
            .unwrap();
        let total: f64 = all
            .iter()
            .map(|time| f64::from_le_bytes(time.as_slice().try_into().unwrap()))
            .sum();
        let mean = total / f64::from(ranks);
        if rank == Rank(0) {
            println!(
                "{collective} {size} {:.3} us {:.3} GB/s",
                mean * 1e6,
                size as f64 / mean / 1e9
            );
        }
    }
}
