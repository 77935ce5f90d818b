//! The loop under nccl-tests' rarer options.

use super::fake::Deed;
use super::fake::Fake;
use super::first_measurement;
use super::spec;
use super::with_tweaks;
use crate::engine::Measured;
use crate::record::Blocking;
use crate::record::Sample;
use crate::record::Tweaks;
use std::sync::Arc;

/// 5 iterations of 2 operations, measured; and what the session was asked to do.
fn measured(blocking: Blocking, tweaks: Tweaks) -> (Sample, Vec<Deed>) {
    let job = first_measurement(&spec());
    let fake = Fake::new(&Arc::default());
    let (measured, deeds) = with_tweaks(fake, blocking, tweaks, |engine| engine.run(&job));
    match measured.unwrap() {
        Some(Measured::Timed(sample, _)) => (sample, deeds),
        other => panic!("{other:?}"),
    }
}

fn count(deeds: &[Deed], wanted: &Deed) -> usize {
    deeds.iter().filter(|deed| *deed == wanted).count()
}

#[test]
fn a_graphs_time_is_over_iterations_operations_and_launches() {
    let tweaks = Tweaks {
        graph_launches: 3,
        ..Tweaks::default()
    };
    let (sample, deeds) = measured(Blocking::None, tweaks);
    assert_eq!(sample.time_us, [7.0]);
    // one recording of the loop that is launched three times, and one for each round of checking
    assert_eq!(count(&deeds, &Deed::Recording), 1 + 2);
    assert_eq!(count(&deeds, &Deed::Launch), 3 + 2);
    assert_eq!(count(&deeds, &Deed::Forgotten), 1 + 2);
    let start = deeds.iter().position(|deed| *deed == Deed::Recording);
    let recorded: Vec<_> = deeds[start.unwrap() + 1..]
        .iter()
        .take_while(|deed| **deed != Deed::Recorded)
        .collect();
    assert_eq!(recorded.len(), 10);
}

#[test]
fn iterations_share_the_marks_between_them() {
    let tweaks = Tweaks {
        per_iteration: Some(0),
        ..Tweaks::default()
    };
    let (sample, deeds) = measured(Blocking::None, tweaks);
    let marks: Vec<_> = deeds
        .iter()
        .filter_map(|deed| match deed {
            Deed::Mark(index) => Some(*index),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [0, 1, 2, 3, 4, 5]);
    let first = deeds.iter().position(|deed| *deed == Deed::Mark(0));
    let second = deeds.iter().position(|deed| *deed == Deed::Mark(1));
    assert_eq!(
        second.unwrap() - first.unwrap(),
        1 + 2,
        "a mark, two operations"
    );
    // i² to (i+1)², for each of two operations
    assert_eq!(sample.iterations_us, [[0.5, 1.5, 2.5, 3.5, 4.5]]);
    assert_eq!(sample.time_us, [7.0]);
}

#[test]
fn iterations_with_a_barrier_between_them_have_marks_of_their_own() {
    let tweaks = Tweaks {
        per_iteration: Some(0),
        ..Tweaks::default()
    };
    let (sample, deeds) = measured(Blocking::BarrierOutside, tweaks);
    let end = deeds
        .iter()
        .position(|deed| *deed == Deed::Mark(1))
        .unwrap();
    assert_eq!(
        deeds[end - 1],
        Deed::Drained,
        "the end is marked after the wait"
    );
    assert_eq!(deeds[end + 1], Deed::Mark(2));
    assert_eq!(sample.iterations_us, [[0.5, 2.5, 4.5, 6.5, 8.5]]);
}

#[test]
fn without_the_option_there_are_no_marks_and_no_series() {
    let (sample, deeds) = measured(Blocking::None, Tweaks::default());
    assert!(sample.iterations_us.is_empty());
    assert!(
        !deeds
            .iter()
            .any(|deed| matches!(deed, Deed::Mark(_) | Deed::Recording))
    );
}

#[test]
fn shifted_buffers_shift_every_operation_by_so_many_elements() {
    let tweaks = Tweaks {
        unalign_count: 3,
        ..Tweaks::default()
    };
    let offsets = |deeds: &[Deed]| -> Vec<u64> {
        let offset = |deed: &Deed| match deed {
            Deed::Reduce(send, recv) => {
                assert_eq!(send.offset, recv.offset);
                Some(send.offset)
            }
            _ => None,
        };
        deeds.iter().filter_map(offset).collect()
    };
    let plain = offsets(&measured(Blocking::None, Tweaks::default()).1);
    let shifted = offsets(&measured(Blocking::None, tweaks).1);
    let expected: Vec<_> = plain.iter().map(|offset| offset + 12).collect();
    assert_eq!(shifted, expected);
}
