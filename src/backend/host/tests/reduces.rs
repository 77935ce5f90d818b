//! Reduce and reduce-scatter: right results on every shape of world, and ranks that disagree.

use super::*;

fn sums(ranks: u32, from: u64, count: u64) -> Vec<u8> {
    floats(count, |index| {
        (0..ranks).map(|rank| value(rank, from + index)).sum()
    })
}

#[test]
fn every_rank_gets_its_part_of_the_sum_in_place_and_out_of_place_at_every_count() {
    for shape in SHAPES {
        on_all(shape, None, &running(), |lane| {
            for count in COUNTS {
                let ranks = u64::from(lane.ranks);
                let first = u64::from(lane.rank.0) * count;
                let input = floats(count * ranks, |index| value(lane.rank.0, index));
                let expected = sums(lane.ranks, first, count);
                let send = lane.buffer(&input);
                let recv = lane.buffer(&vec![0xAA; expected.len()]);
                let run = |lane: &Lane, recv| {
                    let ops = lane.session.ops(0);
                    ops.reduce_scatter(send, recv, DataType::Float, RedOp::Sum)
                };
                run(lane, recv).unwrap();
                let what = format!("{shape} {count} rank {}", lane.rank);
                assert!(lane.bytes(recv) == expected, "{what}");
                assert!(lane.bytes(send) == input, "the input is left alone: {what}");
                let within = send.part(first * 4, count * 4);
                run(lane, within).unwrap();
                assert!(lane.bytes(within) == expected, "in place, {what}");
            }
        });
    }
}

#[test]
fn only_the_root_gets_the_sum_whichever_it_is() {
    for shape in SHAPES {
        on_all(shape, None, &running(), |lane| {
            for (count, root) in COUNTS.into_iter().zip((0..lane.ranks).cycle()) {
                let input = floats(count, |index| value(lane.rank.0, index));
                let before = vec![0xAA; input.len()];
                let (send, recv) = (lane.buffer(&input), lane.buffer(&before));
                let run = |lane: &Lane, recv| {
                    let ops = lane.session.ops(0);
                    ops.reduce(send, recv, DataType::Float, RedOp::Sum, Rank(root))
                };
                run(lane, recv).unwrap();
                let sum = sums(lane.ranks, 0, count);
                let is_root = lane.rank == Rank(root);
                let what = format!("{shape} {count} rank {} root {root}", lane.rank);
                let expected = if is_root { &sum } else { &before };
                assert!(lane.bytes(recv) == *expected, "{what}");
                run(lane, send).unwrap();
                let expected = if is_root { &sum } else { &input };
                assert!(lane.bytes(send) == *expected, "in place, {what}");
            }
        });
    }
}

#[test]
fn ranks_that_name_different_roots_are_told_so() {
    let results = on_all("aaa", None, &running(), |lane| {
        let span = lane.buffer(&[0; 400]);
        let root = Rank(lane.rank.0.min(1));
        let ops = lane.session.ops(0);
        ops.reduce(span, span, DataType::Float, RedOp::Sum, root)
    });
    for result in results {
        assert_eq!(result.unwrap_err().kind, Kind::Disagree);
    }
}

#[test]
fn what_is_not_one_part_for_each_rank_or_names_no_rank_is_a_fault() {
    on_all("aa", None, &running(), |lane| {
        let span = lane.buffer(&[0; 400]);
        let ops = lane.session.ops(0);
        let done = ops.reduce_scatter(span, span, DataType::Float, RedOp::Sum);
        assert_eq!(done.unwrap_err().kind, Kind::Call);
        let done = ops.reduce(span, span, DataType::Float, RedOp::Sum, Rank(2));
        assert_eq!(done.unwrap_err().kind, Kind::Call);
    });
}
