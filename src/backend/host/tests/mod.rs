//! The backend as its users see it: ranks as threads, hosts by their identities.
//!
//! Here is what the tests share; they are in files by concern.

mod reduces;
mod results;
mod waits;

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
            kernel: crate::backend::KernelWish::default(),
            comm: crate::backend::CommWish::default(),
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
