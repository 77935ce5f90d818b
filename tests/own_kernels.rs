//! Backend `kernel` on the stand-in driver, which runs the kernels' own source on the CPU: ranks that
//! really wait for each other, in threads and in processes, with every result checked.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "own_kernels/program.rs"]
mod program;
#[path = "common/stand_ins.rs"]
mod stand_ins;
#[path = "common/sweep.rs"]
mod sweep;
#[path = "own_kernels/world.rs"]
mod world;

use ncclbench::base::{Bytes, DataType, Kind, RedOp, Span};
use ncclbench::collective;
use ncclbench::record::{Choice, Shape, TUNING_SCHEMA, Tuning};
use sweep::Outcome;
use world::Worlds;

fn outcomes(world: &Worlds, name: &str) -> Vec<Outcome> {
    let specs = sweep::everything(name);
    let said = world.on_threads(|session, seat, plane| sweep::run(&specs, session, seat, plane));
    said.into_iter().next().unwrap()
}

/// Every datatype, operator, root and placement, at odd sizes, is right by an algorithm on worlds of
/// some threads and the ranks of each.
fn is_right(name: &str, algo: &str, shapes: &[(u32, u32)]) {
    for &(threads, lanes) in shapes {
        let world = Worlds::new(threads, lanes).algo(algo);
        sweep::expect_right(&outcomes(&world, name));
    }
}

macro_rules! right {
    ($($test:ident: $name:literal by $algo:literal on $shapes:expr;)*) => {
        $(#[test]
        fn $test() {
            is_right($name, $algo, &$shapes);
        })*
    };
}

right! {
    all_reduce_by_packets: "allreduce" by "ll" on [(5, 1), (1, 2)];
    all_reduce_in_one_shot: "allreduce" by "oneshot" on [(3, 1)];
    all_reduce_in_two_shots: "allreduce" by "twoshot" on [(7, 1), (1, 2)];
    all_reduce_by_packets_in_two_shots: "allreduce" by "ll-twoshot" on [(4, 2)];
    reduce_scatter_by_packets: "reducescatter" by "ll" on [(3, 1)];
    reduce_scatter_by_reading: "reducescatter" by "pull" on [(5, 1)];
    all_gather_by_packets: "allgather" by "ll" on [(3, 1), (1, 8)];
    all_gather_by_writing: "allgather" by "put" on [(5, 1)];
    all_gather_by_copy_engines: "allgather" by "engine" on [(3, 1)];
    all_to_all_by_packets: "alltoall" by "ll" on [(5, 1)];
    all_to_all_by_writing: "alltoall" by "put" on [(3, 1), (1, 8)];
    all_to_all_by_reading: "alltoall" by "pull" on [(5, 1)];
    all_to_all_by_copy_engines: "alltoall" by "engine" on [(1, 3)];
    broadcast_by_packets: "broadcast" by "ll" on [(3, 1)];
    broadcast_by_writing: "broadcast" by "put" on [(2, 2)];
    broadcast_handed_out: "broadcast" by "handout" on [(5, 1)];
    broadcast_by_copy_engines: "broadcast" by "engine" on [(3, 1)];
}

#[test]
fn one_rank_alone_is_right_too() {
    for name in [
        "allreduce",
        "reducescatter",
        "allgather",
        "alltoall",
        "broadcast",
    ] {
        sweep::expect_right(&outcomes(&Worlds::new(1, 1), name));
    }
}

#[test]
fn the_table_that_is_built_in_serves_every_size() {
    for name in ["allreduce", "reducescatter", "alltoall"] {
        sweep::expect_right(&outcomes(&Worlds::new(2, 1), name));
    }
}

#[test]
fn ticks_wrap_without_harm() {
    for algo in ["ll", "ll-twoshot", "twoshot"] {
        let wrapping = Worlds::new(3, 1)
            .algo(algo)
            .variable("NCCLBENCH_FIRST_TICK", "4294967200");
        sweep::expect_right(&outcomes(&wrapping, "allreduce"));
    }
}

#[test]
fn what_is_not_offered_is_waived_with_the_reason() {
    let waived = |world: &Worlds, name: &str| -> String {
        let outcomes = outcomes(world, name);
        // What has no element on any rank is nothing to be waived.
        let large = outcomes.into_iter().filter(|(case, _)| case.count > 0);
        let mut reasons = large.map(|(case, outcome)| match outcome {
            Err(reason) => reason,
            Ok(found) => panic!("{name} on {world:?} was run: {found:?} {case:?}"),
        });
        reasons.next_back().unwrap()
    };
    let two = Worlds::new(2, 1);
    assert!(waived(&two, "sendrecv").contains("send is not offered"));
    assert!(waived(&two, "gather").contains("not offered"));
    let put = Worlds::new(2, 1).algo("put");
    let reason = waived(&put, "allreduce");
    assert!(reason.contains("`put` does not run allreduce"), "{reason}");
    let apart = Worlds::new(2, 1).on_hosts_apart();
    let reason = waived(&apart, "allreduce");
    assert!(reason.contains("within one host"), "{reason}");
    let many = Worlds::new(17, 1);
    let reason = waived(&many, "broadcast");
    assert!(reason.contains("16 ranks"), "{reason}");
}

#[test]
fn what_is_beyond_an_algorithm_is_waived_and_the_table_takes_another() {
    let small = |algo: Option<&str>| {
        let world = Worlds::new(2, 1);
        let world = match algo {
            Some(algo) => world.algo(algo),
            None => world,
        };
        let world = world.blocks(1);
        outcomes(&world, "allreduce")
    };
    let beyond = |(case, outcome): &Outcome| case.size > Bytes(16 << 10) && outcome.is_err();
    let forced = small(Some("ll"));
    let waived: Vec<_> = forced.iter().filter(|outcome| beyond(outcome)).collect();
    assert!(!waived.is_empty() && waived.len() < forced.len());
    let reason = waived[0].1.clone().unwrap_err();
    assert!(reason.contains("beyond algorithm `ll`"), "{reason}");
    sweep::expect_right(&small(None));
}

#[test]
fn a_table_decides_which_algorithm_runs() {
    let tuning = Tuning {
        tuning_schema: TUNING_SCHEMA,
        shape: Shape::default(),
        choices: vec![Choice {
            collective: "allreduce".to_owned(),
            up_to_bytes: u64::MAX,
            algo: "oneshot".to_owned(),
            blocks: Some(2),
            block_threads: Some(32),
        }],
    };
    let world = Worlds::new(2, 1).tuning(tuning);
    sweep::expect_right(&outcomes(&world, "allreduce"));
}

#[test]
fn a_kernel_that_moves_no_data_is_timed_and_not_checked() {
    for algo in ["nothing", "local-flag", "peer-flag", "barrier"] {
        let outcomes = outcomes(&Worlds::new(3, 1).algo(algo), "allreduce");
        assert!(outcomes.iter().all(|(_, outcome)| *outcome == Ok(None)));
    }
}

#[test]
fn a_rank_that_does_not_come_is_named_with_what_it_was_to_do() {
    for (algo, phase) in [("ll", "to send its data"), ("twoshot", "to begin")] {
        let world = Worlds::new(3, 1).algo(algo).op_limit_ms(500);
        let faults = world.on_threads(|session, seat, _| {
            let send = session.alloc(0, Bytes(4096)).unwrap();
            let recv = session.alloc(0, Bytes(4096)).unwrap();
            if seat.ranks[0].0 == 2 {
                return None;
            }
            let span = |buffer| Span::whole(buffer, Bytes(64));
            let sum =
                session
                    .ops(0)
                    .all_reduce(span(send), span(recv), DataType::Float, RedOp::Sum);
            sum.unwrap();
            loop {
                match session.poll() {
                    Ok(false) => std::thread::yield_now(),
                    Ok(true) => panic!("an operation without rank 2 is complete"),
                    Err(fault) => return Some(fault),
                }
            }
        });
        let met: Vec<_> = faults.into_iter().flatten().collect();
        assert_eq!(met.len(), 2);
        for fault in met {
            assert_eq!(fault.kind, Kind::Timeout, "{fault}");
            let text = format!("gave up waiting for rank 2 {phase}");
            assert!(fault.message.contains(&text), "{fault}");
        }
    }
}

#[test]
fn an_abort_ends_kernels_and_copy_engines_that_wait() {
    for (algo, name) in [("ll", "allreduce"), ("engine", "alltoall")] {
        let world = Worlds::new(2, 1).algo(algo);
        let what = collective::by_name(name).unwrap();
        let ended = world.on_threads(|session, seat, _| {
            let send = session.alloc(0, Bytes(4096)).unwrap();
            let recv = session.alloc(0, Bytes(4096)).unwrap();
            if seat.ranks[0].0 == 1 {
                return true;
            }
            let call = world::call(send, recv, 64, what.uses().redop);
            let layout = world::layout(what, 64, seat.world);
            what.launch(session.ops(0), &call, &layout).unwrap();
            assert!(!session.poll().unwrap());
            session.aborter().abort();
            let fault = session.poll().unwrap_err();
            fault.kind == Kind::Interrupted
        });
        assert_eq!(ended, [true, true], "{algo}");
    }
}
