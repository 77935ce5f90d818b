//! Groups over real sockets on loopback: members as threads.

use super::tests::{STEP, world};
use super::*;
use crate::bootstrap::testing;

/// Which group a member is in, and which of them, where colours are remainders.
fn group(plane: &TcpPlane, colors: u64) -> Arc<dyn Bootstrap> {
    let member = plane.member() as u64;
    plane.group(STEP, member % colors, 0).unwrap()
}

#[test]
fn the_calls_of_a_group_involve_nobody_else_and_each_goes_its_own_way() {
    for (members, colors) in [(3, 2), (5, 2), (7, 3), (4, 4)] {
        testing::each(world(members), |plane| {
            let group = group(plane, colors);
            let color = plane.member() as u64 % colors;
            let expected: Vec<Vec<u8>> = (0..members)
                .filter(|one| u64::from(*one) % colors == color)
                .map(|one| vec![u8::try_from(one).unwrap()])
                .collect();
            assert_eq!(group.members(), expected.len());
            let mine = [u8::try_from(plane.member()).unwrap()];
            // groups make different numbers of calls, so that they would not meet if they had to
            for _ in 0..=color {
                let all = group.all_gather(STEP, &mine).unwrap();
                assert_eq!(all, expected);
                assert_eq!(all[group.member()], mine);
                group.start_line(STEP).unwrap();
                group.barrier(STEP).unwrap();
                assert_eq!(group.broadcast(STEP, &mine).unwrap(), expected[0]);
                let last = Err(Fault::usage("the last"));
                let is_last = group.member() + 1 == group.members();
                let agreed = group.agree(STEP, if is_last { last.clone() } else { Ok(()) });
                assert_eq!(agreed.unwrap_err().message, "the last");
            }
            plane.barrier(STEP).unwrap();
            plane.leave();
            assert_eq!(plane.ended(), None);
        });
    }
}

#[test]
fn members_of_a_group_are_ordered_by_their_keys() {
    testing::each(world(3), |plane| {
        let key = 10 - plane.member() as u64;
        let group = plane.group(STEP, 5, key).unwrap();
        assert_eq!(group.member(), 2 - plane.member());
        let again = plane.group(STEP, 5, 0).unwrap();
        assert_eq!(again.member(), plane.member());
        let all = again.all_gather(STEP, &[7]).unwrap();
        assert_eq!(all.len(), 3);
        plane.leave();
    });
}

#[test]
fn a_member_that_does_not_come_to_its_groups_step_is_named() {
    testing::each(world(3), |plane| {
        let group = group(plane, 2);
        group.barrier(STEP).unwrap();
        if plane.member() == 2 {
            // it waits for the end of the run instead
            let late = Step {
                name: "another step",
                limit: Duration::from_secs(30),
            };
            assert!(plane.barrier(late).is_err());
            return;
        }
        let soon = Step {
            name: "a step of two",
            limit: Duration::from_millis(300),
        };
        let fault = match plane.member() {
            0 => group.barrier(soon).unwrap_err(),
            _ => plane.barrier(STEP).unwrap_err(),
        };
        let text = plane.fail(fault).fault.to_string();
        assert!(
            text.contains("a step of two") || text.contains("step"),
            "{text}"
        );
    });
}

#[test]
fn a_fault_of_one_group_ends_the_run_for_all() {
    testing::each(world(4), |plane| {
        let group = group(plane, 2);
        if plane.member() == 3 {
            group.fail(Fault::usage("broken"));
        } else {
            let fault = group
                .all_gather(STEP, &[])
                .and_then(|_| group.barrier(STEP));
            assert!(fault.is_err() || plane.barrier(STEP).is_err());
        }
    });
}
