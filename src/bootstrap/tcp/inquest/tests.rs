//! What is made of what members report.

use super::*;
use crate::base::fault::Place;
use crate::bootstrap::testing;

const NOW: Duration = Duration::from_secs(100);

fn open(members: u32) -> Inquest {
    Inquest::open((0..members).map(testing::peer).collect(), NOW)
}

fn reading(phase: &str, issued: u64) -> Vec<Reading> {
    vec![Reading {
        phase: phase.to_owned(),
        phases: 3,
        issued,
        finished: 20,
        ..Reading::default()
    }]
}

#[test]
fn equal_faults_of_several_members_are_told_once_with_the_list_of_ranks() {
    let mut inquest = open(16);
    for member in [9, 8, 10, 11, 12, 13] {
        let fault = Fault::new(Kind::Call, "ncclCommInitRank failed").hint("read the log");
        assert!(!inquest.told(member, fault, NOW));
    }
    assert!(!inquest.is_over(NOW));
    assert!(inquest.is_over(NOW + WINDOW));
    let ending = inquest.conclude();
    assert_eq!(ending.exit_code, 3);
    assert_eq!(
        ending.report.unwrap(),
        "rank 9 (node1): ncclCommInitRank failed\n  also on ranks 8, 10–13 (node1)\n\n\
         hint: read the log"
    );
}

#[test]
fn copies_of_one_fault_that_all_agreed_on_do_not_make_it_everybodys() {
    let mut inquest = open(3);
    let place = Place {
        rank: 1,
        host: "node1".to_owned(),
        gpu: Some(1),
    };
    for member in [2, 0, 1] {
        let fault = Fault::new(Kind::Call, "no memory").at(place.clone());
        inquest.told(member, fault, NOW);
    }
    assert!(inquest.is_over(NOW), "all have told");
    let report = inquest.conclude().report.unwrap();
    assert_eq!(report, "rank 1 (node1, gpu 1): no memory");
}

#[test]
fn two_that_met_the_same_are_a_rank_and_another_rank() {
    let mut inquest = open(3);
    inquest.told(0, Fault::new(Kind::Call, "no memory"), NOW);
    inquest.told(2, Fault::new(Kind::Call, "no memory"), NOW);
    let report = inquest.conclude().report.unwrap();
    assert_eq!(
        report,
        "rank 0 (node1): no memory\n  also on rank 2 (node1)"
    );
}

#[test]
fn what_all_say_of_the_run_as_a_whole_is_said_without_a_rank() {
    let mut inquest = open(3);
    for member in 0..3 {
        let fault = Fault::new(Kind::Disagree, "ranks disagree on the plan");
        inquest.told(member, fault, NOW);
    }
    let report = inquest.conclude().report.unwrap();
    assert_eq!(report, "ranks disagree on the plan");
}

#[test]
fn of_a_death_and_a_failed_call_both_are_told_the_death_first() {
    let mut inquest = open(3);
    inquest.told(0, Fault::new(Kind::Call, "remote error"), NOW);
    inquest.died(2, "measuring 1 MiB");
    let ending = inquest.conclude();
    assert_eq!((ending.exit_code, ending.mute), (4, false));
    let report = ending.report.unwrap();
    let first = "rank 2 (node1, pid 1002) left without a word while measuring 1 MiB";
    assert!(report.starts_with(first), "{report}");
    assert!(
        report.ends_with("\n\nerror: rank 0 (node1): remote error"),
        "{report}"
    );
}

#[test]
fn two_deaths_are_told_as_one_and_another() {
    let mut inquest = open(4);
    inquest.died(2, "checking");
    inquest.died(1, "checking");
    let report = inquest.conclude().report.unwrap();
    assert!(report.contains("\n  so did rank 1 (node1)"), "{report}");
}

#[test]
fn what_members_say_of_a_member_that_is_gone_and_say_again_is_not_told_beside_the_cause() {
    let mut inquest = open(3);
    inquest.told(0, Fault::new(Kind::Peer, "rank 2 is gone"), NOW);
    inquest.told(1, Fault::new(Kind::Call, "no memory"), NOW);
    inquest.told(1, Fault::new(Kind::Call, "and another thing"), NOW);
    let report = inquest.conclude().report.unwrap();
    assert_eq!(report, "rank 1 (node1): no memory");
    let mut alone = open(3);
    alone.told(0, Fault::new(Kind::Peer, "rank 2 is gone"), NOW);
    let report = alone.conclude().report.unwrap();
    assert_eq!(report, "rank 0 (node1): rank 2 is gone");
}

#[test]
fn when_a_step_is_overdue_who_gives_no_answer_comes_first_in_the_table() {
    let mut inquest = open(5);
    let arrived = [true, false, false, true, true];
    assert!(inquest.overdue(("plan", Duration::from_mins(1)), &arrived, NOW));
    for member in [0, 1, 3, 4] {
        let issued = if member == 1 { 100 } else { 120 };
        inquest.answered(member, reading("measuring 1 MiB", issued));
    }
    assert!(!inquest.is_over(NOW + WINDOW));
    assert!(inquest.is_over(NOW + ANSWER_LIMIT));
    let ending = inquest.conclude();
    assert!(ending.mute);
    assert_eq!(
        ending.report.unwrap(),
        "rank 2 (node1): did not go on and gives no answer: process 1002 is stopped or hung\n  \
         noticed: 3 of 5 ranks came to `plan` within 60 s; missing: 1, 2 (node1)\n  \
         ranks    host   gpus  issued  finished  doing\n  \
         2        node1  –          –         –  no answer: stopped or hung\n  \
         0, 3, 4  node1  –        120        20  measuring 1 MiB\n  \
         1        node1  –        100        20  measuring 1 MiB"
    );
}

#[test]
fn deadlines_of_several_members_make_one_report_that_names_who_is_behind() {
    let mut inquest = open(3);
    let late = |open: u32| Fault::new(Kind::Timeout, format!("{open} in flight")).hint("wait");
    assert!(inquest.told(1, late(18), NOW));
    assert!(!inquest.told(0, late(20), NOW));
    for member in 0..3 {
        inquest.answered(member, reading("checking 8 B", 40 - 5 * member as u64));
    }
    assert!(inquest.is_over(NOW + WINDOW));
    let report = inquest.conclude().report.unwrap();
    assert!(
        report.starts_with("rank 2 (node1): did not go on while checking 8 B: 30 operations"),
        "{report}"
    );
    assert!(report.contains("noticed by rank 1 (node1): 18 in flight"));
    assert!(!report.contains("error: ") && !report.contains("also on"));
    assert!(report.ends_with("\n\nhint: wait"), "{report}");
}

#[test]
fn a_witness_is_waited_for_and_what_it_says_is_told_last() {
    let mut inquest = open(2);
    inquest.told(0, Fault::new(Kind::Timeout, "late"), NOW);
    inquest.await_witness(NOW + 2 * ANSWER_LIMIT);
    inquest.answered(0, reading("x", 1));
    inquest.answered(1, reading("x", 2));
    assert!(!inquest.is_over(NOW + ANSWER_LIMIT));
    inquest.witnessed(vec!["the network is down".to_owned()]);
    assert!(inquest.is_over(NOW + WINDOW));
    let report = inquest.conclude().report.unwrap();
    assert!(report.ends_with("\n  the network is down"), "{report}");
}

#[test]
fn when_all_have_answered_nobody_waits_for_the_answer_limit() {
    let mut inquest = open(2);
    assert!(inquest.overdue(("x", NOW), &[true, false], NOW));
    inquest.answered(0, reading("x", 1));
    inquest.answered(1, reading("x", 1));
    assert_eq!(inquest.deadline(), NOW + WINDOW);
    assert!(inquest.is_over(NOW + WINDOW));
}
