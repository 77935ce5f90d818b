//! Large worlds: hundreds of simulated members at one hub, and what is too much for it.

use super::swarm::{Recipe, Swarm};
use super::*;
use crate::bootstrap::testing;
use crate::bootstrap::threads::ThreadPlane;

const STEP: Step<'_> = Step {
    name: "a step",
    limit: Duration::from_mins(1),
};

const MEMBERS: u32 = 301;

fn joining(members: u32) -> Joining {
    Joining {
        member: 0,
        members,
        me: testing::peer(0),
        job: "a job".to_owned(),
        secret: Secret::new("swordfish"),
        limit: STEP.limit,
        clock: testing::clock(),
    }
}

/// Runs `first` as member 0 and `others` with all other members, played by one thread.
fn meet(members: u32, first: impl FnOnce(TcpPlane), others: impl FnOnce(Swarm) + Send) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let all = joining(members);
        scope.spawn(move || {
            let recipe = Recipe {
                peers: (1..members).map(testing::peer).collect(),
                members,
                job: all.job,
                secret: all.secret,
                limit: all.limit,
                clock: all.clock,
            };
            others(Swarm::join(recipe, address).unwrap());
        });
        first(host(&joining(members), vec![listener], String::new()).unwrap());
    });
}

#[test]
fn hundreds_of_members_that_come_at_once_meet_step_and_leave() {
    meet(
        MEMBERS,
        |plane| {
            assert_eq!(plane.peers()[300].pid, 1300);
            plane.barrier(STEP).unwrap();
            let all = plane.all_gather(STEP, b"first").unwrap();
            assert_eq!(all.len(), 301);
            assert_eq!((&all[0][..], &all[300][..]), (&b"first"[..], &b"other"[..]));
            plane.leave();
            assert_eq!(plane.ended(), None);
        },
        |mut swarm| {
            swarm.barrier(STEP).unwrap();
            swarm.all_gather(STEP, b"other".to_vec()).unwrap();
            swarm.leave();
        },
    );
}

#[test]
fn what_all_have_given_is_sent_to_the_first_only_where_one_answer_is_asked_for() {
    meet(
        MEMBERS,
        |plane| {
            let join = |all: &[Vec<u8>]| Ok(all.concat());
            let answer = plane.decide(STEP, &[1; 1000], &join).unwrap();
            assert_eq!(answer.len(), 1000 + 300 * 1000);
            plane.leave();
        },
        |mut swarm| {
            let came = swarm.received();
            swarm.collect(STEP, vec![2; 1000]).unwrap();
            assert!(swarm.received() - came < 300 * 100);
            swarm.broadcast(STEP).unwrap();
            swarm.leave();
        },
    );
}

#[test]
fn a_step_that_is_given_more_than_one_message_can_hold_ends_the_run_by_its_name() {
    meet(
        40,
        |plane| {
            let fault = plane.all_gather(STEP, &[]).unwrap_err();
            assert_eq!(fault.kind, Kind::Unsupported);
            assert!(
                fault.message.contains("`a step`") && fault.message.contains("256 MiB"),
                "{fault}"
            );
            assert_eq!(plane.fail(fault).exit_code, 3);
        },
        |mut swarm| {
            let fault = swarm.all_gather(STEP, vec![0; 10 << 20]).unwrap_err();
            assert!(fault.message.contains("256 MiB"), "{fault}");
        },
    );
}

#[test]
fn every_member_gets_what_one_of_them_chose_of_all_their_bytes_or_why_it_could_not() {
    for members in [1, 2, 3, 5, 7] {
        testing::each(super::tests::world(members), |plane| {
            let mine = plane.member().to_string();
            for round in 0..10 {
                let choose = |all: &[Vec<u8>]| Ok(all.concat());
                let chosen = plane.decide(STEP, mine.as_bytes(), &choose).unwrap();
                assert_eq!(chosen, &b"0123456"[..members as usize], "{round}");
                let refuse = |all: &[Vec<u8>]| Err(Fault::usage(all.len().to_string()));
                let refused = plane.decide(STEP, &[], &refuse);
                assert_eq!(refused, Err(Fault::usage(members.to_string())));
            }
            plane.leave();
        });
    }
}

#[test]
fn one_answer_is_chosen_of_the_bytes_of_all_threads_of_all_processes() {
    let processes = super::tests::world(3).into_iter().map(Arc::new);
    let processes: Vec<Arc<TcpPlane>> = processes.collect();
    let join = |process: &Arc<TcpPlane>| {
        let inner: Arc<dyn Bootstrap> = Arc::clone(process) as _;
        ThreadPlane::join(inner, 2, testing::clock())
    };
    testing::each(processes.iter().flat_map(join).collect(), |thread| {
        let mine = thread.member().to_string();
        let choose = |all: &[Vec<u8>]| Ok(all.concat());
        let chosen = thread.decide(STEP, mine.as_bytes(), &choose);
        assert_eq!(chosen.unwrap(), b"012345");
    });
}
