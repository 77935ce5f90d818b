//! The model behaves as a machine would: latency, bandwidth, queues, groups.

use super::lane::LAUNCH_US;
use super::*;
use crate::base::{DataType, RedOp};

/// Time that `body` takes on a fresh session of one lane in a world of `n`, in µs.
fn took(n: u32, seed: u64, body: impl Fn(&dyn Ops)) -> f64 {
    let mut session = SimSession::new(World(n), &[Rank(0)], seed);
    body(session.ops(0));
    assert_eq!(session.poll(), Ok(true));
    session.clock.now_us()
}

fn span(len: u64) -> Span {
    Span::whole(Buffer(0), Bytes(len))
}

fn all_reduce(ops: &dyn Ops, len: u64) {
    let done = ops.all_reduce(span(len), span(len), DataType::Float, RedOp::Sum);
    assert_eq!(done, Ok(()));
}

#[test]
fn the_same_seed_gives_the_same_time_and_another_seed_another() {
    let time = |seed| took(5, seed, |ops| all_reduce(ops, 1 << 20)).to_bits();
    assert_eq!(time(7), time(7));
    assert_ne!(time(7), time(8));
}

#[test]
fn small_sizes_cost_latency_and_large_ones_bandwidth_in_every_world() {
    for n in [1, 2, 3, 5, 7, 64, 4096] {
        let small = took(n, 1, |ops| all_reduce(ops, 8));
        let large = took(n, 1, |ops| all_reduce(ops, 8 << 30));
        assert!(small > LAUNCH_US / 2.0 && small < 100.0, "{n}: {small}");
        assert!(large > 1000.0 && large < 60_000.0, "{n}: {large}");
    }
}

#[test]
fn operations_queue_behind_each_other_and_a_group_is_launched_once() {
    let one = took(3, 1, |ops| all_reduce(ops, 1024));
    let ten = took(3, 1, |ops| (0..10).for_each(|_| all_reduce(ops, 1024)));
    assert!(ten > 9.0 * one && ten < 11.0 * one, "{one} {ten}");
    let grouped = took(3, 1, |ops| {
        let body = &mut || {
            (0..10).for_each(|_| all_reduce(ops, 1024));
            ops.group(&mut || Ok(()))
        };
        assert_eq!(ops.group(body), Ok(()));
    });
    assert!(grouped < ten - 8.0 * LAUNCH_US, "{grouped} {ten}");
}

#[test]
fn sends_and_receives_of_a_group_share_the_link_in_both_directions() {
    let alone = took(2, 1, |ops| {
        assert_eq!(ops.send(span(1 << 30), DataType::Float, Rank(1)), Ok(()));
    });
    let both = took(2, 1, |ops| {
        let body = &mut || {
            ops.send(span(1 << 30), DataType::Float, Rank(1))?;
            ops.recv(span(1 << 30), DataType::Float, Rank(1))
        };
        assert_eq!(ops.group(body), Ok(()));
    });
    assert!((both / alone - 1.0).abs() < 0.01, "{alone} {both}");
}

#[test]
fn lanes_of_a_thread_run_beside_each_other() {
    let ranks = [Rank(0), Rank(1), Rank(2)];
    let mut session = SimSession::new(World(3), &ranks, 1);
    let body = &mut || {
        (0..3).for_each(|lane| all_reduce(session.ops(lane), 1 << 30));
        Ok(())
    };
    assert_eq!(Session::group(&session, body), Ok(()));
    assert_eq!(session.poll(), Ok(true));
    let one = took(3, 1, |ops| all_reduce(ops, 1 << 30));
    let three = session.clock.now_us();
    assert!((three / one - 1.0).abs() < 0.2, "{one} {three}");
}

#[test]
fn an_aborted_session_says_so_when_it_is_waited_for() {
    let mut session = SimSession::new(World(2), &[Rank(1)], 1);
    session.aborter().abort();
    assert_eq!(session.poll().unwrap_err().kind, Kind::Interrupted);
}
