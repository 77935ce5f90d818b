//! The engine threads' plane, on top of a single process.

use super::*;
use crate::bootstrap::solo::Solo;
use crate::bootstrap::testing;
use proptest::prelude::*;

const STEP: Step<'_> = Step {
    name: "a step",
    limit: Duration::from_secs(20),
};

fn planes(threads: usize) -> Vec<ThreadPlane> {
    let inner = Arc::new(Solo::new(testing::peer(0)));
    ThreadPlane::join(inner, threads, testing::clock())
}

#[test]
fn every_thread_gets_every_threads_bytes_round_after_round() {
    for threads in [1, 2, 3, 5, 7] {
        testing::each(planes(threads), |plane| {
            for round in 0..50u8 {
                let mine = vec![round; plane.member() + 1];
                let all = plane.all_gather(STEP, &mine).unwrap();
                let expected: Vec<_> = (1..=threads).map(|len| vec![round; len]).collect();
                assert_eq!(all, expected);
                plane.start_line(STEP).unwrap();
                let said = (plane as &dyn Bootstrap).broadcast(STEP, &mine).unwrap();
                assert_eq!(said, [round]);
            }
        });
    }
}

#[test]
fn the_lowest_failing_threads_fault_is_everybodys() {
    testing::each(planes(5), |plane| {
        let mine = match plane.member() {
            0 | 2 => Ok(()),
            other => Err(Fault::usage(format!("member {other}"))),
        };
        let agreed = plane.agree(STEP, mine);
        assert_eq!(agreed, Err(Fault::usage("member 1")));
        assert_eq!(plane.agree(STEP, Ok(())), Ok(()));
    });
}

#[test]
fn a_thread_that_never_arrives_is_named_with_what_it_was_doing() {
    let mut planes = planes(3);
    let absent = planes.remove(1);
    absent.pulse().enter("reading a book");
    testing::each(planes, |plane| {
        let short = Step {
            limit: Duration::from_millis(30),
            ..STEP
        };
        let fault = plane.barrier(short).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "2 of 3 threads came to `a step` within 0.03 s; missing: 1\n  \
             thread 1: reading a book"
        );
    });
    assert_eq!(absent.barrier(STEP).unwrap_err().kind, Kind::Timeout);
}

#[test]
fn a_fault_releases_the_threads_that_wait() {
    let mut planes = planes(3);
    let failing = planes.remove(2);
    let ending = std::thread::scope(|scope| {
        for plane in &planes {
            scope.spawn(|| assert_eq!(plane.barrier(STEP), Err(Fault::usage("broken"))));
        }
        failing.fail(Fault::usage("broken"))
    });
    assert_eq!(ending.exit_code, 2);
}

#[test]
fn threads_that_call_different_things_are_told() {
    let planes = planes(2);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| planes[0].barrier(STEP));
        while planes[0].shared.lock().asked.is_none() {
            std::thread::yield_now();
        }
        let fault = planes[1].agree(STEP, Ok(())).unwrap_err();
        assert_eq!(fault.kind, Kind::Disagree);
        planes[1].fail(fault.clone());
        assert_eq!(first.join().unwrap(), Err(fault));
    });
}

proptest! {
    #[test]
    fn what_is_packed_unpacks(parts in proptest::collection::vec(any::<Vec<u8>>(), 0..5)) {
        prop_assert_eq!(super::pack::unpack(&pack(&parts)), Some(parts));
    }

    #[test]
    fn any_bytes_are_unpacked_without_a_panic(bytes: Vec<u8>) {
        drop(super::pack::unpack(&bytes));
    }
}

#[test]
fn the_threads_of_a_process_form_a_group_together_or_not_at_all() {
    testing::each(planes(3), |plane| {
        let group = plane.group(STEP, 4, 0).unwrap();
        assert_eq!((group.member(), group.members()), (plane.member(), 3));
        assert_eq!(group.all_gather(STEP, &[1]).unwrap().len(), 3);
        let own = plane.member() as u64;
        let fault = plane.group(STEP, own, 0).unwrap_err();
        assert_eq!(fault.kind, Kind::Unsupported);
    });
}
