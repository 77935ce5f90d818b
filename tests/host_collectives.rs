//! Every collective on backend `host` under the engine: ranks as threads, hosts by their identities.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

#[path = "common/sweep.rs"]
mod sweep;

use ncclbench::backend::{self, ThreadSeat, Wish};
use ncclbench::base::{Env, Rank, World};
use ncclbench::bootstrap::PeerInfo;
use ncclbench::bootstrap::solo::Solo;
use ncclbench::bootstrap::threads::ThreadPlane;
use ncclbench::engine::SystemClock;
use std::sync::Arc;
use std::time::Duration;
use sweep::Outcome;

/// One letter a rank, which is its host: one host and more, uneven, interleaved.
const SHAPES: [&str; 8] = ["a", "aa", "aaa", "aaaaa", "ab", "aab", "abc", "abbac"];

fn seat(rank: usize, shape: &str) -> ThreadSeat {
    let host = format!("node-{}", &shape[rank..=rank]);
    ThreadSeat {
        world: World(u32::try_from(shape.len()).unwrap()),
        ranks: vec![Rank(u32::try_from(rank).unwrap())],
        devices: vec![0],
        host_identity: format!("{host}/boot/1"),
        host,
        limit: Duration::from_mins(1),
        op_limit: None,
        clock: Arc::new(SystemClock),
        wish: Wish {
            nccl_lib: None,
            env: Env::default(),
            seed: 0,
            kernel: ncclbench::backend::KernelWish::default(),
            comm: backend::CommWish::default(),
        },
    }
}

/// What came of everything on the first rank of a shape.
fn outcomes(shape: &str, name: &str) -> Vec<Outcome> {
    let host = backend::ALL.iter().find(|one| one.name() == "host");
    let host = host.unwrap();
    let solo = Solo::new(PeerInfo {
        host: "test".to_owned(),
        identity: "test".to_owned(),
        pid: 1,
        version: "0".to_owned(),
        ranks: u32::try_from(shape.len()).unwrap(),
    });
    let planes = ThreadPlane::join(Arc::new(solo), shape.len(), Arc::new(SystemClock));
    let specs = sweep::everything(name);
    std::thread::scope(|scope| {
        let threads: Vec<_> = planes
            .iter()
            .enumerate()
            .map(|(rank, plane)| {
                let (seat, specs) = (seat(rank, shape), &specs);
                scope.spawn(move || {
                    let mut session = host.open(&seat, plane).unwrap();
                    sweep::run(specs, session.as_mut(), &seat, plane)
                })
            })
            .collect();
        let ends: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        ends.into_iter().next().unwrap()
    })
}

fn is_right_on_every_shape(name: &str) {
    for shape in SHAPES {
        sweep::expect_right(&outcomes(shape, name));
    }
}

macro_rules! right {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            is_right_on_every_shape($name);
        })*
    };
}

right! {
    every_rank_gathers_all_parts: "allgather",
    every_rank_gets_its_part_of_every_reduction: "reducescatter",
    every_rank_gets_every_roots_elements: "broadcast",
    every_root_gets_every_reduction_and_the_others_outputs_are_left_alone: "reduce",
    every_root_gathers_all_parts_and_the_others_outputs_are_left_alone: "gather",
    every_rank_gets_its_part_from_every_root: "scatter",
    every_rank_gets_the_elements_of_the_one_before: "sendrecv",
    parts_of_different_sizes_arrive: "alltoallv",
    equal_parts_arrive: "alltoall",
    every_rank_gets_every_reduction: "allreduce",
}

#[test]
fn a_hypercube_is_right_on_powers_of_two_and_waived_elsewhere() {
    for shape in ["a", "ab", "aabb", "abac", "aaaaaaaa"] {
        sweep::expect_right(&outcomes(shape, "hypercube"));
    }
    let waived = outcomes("aab", "hypercube");
    assert!(!waived.is_empty() && waived.iter().all(|(_, outcome)| outcome.is_err()));
}
