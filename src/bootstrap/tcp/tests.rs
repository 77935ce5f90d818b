//! The plane over real sockets on loopback: members as threads.

use super::*;
use crate::bootstrap::testing;
use std::sync::mpsc;

pub(super) const STEP: Step<'_> = Step {
    name: "a step",
    limit: Duration::from_secs(30),
};

pub(super) fn joining(member: u32, members: u32) -> Joining {
    Joining {
        member,
        members,
        me: testing::peer(member),
        job: "a job".to_owned(),
        secret: Secret::new("swordfish"),
        limit: Duration::from_secs(30),
        clock: testing::clock(),
    }
}

fn low(number: usize) -> u8 {
    u8::try_from(number).unwrap()
}

pub(super) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

type Outcome = Result<TcpPlane, Ending>;

/// Joins all of `joinings`, the first of which listens; outcomes in the same order.
fn meet(joinings: Vec<Joining>) -> Vec<Outcome> {
    let (listener, address) = listener();
    let clock = testing::clock();
    std::thread::scope(|scope| {
        let mut rest = joinings.into_iter().map(|joining| Joining {
            clock: Arc::clone(&clock),
            ..joining
        });
        let first = rest.next().unwrap();
        let hosting = scope.spawn(move || host(&first, vec![listener], address.to_string()));
        let others: Vec<_> = rest
            .map(|joining| scope.spawn(move || connect(&joining, &[address])))
            .collect();
        std::iter::once(hosting)
            .chain(others)
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

pub(super) fn world(members: u32) -> Vec<TcpPlane> {
    let joinings = (0..members)
        .map(|member| joining(member, members))
        .collect();
    meet(joinings).into_iter().map(Result::unwrap).collect()
}

#[test]
fn every_member_gets_every_members_bytes_in_worlds_of_odd_sizes() {
    for members in [1, 2, 3, 5, 7] {
        testing::each(world(members), |plane| {
            for round in 0..20u8 {
                let mine = vec![round; plane.member() * 1000];
                let all = plane.all_gather(STEP, &mine).unwrap();
                for (member, bytes) in all.iter().enumerate() {
                    assert_eq!(*bytes, vec![round; member * 1000]);
                }
                assert_eq!(all.len(), plane.members());
                plane.start_line(STEP).unwrap();
                let any: &dyn Bootstrap = plane;
                let said = any.broadcast(STEP, &[low(plane.member()), round]);
                assert_eq!(said.unwrap(), [0, round]);
            }
            plane.leave();
            assert_eq!(plane.ended(), None);
        });
    }
}

#[test]
fn several_mebibytes_of_each_member_arrive_whole() {
    testing::each(world(3), |plane| {
        let mine = vec![low(plane.member()); 5_000_001];
        let all = plane.all_gather(STEP, &mine).unwrap();
        assert!(all.iter().all(|bytes| bytes.len() == 5_000_001));
        assert_eq!(all[2][5_000_000], 2);
        plane.leave();
    });
}

#[test]
fn the_lowest_failing_members_fault_is_everybodys() {
    testing::each(world(5), |plane| {
        let mine = match plane.member() {
            1 | 4 => Err(Fault::usage(format!("member {}", plane.member()))),
            _ => Ok(()),
        };
        let met = Fault::usage("member 1").at(crate::bootstrap::peer::place(&testing::peer(1), 1));
        assert_eq!(plane.agree(STEP, mine), Err(met));
        assert_eq!(plane.agree(STEP, Ok(())), Ok(()));
        plane.leave();
    });
}

#[test]
fn peers_are_known_to_all() {
    testing::each(world(3), |plane| {
        let pids: Vec<u32> = plane.peers().iter().map(|peer| peer.pid).collect();
        assert_eq!(pids, [1000, 1001, 1002]);
        plane.leave();
    });
}

#[test]
fn members_that_do_not_come_to_a_step_are_named_with_what_they_do() {
    let short = Step {
        limit: Duration::from_millis(50),
        ..STEP
    };
    testing::each(world(5), |plane| {
        if plane.member() == 3 {
            plane.pulse().enter("reading a book");
            plane.barrier(STEP).unwrap();
            plane
                .post
                .desk
                .await_ending(Duration::from_secs(30))
                .unwrap();
        } else {
            plane.pulse().enter("reading another");
            plane.barrier(STEP).unwrap();
            let fault = plane.barrier(short).unwrap_err();
            let ending = plane.fail(fault);
            assert_eq!(ending.exit_code, 4);
            assert_eq!(
                ending.fault.to_string(),
                "rank 3 (node1): did not go on while reading a book; all others are further\n  \
                 noticed: 4 of 5 ranks came to `a step` within 0.05 s; missing: 3 (node1)\n  \
                 ranks   host   gpus  issued  finished  doing\n  \
                 3       node1  –          0         0  reading a book\n  \
                 0–2, 4  node1  –          0         0  reading another, waiting for the others"
            );
            assert_eq!(ending.report.is_some(), plane.member() == 0);
        }
    });
}

#[test]
fn a_member_that_is_gone_is_named_and_all_end_alike() {
    let mut planes = world(5);
    planes[0].pulse().enter("measuring 1 MiB");
    drop(planes.remove(3));
    testing::each(planes, |plane| {
        let fault = plane.barrier(STEP).unwrap_err();
        assert!(
            fault
                .to_string()
                .starts_with("rank 3 (node1, pid 1003) left without a word while measuring 1 MiB"),
            "{fault}"
        );
        assert_eq!(plane.fail(Fault::usage("late")).exit_code, 4);
    });
}

#[test]
fn when_the_first_member_is_gone_one_of_each_host_says_so() {
    let mut planes = world(4);
    drop(planes.remove(0));
    testing::each(planes, |plane| {
        let fault = plane.barrier(STEP).unwrap_err();
        assert!(
            fault
                .message
                .starts_with("rank 0 (node1, pid 1000) left without a word")
        );
        let ending = plane.fail(fault);
        assert_eq!(
            (ending.exit_code, ending.report.is_some()),
            (4, plane.member() == 1)
        );
    });
}

#[test]
fn a_fault_of_several_members_is_told_once_and_wakes_those_that_wait_and_their_hooks() {
    let (tell, told) = mpsc::channel();
    let planes = world(5);
    for plane in &planes {
        let tell = tell.clone();
        plane.on_end(Box::new(move |ending| tell.send(ending.exit_code).unwrap()));
    }
    testing::each(planes, |plane| {
        if plane.member() == 0 {
            assert_eq!(
                plane.barrier(STEP).unwrap_err().message,
                "ncclAllReduce failed"
            );
        }
        let ending = plane.fail(Fault::new(Kind::Call, "ncclAllReduce failed"));
        assert_eq!(ending.exit_code, 3);
        if plane.member() == 0 {
            let report = ending.report.unwrap();
            assert!(
                report.contains("ncclAllReduce failed\n  also on ranks"),
                "{report}"
            );
        }
    });
    assert_eq!(told.iter().take(5).collect::<Vec<_>>(), [3; 5]);
}

#[test]
fn members_that_do_different_things_are_told() {
    testing::each(world(2), |plane| {
        let name = ["warm-up", "plan"][plane.member()];
        let fault = plane.barrier(Step { name, ..STEP }).unwrap_err();
        assert_eq!(fault.kind, Kind::Disagree);
        assert!(fault.message.contains("`warm-up`") && fault.message.contains("`plan`"));
    });
}

#[test]
fn a_goodbye_is_no_death_but_a_step_without_the_one_who_left_is_a_fault() {
    let planes = world(3);
    planes[2].leave();
    assert_eq!(planes[2].ended(), None);
    let fault = planes[1].barrier(STEP).unwrap_err();
    assert!(
        fault
            .message
            .starts_with("rank 2 (node1, pid 1002) had said goodbye"),
        "{fault}"
    );
}

/// The faults of all; the first member alone prints one.
fn refused(outcomes: Vec<Outcome>) -> Vec<Fault> {
    let endings = outcomes.into_iter().map(Result::unwrap_err).enumerate();
    let fault = |(member, ending): (usize, Ending)| {
        assert_eq!(ending.report.is_some(), member == 0, "{ending:?}");
        ending.fault
    };
    endings.map(fault).collect()
}

#[test]
fn two_processes_with_one_rank_are_refused_with_one_message_naming_both() {
    let twin = Joining {
        me: PeerInfo {
            pid: 77,
            ..testing::peer(1)
        },
        ..joining(1, 3)
    };
    let faults = refused(meet(vec![joining(0, 3), joining(1, 3), twin]));
    assert!(
        faults[0].message.contains("say that they are rank 1"),
        "{}",
        faults[0]
    );
    assert!(faults[0].message.contains("1001") && faults[0].message.contains("77"));
    assert_eq!(
        (&faults[1].message, faults[0].kind),
        (&faults[0].message, Kind::Launch)
    );
}

#[test]
fn processes_that_disagree_on_the_world_or_the_version_are_refused() {
    let faults = refused(meet(vec![joining(0, 3), joining(1, 4)]));
    assert_eq!(
        faults[1].message,
        "ranks disagree on the world: rank 0 (node1, pid 1000) was started as one of 3 \
         processes, rank 1 (node1, pid 1001) as one of 4"
    );
    let newer = Joining {
        me: PeerInfo {
            version: "1.3.0".to_owned(),
            ..testing::peer(1)
        },
        ..joining(1, 2)
    };
    let faults = refused(meet(vec![joining(0, 2), newer]));
    assert!(
        faults[0]
            .message
            .contains("has 1.2.3, rank 1 (node1, pid 1001) has 1.3.0")
    );
    assert_eq!(faults[0], faults[1]);
}

#[test]
fn ranks_that_do_not_meet_in_time_are_named() {
    let (listener, address) = listener();
    let limit = Duration::from_millis(400);
    let short = |member| Joining {
        limit,
        ..joining(member, 5)
    };
    std::thread::scope(|scope| {
        for member in [1, 4] {
            scope.spawn(move || connect(&short(member), &[address]).unwrap_err());
        }
        let fault = host(&short(0), vec![listener], "here:1".to_owned())
            .unwrap_err()
            .fault;
        assert_eq!(fault.kind, Kind::Timeout);
        assert_eq!(
            fault.message,
            "3 of 5 ranks met at here:1 within 0.4 s; missing: 2, 3"
        );
    });
}

#[test]
fn a_member_that_finds_nobody_says_where_it_looked() {
    let (listener, address) = listener();
    drop(listener);
    let lonely = Joining {
        limit: Duration::from_millis(60),
        ..joining(1, 2)
    };
    let fault = connect(&lonely, &[address]).unwrap_err().fault;
    assert_eq!(fault.message, "did not meet rank 0 within 0.06 s");
    assert!(fault.details[0].contains(&address.to_string()), "{fault}");
    assert!(fault.details[0].contains("refused"), "{fault}");
}

#[test]
fn the_second_of_two_places_is_found_when_another_run_sits_at_the_first() {
    let (other, taken) = listener();
    let (ours, address) = listener();
    std::thread::scope(|scope| {
        let stranger = Joining {
            job: "another".to_owned(),
            ..joining(0, 1)
        };
        let strange = host(&stranger, vec![other], String::new()).unwrap();
        let hosting = scope.spawn(move || host(&joining(0, 2), vec![ours], String::new()));
        let member = connect(&joining(1, 2), &[taken, address]).unwrap();
        let first = hosting.join().unwrap().unwrap();
        drop(strange);
        testing::each(vec![first, member], |plane| {
            plane.barrier(STEP).unwrap();
            plane.leave();
        });
    });
}
