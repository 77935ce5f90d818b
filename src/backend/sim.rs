//! A cost model with a seed: it moves no data and measures nothing.
//!
//! It drives the whole program without hardware, for golden tests and for trying the command line.
//! Times follow the α-β model (a latency for each step, a bandwidth for the bytes on the busiest
//! link) with seeded noise; all of them pass on a clock of its own, so that a run of hours ends at once
//! and the same seed gives the same table whatever the launcher, the world of threads and the machine.

use super::{Abort, Backend, Equipment, Session, ThreadSeat, Wish};
use crate::base::pattern::{Recipe, Stretch};
use crate::base::{Buffer, Bytes, Clock, DataType, Fault, Kind, Rank, RedOp, Span, World};
use crate::bootstrap::Bootstrap;
use crate::ops::Ops;
use crate::record::{DeviceRecord, Mismatches};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time of a launch, whatever it does, in µs.
const LAUNCH_US: f64 = 4.0;
/// Time that the host needs to issue an operation, in µs.
const ISSUE_US: f64 = 1.5;
/// Latency of one step between two ranks, in µs.
const STEP_US: f64 = 1.2;
/// Bytes that a link carries in a µs.
const LINK: f64 = 400e3;
/// Bytes that a device copies to itself in a µs.
const MEMORY: f64 = 2000e3;
/// Standard deviation of the noise, as a fraction of the time.
const NOISE: f64 = 0.015;

#[derive(Debug)]
pub(super) struct Sim;

impl Backend for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn summary(&self) -> &'static str {
        "a cost model with a seed; moves no data and measures nothing"
    }

    fn measures(&self) -> bool {
        false
    }

    fn lanes_share_a_thread(&self) -> bool {
        true
    }

    fn probe(&self, wish: &Wish) -> Result<Equipment, Fault> {
        Ok(Equipment {
            libraries: Vec::new(),
            devices: vec![DeviceRecord {
                ordinal: 0,
                name: "simulated device".to_owned(),
                bus_id: "0000:00:00".to_owned(),
                uuid: None,
                memory_bytes: None,
            }],
            notes: vec![format!("times are made up from seed {}", wish.seed)],
        })
    }

    /// Needs nobody: every thread makes up its own ranks' times.
    fn open(&self, seat: &ThreadSeat, _boot: &dyn Bootstrap) -> Result<Box<dyn Session>, Fault> {
        let clock = Arc::new(VirtualClock::default());
        let lanes = seat.ranks.iter().map(|rank| Lane {
            rank: *rank,
            world: seat.world,
            seed: seat.wish.seed,
            clock: Arc::clone(&clock),
            busy_until_us: Cell::new(0.0),
            operations: Cell::new(0),
            group: Cell::new(None),
        });
        Ok(Box::new(SimSession {
            lanes: lanes.collect(),
            clock,
            buffers: 0,
            stop: Arc::default(),
        }))
    }
}

/// Time that passes only when something is waited for or issued.
#[derive(Debug, Default)]
struct VirtualClock(AtomicU64);

impl VirtualClock {
    fn now_us(&self) -> f64 {
        self.now().as_secs_f64() * 1e6
    }

    fn reach_us(&self, moment_us: f64) {
        let nanoseconds = Duration::from_secs_f64(moment_us.max(0.0) / 1e6).as_nanos();
        let nanoseconds = u64::try_from(nanoseconds).unwrap_or(u64::MAX);
        self.0.fetch_max(nanoseconds, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn pause(&self, pause: Duration) {
        self.reach_us(self.now_us() + pause.as_secs_f64() * 1e6);
    }
}

/// One rank: a stream that is busy until some moment.
#[derive(Debug)]
struct Lane {
    rank: Rank,
    world: World,
    seed: u64,
    clock: Arc<VirtualClock>,
    busy_until_us: Cell<f64>,
    operations: Cell<u64>,
    group: Cell<Option<Group>>,
}

/// What an open group call has gathered.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    depth: u32,
    cost_us: f64,
    sent: u64,
    received: u64,
    peers: u32,
}

impl Lane {
    /// Enqueues an operation of `cost_us`, in the open group if there is one.
    fn enqueue(&self, cost_us: f64) {
        if let Some(group) = self.group.get() {
            let cost_us = group.cost_us + cost_us;
            self.group.set(Some(Group { cost_us, ..group }));
        } else {
            self.run(cost_us);
        }
    }

    fn run(&self, cost_us: f64) {
        let now = self.clock.now_us();
        let took = (LAUNCH_US + cost_us) * self.noise();
        self.busy_until_us
            .set(self.busy_until_us.get().max(now) + took);
        self.clock.reach_us(now + ISSUE_US);
        self.operations.set(self.operations.get() + 1);
    }

    /// A factor near 1 that follows from the seed, the rank and the operation's number.
    fn noise(&self) -> f64 {
        let mut state = self.seed ^ (u64::from(self.rank.0) << 40) ^ self.operations.get();
        // The sum of twelve uniform numbers less 6 is close to a standard normal one.
        let normal = (0..12).map(|_| uniform(&mut state)).sum::<f64>() - 6.0;
        (1.0 + NOISE * normal).max(0.5)
    }

    fn ranks(&self) -> f64 {
        f64::from(self.world.0)
    }

    fn peer_to_peer(&self, sent: u64, received: u64) {
        let group = self.group.get().unwrap_or_default();
        let gathered = Group {
            sent: group.sent + sent,
            received: group.received + received,
            peers: group.peers + 1,
            ..group
        };
        if gathered.depth > 0 {
            self.group.set(Some(gathered));
        } else {
            self.run(gathered.total_us());
        }
    }
}

impl Group {
    fn total_us(&self) -> f64 {
        let bytes = float(self.sent.max(self.received));
        self.cost_us + f64::from(self.peers) * STEP_US / 2.0 + bytes / LINK
    }
}

impl Ops for Lane {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn world(&self) -> World {
        self.world
    }

    fn has_native(&self, name: &str) -> bool {
        ["allreduce", "alltoall"].contains(&name)
    }

    /// A tree's latency and a ring's bandwidth: the better of the two everywhere, as tuners aim for.
    fn all_reduce(
        &self,
        send: Span,
        _recv: Span,
        _dtype: DataType,
        _redop: RedOp,
    ) -> Result<(), Fault> {
        let n = self.ranks();
        let bytes = float(send.len);
        let steps = 2.0 * n.log2().ceil();
        let links = 2.0 * (n - 1.0) / n * bytes / LINK;
        self.enqueue(bytes / MEMORY + steps * STEP_US + links);
        Ok(())
    }

    fn all_to_all(&self, send: Span, _recv: Span, _dtype: DataType) -> Result<(), Fault> {
        let n = self.ranks();
        let bytes = float(send.len);
        self.enqueue(bytes / n / MEMORY + (n - 1.0) * STEP_US / 2.0 + (n - 1.0) / n * bytes / LINK);
        Ok(())
    }

    fn send(&self, from: Span, _dtype: DataType, _peer: Rank) -> Result<(), Fault> {
        self.peer_to_peer(from.len, 0);
        Ok(())
    }

    fn recv(&self, into: Span, _dtype: DataType, _peer: Rank) -> Result<(), Fault> {
        self.peer_to_peer(0, into.len);
        Ok(())
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        let outer = self.group.get().unwrap_or_default();
        let depth = outer.depth + 1;
        self.group.set(Some(Group { depth, ..outer }));
        let result = body();
        let gathered = self.group.take().unwrap_or_default();
        if depth > 1 {
            let depth = depth - 1;
            self.group.set(Some(Group { depth, ..gathered }));
        } else if result.is_ok() {
            self.run(gathered.total_us());
        }
        result
    }
}

#[derive(Debug)]
struct SimSession {
    lanes: Vec<Lane>,
    clock: Arc<VirtualClock>,
    buffers: usize,
    stop: Arc<Stop>,
}

impl Session for SimSession {
    fn ops(&self, lane: usize) -> &dyn Ops {
        &self.lanes[lane]
    }

    /// Lanes do not wait for each other here, so that a group over them is only its body.
    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        body()
    }

    fn free_memory(&self, _lane: usize) -> Result<Option<Bytes>, Fault> {
        Ok(None)
    }

    fn alloc(&mut self, _lane: usize, _len: Bytes) -> Result<Buffer, Fault> {
        self.buffers += 1;
        Ok(Buffer(self.buffers - 1))
    }

    fn fill(&mut self, lane: usize, into: Span, _recipe: &Recipe) -> Result<(), Fault> {
        self.lanes[lane].enqueue(float(into.len) / MEMORY);
        Ok(())
    }

    fn poison(&mut self, lane: usize, span: Span, _recipe: &Recipe) -> Result<(), Fault> {
        self.lanes[lane].enqueue(float(span.len) / MEMORY);
        Ok(())
    }

    fn verify(
        &mut self,
        _lane: usize,
        _got: Span,
        _recipe: &Recipe,
        _expect: &[Stretch],
    ) -> Result<Option<Mismatches>, Fault> {
        Ok(None)
    }

    /// Waiting costs nothing: the clock jumps to where the last lane is done.
    fn poll(&mut self) -> Result<bool, Fault> {
        if self.stop.0.load(Ordering::Relaxed) {
            return Err(Fault::new(Kind::Interrupted, "the session was aborted"));
        }
        let busy = self.lanes.iter().map(|lane| lane.busy_until_us.get());
        self.clock.reach_us(busy.fold(0.0, f64::max));
        Ok(true)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::clone(&self.stop) as Arc<dyn Abort>
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(Arc::clone(&self.clock) as Arc<dyn Clock>)
    }
}

#[derive(Debug, Default)]
struct Stop(AtomicBool);

impl Abort for Stop {
    fn abort(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 bytes is past any message size"
)]
fn float(bytes: u64) -> f64 {
    bytes as f64
}

/// A number in [0, 1).
///
/// # Source
/// S. Vigna, splitmix64.
#[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
