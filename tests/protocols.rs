//! Models of how ranks wait for each other in `kernels/comm.h`, under every order of their steps that
//! the memory model allows (loom): the barrier, packets in two generations, two shots, the lone
//! sender, and the wrap of the ticks. Each also without the part that makes it right, which must fail.
//!
//! A rank is a thread with one block of one thread; an operation is a launch. That earlier launches
//! of a stream are complete and to be seen by all when the next begins is the stream's promise,
//! modelled as a release fence. What the kernels do with addresses is tested on the CPU
//! (`tests/kernels/collectives.cpp`, `tests/own_kernels.rs`).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "protocols/team.rs"]
mod team;

use loom::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use team::{Flaw, Team};

/// Runs every order of some operations of two ranks.
fn explore(flaw: Flaw, first_tick: u32, body: fn(&Team, usize)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.max_branches = 3_000;
    model.check(move || {
        let team = Arc::new(Team::new(flaw, first_tick));
        let other = Arc::clone(&team);
        let thread = loom::thread::spawn(move || body(&other, 1));
        body(&team, 0);
        thread.join().unwrap();
    });
}

fn fails(flaw: Flaw, body: fn(&Team, usize)) {
    let failed = catch_unwind(AssertUnwindSafe(|| explore(flaw, 0, body))).is_err();
    assert!(failed, "{flaw:?} makes no difference");
}

/// A tick from which the third operation wraps.
const LATE: u32 = u32::MAX - 2;

/// Reads the other's input between two barriers and then overwrites its own, twice.
fn pull(team: &Team, me: usize) {
    for operation in 0..2 {
        team.pull(me, operation);
    }
}

#[test]
fn between_two_barriers_inputs_may_be_read_and_then_overwritten() {
    explore(Flaw::None, 0, pull);
}

#[test]
fn without_the_second_barrier_an_input_is_overwritten_while_it_is_read() {
    fails(Flaw::NoExit, pull);
}

/// Writes into the other's output between two barriers, twice.
fn put(team: &Team, me: usize) {
    for operation in 0..2 {
        team.put(me, operation);
    }
}

#[test]
fn what_was_put_is_there_after_the_second_barrier() {
    explore(Flaw::None, 0, put);
}

#[test]
fn without_a_release_what_was_put_need_not_be_there() {
    fails(Flaw::RelaxedExit, put);
}

/// Packets to each other, three operations.
fn packets(team: &Team, me: usize) {
    for operation in 0..3 {
        team.packets(me, operation);
    }
}

#[test]
fn packets_arrive_whole_and_in_their_own_operation() {
    explore(Flaw::None, 0, packets);
}

#[test]
fn packets_arrive_across_the_wrap() {
    explore(Flaw::None, LATE, packets);
}

#[test]
fn with_one_generation_of_slots_a_packet_is_overwritten_before_it_is_read() {
    fails(Flaw::OneGeneration, packets);
}

#[test]
fn with_one_flag_for_two_halves_a_packet_is_torn() {
    fails(Flaw::HalfFlag, packets);
}

/// Two shots by packets, two operations.
fn two_shots(team: &Team, me: usize) {
    for operation in 0..2 {
        team.two_shots(me, operation);
    }
}

#[test]
fn results_of_two_shots_arrive() {
    explore(Flaw::None, 0, two_shots);
}

#[test]
fn results_of_two_shots_arrive_across_the_wrap() {
    explore(Flaw::None, u32::MAX - 1, two_shots);
}

#[test]
fn results_that_share_the_slots_of_the_data_are_mistaken_for_it() {
    fails(Flaw::SharedSlots, two_shots);
}

/// One rank alone sends, three operations.
fn broadcast(team: &Team, me: usize) {
    for operation in 0..3 {
        team.broadcast(me, operation);
    }
}

#[test]
fn a_lone_sender_does_not_come_round_to_what_was_not_read() {
    explore(Flaw::None, 0, broadcast);
}

#[test]
fn a_lone_sender_that_hears_nothing_overwrites_what_was_not_read() {
    fails(Flaw::NoArrivals, broadcast);
}

/// Operations of different kinds after each other share ticks and slots.
fn mixed(team: &Team, me: usize) {
    team.packets(me, 0);
    team.pull(me, 1);
    team.packets(me, 2);
}

#[test]
fn operations_of_different_kinds_follow_each_other() {
    explore(Flaw::None, 0, mixed);
}
