//! The backend as its users see it: ranks as threads, hosts by their identities.

use super::Host;
use crate::backend::Backend;
use crate::backend::Session;
use crate::backend::ThreadSeat;
use crate::backend::Wish;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Clock;
use crate::base::DataType;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::base::pattern::{Recipe, Source, Stretch};
use crate::bootstrap::PeerInfo;
use crate::bootstrap::solo::Solo;
use crate::bootstrap::threads::ThreadPlane;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Ranks of every shape that matters: one host and more, uneven, interleaved.
const SHAPES: [&str; 12] = [
    "a", "aa", "aaa", "aaaa", "aaaaa", "aaaaaaa", "ab", "aaab", "abc", "abab", "aabbc", "abbbacc",
];

const COUNTS: [u64; 6] = [0, 1, 7, 1000, 4093, 65537];

#[derive(Debug)]
struct Running(Instant);

impl Clock for Running {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&self, pause: Duration) {
        std::thread::park_timeout(pause);
    }
}

/// A clock on which a second passes whenever somebody looks.
#[derive(Debug, Default)]
struct Leaping(AtomicU64);

impl Clock for Leaping {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn pause(&self, pause: Duration) {
        self.0.fetch_add(pause.as_secs() + 1, Ordering::Relaxed);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the engine's clock stands above this room"
)]
fn running() -> Arc<dyn Clock> {
    Arc::new(Running(Instant::now()))
}

fn seat(
    rank: usize,
    shape: &str,
    op_limit: Option<Duration>,
    clock: &Arc<dyn Clock>,
) -> ThreadSeat {
    let host = format!("node-{}", &shape[rank..=rank]);
    ThreadSeat {
        world: World(u32::try_from(shape.len()).unwrap()),
        ranks: vec![Rank(u32::try_from(rank).unwrap())],
        devices: vec![0],
        host_identity: format!("{host}/boot/1"),
        host,
        limit: Duration::from_mins(1),
        op_limit,
        clock: Arc::clone(clock),
        wish: Wish {
            nccl_lib: None,
            env: Env::default(),
            seed: 0,
        },
    }
}

/// Runs `body` on every rank of a shape, and gives what each gave.
fn on_all<T: Send>(
    shape: &str,
    limit: Option<Duration>,
    clock: &Arc<dyn Clock>,
    body: impl Fn(&mut Lane) -> T + Sync,
) -> Vec<T> {
    let me = PeerInfo {
        host: "node".to_owned(),
        identity: "node/boot/1".to_owned(),
        pid: 1,
        version: "1".to_owned(),
        ranks: u32::try_from(shape.len()).unwrap(),
    };
    let planes = ThreadPlane::join(Arc::new(Solo::new(me)), shape.len(), running());
    let results: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (rank, plane) in planes.iter().enumerate() {
            let (body, results, seat) = (&body, &results, seat(rank, shape, limit, clock));
            scope.spawn(move || {
                let mut session = super::open(&seat, plane).unwrap();
                let scratch = [0, 1].map(|_| session.alloc(0, Bytes(1 << 20)).unwrap());
                let mut lane = Lane {
                    scratch,
                    session,
                    rank: seat.ranks[0],
                    ranks: seat.world.0,
                };
                let result = body(&mut lane);
                results.lock().unwrap().push((rank, result));
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(rank, _)| *rank);
    results.into_iter().map(|(_, result)| result).collect()
}

/// One rank with its session and two buffers.
struct Lane {
    scratch: [Buffer; 2],
    session: super::HostSession,
    rank: Rank,
    ranks: u32,
}

impl Lane {
    fn buffer(&mut self, bytes: &[u8]) -> Span {
        let buffer = self.session.alloc(0, Bytes(bytes.len() as u64)).unwrap();
        let span = Span::whole(buffer, Bytes(bytes.len() as u64));
        self.session
            .verbs
            .comm
            .view(span)
            .unwrap()
            .store(0, bytes, false);
        span
    }

    fn bytes(&self, span: Span) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(span.len).unwrap()];
        self.session
            .verbs
            .comm
            .view(span)
            .unwrap()
            .load(0, &mut bytes);
        bytes
    }

    fn all_reduce(&self, send: Span, recv: Span) -> Result<(), Fault> {
        self.session
            .ops(0)
            .all_reduce(send, recv, DataType::Float, RedOp::Sum)
    }
}

fn value(rank: u32, index: u64) -> f32 {
    f32::from(u16::try_from((u64::from(rank) * 31 + index * 7) % 1009).unwrap())
}

fn floats(count: u64, of: impl Fn(u64) -> f32) -> Vec<u8> {
    (0..count)
        .flat_map(|index| of(index).to_le_bytes())
        .collect()
}

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

#[test]
fn a_rank_that_never_comes_is_named_by_all_who_wait_and_with_its_host() {
    let limit = Some(Duration::from_secs(10));
    for (shape, count) in [
        ("aaa", 4),
        ("aaa", 100_000),
        ("abc", 4),
        ("abc", 100_000),
        ("aab", 4),
        ("aab", 100_000),
    ] {
        // It stays until the others have given up, so that nobody sees it leave.
        let stays = std::sync::Barrier::new(3);
        let faults = on_all(
            shape,
            limit,
            &(Arc::new(Leaping::default()) as Arc<dyn Clock>),
            |lane| {
                let span = lane.buffer(&vec![0; 4 * count]);
                let result = if lane.rank == Rank(2) {
                    Ok(())
                } else {
                    lane.all_reduce(span, span)
                };
                stays.wait();
                result.err()
            },
        );
        let fault = faults[0]
            .clone()
            .or(faults[1].clone())
            .expect("somebody gave up");
        let name = format!("rank 2 (node-{})", &shape[2..]);
        assert_eq!(fault.kind, Kind::Timeout, "{shape} {count} {fault}");
        // A host does not see whom another host's rank waits for; ranks of one host do.
        for fault in faults.iter().flatten().map(Fault::to_string) {
            let is_known = fault.contains(&name) || fault.contains("did not go on");
            assert!(is_known, "{shape} {count} {fault}");
        }
        assert_eq!(
            fault.to_string(),
            format!("all-reduce: {name} did not arrive within 10 s"),
            "{shape} {count}"
        );
    }
}

#[test]
fn an_abort_from_another_thread_ends_waits_of_every_kind() {
    for shape in ["aaa", "abc"] {
        for verb in 0..3 {
            let faults = on_all(shape, None, &running(), |lane| {
                let span = lane.buffer(&vec![0; 300_000]);
                if lane.rank == Rank(2) {
                    return None;
                }
                let aborter = lane.session.aborter();
                std::thread::scope(|scope| {
                    scope.spawn(move || aborter.abort());
                    let ops = lane.session.ops(0);
                    match verb {
                        0 => lane.all_reduce(span, span).err(),
                        1 => ops.all_to_all(span, span, DataType::Float).err(),
                        _ => ops.recv(span, DataType::Float, Rank(2)).err(),
                    }
                })
            });
            for fault in faults[..2].iter().flatten() {
                assert!(
                    matches!(fault.kind, Kind::Interrupted | Kind::Peer),
                    "{shape} {fault}"
                );
            }
            assert!(faults[0].is_some() && faults[1].is_some(), "{shape} {verb}");
        }
    }
}

#[test]
fn ranks_that_call_different_sizes_are_told_so() {
    for shape in ["aa", "ab"] {
        for counts in [[4, 8], [100_000, 200_000]] {
            let faults = on_all(shape, None, &running(), |lane| {
                let span = lane.buffer(&vec![0; 4 * counts[lane.rank.0 as usize]]);
                lane.all_reduce(span, span).err().map(|fault| fault.kind)
            });
            assert!(
                faults.contains(&Some(Kind::Disagree)),
                "{shape} {counts:?} {faults:?}"
            );
        }
    }
}

#[test]
fn a_rank_that_closed_its_session_is_named_where_no_limit_is_set() {
    for shape in ["aa", "ab"] {
        let faults = on_all(shape, None, &running(), |lane| {
            let span = lane.buffer(&[0; 4]);
            (lane.rank == Rank(0)).then(|| lane.all_reduce(span, span).unwrap_err())
        });
        let fault = faults[0].clone().unwrap();
        assert_eq!(fault.kind, Kind::Peer);
        assert!(fault.to_string().contains("rank 1 (node-"), "{fault}");
    }
}

#[test]
fn spans_of_no_buffer_and_ranks_of_no_world_are_faults() {
    on_all("a", None, &running(), |lane| {
        let span = lane.buffer(&[0; 8]);
        let none = Span {
            buffer: Buffer(9),
            ..span
        };
        assert_eq!(lane.all_reduce(none, span).unwrap_err().kind, Kind::Call);
        let ops = lane.session.ops(0);
        assert_eq!(
            ops.send(span, DataType::Int8, Rank(1)).unwrap_err().kind,
            Kind::Call
        );
        assert!(lane.session.alloc(0, Bytes(u64::MAX)).is_err());
    });
}

#[test]
fn the_probe_shows_one_device_that_is_the_processor() {
    let wish = Wish {
        nccl_lib: None,
        env: Env::default(),
        seed: 0,
    };
    let equipment = Host.probe(&wish).unwrap();
    assert_eq!(equipment.devices.len(), 1);
    assert_eq!(equipment.devices[0].bus_id, "0000:00:00");
}
