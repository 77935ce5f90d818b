//! Right results on every shape of world.

use super::*;

#[test]
fn every_rank_of_every_shape_gets_the_sum_in_place_and_out_of_place_at_every_count() {
    for shape in SHAPES {
        on_all(shape, None, &running(), |lane| {
            for count in COUNTS {
                let input = floats(count, |index| value(lane.rank.0, index));
                let sum = floats(count, |index| {
                    (0..lane.ranks).map(|rank| value(rank, index)).sum()
                });
                let (send, recv) = (lane.buffer(&input), lane.buffer(&vec![0xAA; input.len()]));
                lane.all_reduce(send, recv).unwrap();
                assert!(
                    lane.bytes(recv) == sum,
                    "{shape} {count} rank {}",
                    lane.rank
                );
                assert!(lane.bytes(send) == input, "the input is left alone");
                lane.all_reduce(send, send).unwrap();
                assert!(
                    lane.bytes(send) == sum,
                    "{shape} {count} in place, rank {}",
                    lane.rank
                );
            }
        });
    }
}

#[test]
fn every_datatype_and_operator_is_right_on_every_world() {
    for shape in ["a", "aa", "aaa", "aaaa", "aaaaa", "aaaaaaa", "aab", "abbac"] {
        on_all(shape, None, &running(), |lane| {
            let combinations = DataType::ALL
                .iter()
                .flat_map(|dtype| RedOp::ALL.iter().map(move |redop| (*dtype, *redop)));
            for (dtype, redop) in combinations {
                for count in [1, 7, 1000, 65537] {
                    let wrong = check_all_reduce(lane, count, dtype, redop);
                    assert_eq!(wrong, [0, 0], "{shape} {dtype} {redop} {count}");
                }
            }
        });
    }
}

/// Wrong elements out of place and in place.
fn check_all_reduce(lane: &mut Lane, count: u64, dtype: DataType, redop: RedOp) -> [u64; 2] {
    let world = World(lane.ranks);
    let recipe = Recipe {
        seed: 5 + count,
        dtype,
        redop: Some(redop),
        world,
    };
    let expect = [Stretch {
        len: count,
        source: Source::Reduced { at: 0 },
    }];
    let [send, recv] = lane
        .scratch
        .map(|buffer| Span::whole(buffer, Bytes(count * dtype.size())));
    [recv, send].map(|into| {
        let session = &mut lane.session;
        session.poison(0, recv, &recipe).unwrap();
        session.fill(0, send, &recipe).unwrap();
        session.ops(0).all_reduce(send, into, dtype, redop).unwrap();
        let found = session.verify(0, into, &recipe, &expect).unwrap().unwrap();
        // Nobody poisons what another still reads.
        assert!(session.poll().unwrap());
        found.wrong
    })
}

#[test]
fn a_wrong_element_is_found_with_its_rank_and_host() {
    on_all("aa", None, &running(), |lane| {
        let recipe = Recipe {
            seed: 1,
            dtype: DataType::Int32,
            redop: None,
            world: World(2),
        };
        let expect = [Stretch {
            len: 200_000,
            source: Source::Copied {
                rank: lane.rank,
                at: 0,
            },
        }];
        let span = Span::whole(lane.scratch[0], Bytes(800_000));
        lane.session.fill(0, span, &recipe).unwrap();
        lane.session
            .poison(0, span.part(600_000, 4), &recipe)
            .unwrap();
        let found = lane
            .session
            .verify(0, span, &recipe, &expect)
            .unwrap()
            .unwrap();
        assert_eq!((found.wrong, found.first.len()), (1, 1));
        let bad = &found.first[0];
        assert_eq!(
            (bad.rank, bad.host.as_str(), bad.index),
            (lane.rank.0, "node-a", 150_000)
        );
    });
}

#[test]
fn a_rounded_sum_has_the_same_bits_on_all_ranks() {
    for shape in ["aaaaa", "aabbc", "abbbacc"] {
        for count in [5, 20_011] {
            let results = on_all(shape, None, &running(), |lane| {
                let input = floats(count, |index| 1.0 / (1.0 + value(lane.rank.0, index)));
                let span = lane.buffer(&input);
                lane.all_reduce(span, span).unwrap();
                lane.bytes(span)
            });
            assert!(
                results.iter().all(|result| *result == results[0]),
                "{shape} {count}"
            );
        }
    }
}

#[test]
fn every_rank_of_every_shape_gets_its_parts_by_the_verb_and_by_sends_and_receives() {
    for shape in SHAPES {
        on_all(shape, None, &running(), |lane| {
            let ranks = u64::from(lane.ranks);
            for part in [0, 1, 7, 1000, 20_011] {
                let from = |rank: u32| floats(part * ranks, move |index| value(rank, index));
                let mine = lane.rank.0 as usize * usize::try_from(part).unwrap() * 4;
                let expected: Vec<u8> = (0..lane.ranks)
                    .flat_map(|rank| {
                        from(rank)[mine..mine + usize::try_from(part).unwrap() * 4].to_vec()
                    })
                    .collect();
                let send = lane.buffer(&from(lane.rank.0));
                let recv = lane.buffer(&vec![0xAA; expected.len()]);
                lane.session
                    .ops(0)
                    .all_to_all(send, recv, DataType::Float)
                    .unwrap();
                assert!(
                    lane.bytes(recv) == expected,
                    "{shape} {part} rank {}",
                    lane.rank
                );
                let recv = lane.buffer(&vec![0xAA; expected.len()]);
                send_and_receive(lane, send, recv, part * 4).unwrap();
                assert!(
                    lane.bytes(recv) == expected,
                    "{shape} {part} rank {}",
                    lane.rank
                );
            }
        });
    }
}

fn send_and_receive(lane: &Lane, send: Span, recv: Span, part: u64) -> Result<(), Fault> {
    let ops = lane.session.ops(0);
    lane.session.group(&mut || {
        ops.group(&mut || {
            for peer in ops.world().ranks() {
                let at = u64::from(peer.0) * part;
                ops.send(send.part(at, part), DataType::Float, peer)?;
                ops.recv(recv.part(at, part), DataType::Float, peer)?;
            }
            Ok(())
        })
    })
}

#[test]
fn letters_of_one_pair_keep_their_order_and_a_group_may_depend_on_another_ranks_later_group() {
    for shape in ["aaa", "abc", "aab", "aba"] {
        relay(shape);
    }
}

/// Rank 0 sends to 1 and receives from 2 in one group, although 2 sends only after it heard from 1.
fn relay(shape: &str) {
    let results = on_all(shape, None, &running(), |lane| {
        let (token, heard) = (lane.buffer(&[7, 8]), lane.buffer(&[0, 0]));
        let ops = lane.session.ops(0);
        let (first, second) = (token.part(0, 1), token.part(1, 1));
        let (into_first, into_second) = (heard.part(0, 1), heard.part(1, 1));
        match lane.rank.0 {
            0 => ops.group(&mut || {
                ops.recv(into_first, DataType::Int8, Rank(2))?;
                ops.recv(into_second, DataType::Int8, Rank(2))?;
                ops.send(first, DataType::Int8, Rank(1))?;
                ops.send(second, DataType::Int8, Rank(1))
            }),
            rank => {
                let hear = ops.group(&mut || {
                    ops.recv(into_first, DataType::Int8, Rank(rank - 1))?;
                    ops.recv(into_second, DataType::Int8, Rank(rank - 1))
                });
                hear.and_then(|()| {
                    ops.send(into_first, DataType::Int8, Rank((rank + 1) % 3))?;
                    ops.send(into_second, DataType::Int8, Rank((rank + 1) % 3))
                })
            }
        }
        .unwrap();
        lane.bytes(heard)
    });
    assert_eq!(results, vec![vec![7, 8]; 3], "{shape}");
}
