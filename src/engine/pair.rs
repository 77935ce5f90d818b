//! Two ranks alone: latency as half a round trip, and what a window of messages in flight carries
//! one way.
//!
//! # Source
//! OSU micro-benchmarks 7.4, `c/mpi/pt2pt/standard/osu_latency.c` and `osu_bw.c`: a message there
//! and back, halved; 64 messages started together, all waited for, and 4 bytes back.

use crate::backend::Session;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Clock;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::GBps;
use crate::base::Kind;
use crate::base::Micros;
use crate::base::Rank;
use crate::base::Span;
use crate::base::World;
use crate::base::pattern::Recipe;
use crate::base::pattern::SEED_STEP;
use crate::base::pattern::Source;
use crate::base::pattern::Stretch;
use crate::base::stats::order;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::record::Mismatches;
use std::sync::Arc;
use std::time::Duration;

/// Messages in flight.
pub const WINDOW: u32 = 64;

/// What the receiver of a window answers.
const ANSWER: Bytes = Bytes(4);

/// Messages are bytes.
const BYTE: DataType = DataType::Uint8;

/// How often each of the two is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loops {
    /// Before the clock is read.
    pub warmups: u32,
    /// Timed: round trips, and windows.
    pub iterations: u32,
}

/// What a size gave, as the first rank saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Half a round trip.
    pub latency: Micros,
    /// Half of single round trips, each waited for: the middle one, the 99th of 100, the slowest.
    pub single: [Micros; 3],
    /// Bytes of all messages of all windows by the time that they and their answers took.
    pub bandwidth: GBps,
}

/// One of the two ranks.
pub struct Pair<'a> {
    session: &'a mut dyn Session,
    plane: &'a dyn Bootstrap,
    clock: Arc<dyn Clock>,
    limit: Duration,
    seed: u64,
    me: Rank,
    send: Buffer,
    recv: Buffer,
}

impl<'a> Pair<'a> {
    /// Allocates a send buffer of `capacity` and a receive buffer for a window of such messages.
    ///
    /// # Errors
    /// `Launch` unless there are two ranks, `Call` where the memory is not to be had.
    pub fn new(
        session: &'a mut dyn Session,
        plane: &'a dyn Bootstrap,
        clock: Arc<dyn Clock>,
        capacity: Bytes,
        (limit, seed): (Duration, u64),
    ) -> Result<Self, Fault> {
        let (me, world) = (session.ops(0).rank(), session.ops(0).world());
        if world != World(2) {
            let text = format!("a pair is two ranks; this world has {world}");
            return Err(Fault::new(Kind::Launch, text).hint("start two processes"));
        }
        let room = Bytes(capacity.0.max(ANSWER.0));
        let window = room.0.checked_mul(WINDOW.into()).map(Bytes);
        let window =
            window.ok_or_else(|| Fault::usage(format!("messages of {room} are too long")))?;
        let (send, recv) = (session.alloc(0, room)?, session.alloc(0, window)?);
        Ok(Self {
            session,
            plane,
            clock,
            limit,
            seed,
            me,
            send,
            recv,
        })
    }

    /// Measures messages of one size, and checks what came of them.
    ///
    /// # Errors
    /// Whatever ends the run, on either rank.
    pub fn run(&mut self, size: Bytes, loops: Loops) -> Result<(Figures, Mismatches), Fault> {
        let recipe = self.draw();
        let sent = Span::whole(self.send, Bytes(size.0.max(ANSWER.0)));
        let got = self.received(size, WINDOW);
        self.session.fill(0, sent, &recipe)?;
        self.session.poison(0, got, &recipe)?;
        self.drain()?;
        self.enter(size, "latency");
        let trip = self.time(loops, |pair| pair.round_trip(size))?;
        let single = self.single(size, loops)?;
        let mut wrong = self.check(size, 1, &recipe)?;
        self.session.poison(0, got, &recipe)?;
        self.drain()?;
        self.enter(size, "bandwidth");
        let window = self.time(loops, |pair| pair.window(size))?;
        wrong.add(self.check(size, WINDOW, &recipe)?);
        let figures = Figures {
            latency: Micros(trip.0 / 2.0),
            single,
            bandwidth: GBps::of(Bytes(size.0 * u64::from(WINDOW)), window),
        };
        Ok((figures, wrong))
    }

    /// Time of one turn, from a common start.
    fn time(
        &mut self,
        loops: Loops,
        turn: impl Fn(&Self) -> Result<(), Fault>,
    ) -> Result<Micros, Fault> {
        for _ in 0..loops.warmups {
            turn(self)?;
        }
        self.drain()?;
        self.plane
            .start_line(self.step("the start line of a pair"))?;
        let start = self.clock.now();
        for _ in 0..loops.iterations {
            turn(self)?;
        }
        self.drain()?;
        let spent = self.clock.now().saturating_sub(start);
        Ok(Micros(
            spent.as_secs_f64() * 1e6 / f64::from(loops.iterations),
        ))
    }

    /// Round trips one by one, each waited for.
    fn single(&mut self, size: Bytes, loops: Loops) -> Result<[Micros; 3], Fault> {
        let mut halves = Vec::with_capacity(loops.iterations as usize);
        for _ in 0..loops.iterations {
            let start = self.clock.now();
            self.round_trip(size)?;
            self.drain()?;
            let spent = self.clock.now().saturating_sub(start);
            halves.push(spent.as_secs_f64() * 1e6 / 2.0);
        }
        let halves = order::sorted(&halves);
        let at = |percent| Micros(order::percentile(&halves, percent).unwrap_or_default());
        Ok([50, 99, 100].map(at))
    }

    fn round_trip(&self, size: Bytes) -> Result<(), Fault> {
        let (there, back) = (Span::whole(self.send, size), self.received(size, 1));
        self.plane.pulse().issued(1);
        let ops = self.session.ops(0);
        if self.me == Rank(0) {
            ops.send(there, BYTE, self.peer())?;
            ops.recv(back, BYTE, self.peer())
        } else {
            ops.recv(back, BYTE, self.peer())?;
            ops.send(there, BYTE, self.peer())
        }
    }

    /// Each message goes to a place of its own: a library may write them in any order.
    fn window(&self, size: Bytes) -> Result<(), Fault> {
        let (ops, peer) = (self.session.ops(0), self.peer());
        let (there, answer) = (Span::whole(self.send, size), Span::whole(self.send, ANSWER));
        self.plane.pulse().issued(1);
        if self.me == Rank(0) {
            ops.group(&mut || (0..WINDOW).try_for_each(|_| ops.send(there, BYTE, peer)))?;
            return ops.recv(self.received(ANSWER, 1), BYTE, peer);
        }
        let all = self.received(size, WINDOW);
        ops.group(&mut || {
            (0..u64::from(WINDOW))
                .try_for_each(|index| ops.recv(all.part(index * size.0, size.0), BYTE, peer))
        })?;
        ops.send(answer, BYTE, peer)
    }

    /// Compares what lies where messages came in; the sender of windows has the answer only.
    fn check(&mut self, size: Bytes, messages: u32, recipe: &Recipe) -> Result<Mismatches, Fault> {
        self.enter(size, "checking");
        let answers = messages > 1 && self.me == Rank(0);
        let (size, messages) = if answers {
            (ANSWER, 1)
        } else {
            (size, messages)
        };
        let one = Stretch {
            len: size.0,
            source: Source::Copied {
                rank: self.peer(),
                at: 0,
            },
        };
        let expect = vec![one; messages as usize];
        let got = self.received(size, messages);
        let found = self.session.verify(0, got, recipe, &expect)?;
        Ok(found.unwrap_or_default())
    }

    fn received(&self, size: Bytes, messages: u32) -> Span {
        Span::whole(self.recv, Bytes(size.0 * u64::from(messages)))
    }

    fn peer(&self) -> Rank {
        Rank(1 - self.me.0)
    }

    fn draw(&mut self) -> Recipe {
        self.seed = self.seed.wrapping_add(SEED_STEP);
        Recipe {
            seed: self.seed,
            dtype: BYTE,
            redop: None,
            world: World(2),
        }
    }

    fn drain(&mut self) -> Result<(), Fault> {
        while !self.session.poll()? {
            if let Some(fault) = self.plane.ended() {
                return Err(fault);
            }
            std::thread::yield_now();
        }
        self.plane.pulse().caught_up();
        Ok(())
    }

    fn enter(&self, size: Bytes, doing: &str) {
        self.plane.pulse().enter(format!("{doing} {size}"));
    }

    fn step<'s>(&self, name: &'s str) -> Step<'s> {
        Step {
            name,
            limit: self.limit,
        }
    }
}

impl std::fmt::Debug for Pair<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair")
            .field("me", &self.me)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend;
    use crate::backend::ThreadSeat;
    use crate::base::Env;
    use crate::bootstrap::PeerInfo;
    use crate::bootstrap::solo::Solo;
    use crate::bootstrap::threads::ThreadPlane;
    use crate::engine::SystemClock;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering;

    /// A clock on which a millisecond passes whenever somebody looks.
    #[derive(Debug, Default)]
    struct Looked(AtomicU64);

    impl Clock for Looked {
        fn now(&self) -> Duration {
            Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
        }

        fn pause(&self, _pause: Duration) {}
    }

    const LIMIT: Duration = Duration::from_mins(1);

    fn seat(rank: u32, world: u32) -> ThreadSeat {
        ThreadSeat {
            world: World(world),
            ranks: vec![Rank(rank)],
            devices: vec![0],
            host: "node".to_owned(),
            host_identity: "node/boot/1".to_owned(),
            limit: LIMIT,
            op_limit: Some(LIMIT),
            clock: Arc::new(SystemClock),
            wish: backend::Wish {
                nccl_lib: None,
                env: Env::default(),
                seed: 1,
                kernel: backend::KernelWish::default(),
                comm: backend::CommWish::default(),
            },
        }
    }

    /// What `body` gives on every rank of a world on the CPU.
    fn on_all<T: Send>(
        world: u32,
        body: impl Fn(&mut dyn Session, &dyn Bootstrap) -> T + Sync,
    ) -> Vec<T> {
        let me = PeerInfo {
            host: "node".to_owned(),
            identity: "node/boot/1".to_owned(),
            pid: 1,
            version: "1".to_owned(),
            ranks: world,
        };
        let host = backend::ALL
            .iter()
            .find(|one| one.name() == "host")
            .unwrap();
        let solo = Arc::new(Solo::new(me));
        let planes = ThreadPlane::join(solo, world as usize, Arc::new(SystemClock));
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..world)
                .zip(&planes)
                .map(|(rank, plane)| {
                    let body = &body;
                    scope.spawn(move || {
                        let mut session = host.open(&seat(rank, world), plane).unwrap();
                        body(session.as_mut(), plane)
                    })
                })
                .collect();
            running.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    #[test]
    fn latency_is_half_a_round_trip_and_bandwidth_counts_the_whole_window() {
        let loops = Loops {
            warmups: 2,
            iterations: 5,
        };
        let sizes = [1, 7, 4099].map(Bytes);
        let all = on_all(2, |session, plane| {
            let clock = Arc::new(Looked::default());
            let mut pair = Pair::new(session, plane, clock, Bytes(4099), (LIMIT, 1)).unwrap();
            sizes.map(|size| pair.run(size, loops).unwrap())
        });
        for rank in all {
            for (size, (figures, found)) in sizes.iter().zip(rank) {
                assert_eq!(found, Mismatches::default());
                // a loop takes the one millisecond between two looks
                assert!(
                    (figures.latency.0 - 1000.0 / 5.0 / 2.0).abs() < 1e-9,
                    "{figures:?}"
                );
                assert_eq!(figures.single, [Micros(500.0); 3]); // a trip takes it alone
                let bandwidth = GBps::of(Bytes(size.0 * 64), Micros(1000.0 / 5.0));
                assert!(
                    (figures.bandwidth.0 - bandwidth.0).abs() < 1e-12,
                    "{figures:?}"
                );
            }
        }
    }

    #[test]
    fn three_ranks_are_no_pair() {
        let faults = on_all(3, |session, plane| {
            let clock = Arc::new(Looked::default());
            Pair::new(session, plane, clock, Bytes(8), (LIMIT, 1))
                .map(drop)
                .unwrap_err()
        });
        assert!(
            faults.iter().all(|fault| fault.kind == Kind::Launch),
            "{faults:?}"
        );
    }
}
