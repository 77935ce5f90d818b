//! What one simulated rank's operations cost: the α-β model and its noise.

use super::VirtualClock;
use crate::base::{DataType, Fault, Rank, RedOp, Span, World};
use crate::ops::Collectives;
use crate::ops::Ops;
use std::cell::Cell;
use std::sync::Arc;

/// Time of a launch, whatever it does, in µs.
pub(super) const LAUNCH_US: f64 = 4.0;
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

/// One rank: a stream that is busy until some moment.
#[derive(Debug)]
pub(super) struct Lane {
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
    verbs: u32,
    cost_us: f64,
    sent: u64,
    received: u64,
    peers: u32,
}

impl Lane {
    pub(super) fn new(rank: Rank, world: World, seed: u64, clock: Arc<VirtualClock>) -> Self {
        Self {
            rank,
            world,
            seed,
            clock,
            busy_until_us: Cell::new(0.0),
            operations: Cell::new(0),
            group: Cell::new(None),
        }
    }

    /// When all that was enqueued is done.
    pub(super) fn busy_until_us(&self) -> f64 {
        self.busy_until_us.get()
    }

    /// Enqueues an operation of `cost_us`, in the open group if there is one.
    pub(super) fn enqueue(&self, cost_us: f64) {
        if let Some(group) = self.group.get() {
            self.group.set(Some(Group {
                cost_us: group.cost_us + cost_us,
                verbs: group.verbs + 1,
                ..group
            }));
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

    pub(super) fn open_group(&self) {
        let outer = self.group.get().unwrap_or_default();
        let depth = outer.depth + 1;
        self.group.set(Some(Group { depth, ..outer }));
    }

    /// The outermost end runs what was gathered as one operation.
    pub(super) fn close_group(&self) {
        let Some(group) = self.group.take() else {
            return;
        };
        if group.depth > 1 {
            let depth = group.depth - 1;
            self.group.set(Some(Group { depth, ..group }));
        } else if group.verbs > 0 {
            self.run(group.total_us());
        }
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

    fn ring(&self, part: f64) {
        let steps = self.ranks() - 1.0;
        self.enqueue(part / MEMORY + steps * (STEP_US / 2.0 + part / LINK));
    }

    fn tree(&self, bytes: f64) {
        let n = self.ranks();
        let crosses = if n > 1.0 { bytes / LINK } else { 0.0 };
        self.enqueue(bytes / MEMORY + n.log2().ceil() * STEP_US + crosses);
    }

    fn star(&self, part: f64) {
        let others = self.ranks() - 1.0;
        self.enqueue(part / MEMORY + STEP_US + others * part / LINK);
    }

    fn peer_to_peer(&self, sent: u64, received: u64) {
        let group = self.group.get().unwrap_or_default();
        let gathered = Group {
            sent: group.sent + sent,
            received: group.received + received,
            peers: group.peers + 1,
            verbs: group.verbs + 1,
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

impl Collectives for Lane {
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

    /// A ring: n − 1 steps, each of one part.
    fn all_gather(&self, send: Span, _recv: Span, _dtype: DataType) -> Result<(), Fault> {
        self.ring(float(send.len));
        Ok(())
    }

    /// A ring, as for an all-gather.
    fn reduce_scatter(
        &self,
        _send: Span,
        recv: Span,
        _dtype: DataType,
        _redop: RedOp,
    ) -> Result<(), Fault> {
        self.ring(float(recv.len));
        Ok(())
    }

    /// A tree's latency, and every element over every link once.
    fn broadcast(&self, send: Span, _: Span, _: DataType, _root: Rank) -> Result<(), Fault> {
        self.tree(float(send.len));
        Ok(())
    }

    fn reduce(&self, send: Span, _: Span, _: DataType, _: RedOp, _root: Rank) -> Result<(), Fault> {
        self.tree(float(send.len));
        Ok(())
    }

    /// All but one part of n over the root's link.
    fn gather(&self, send: Span, _: Span, _: DataType, _root: Rank) -> Result<(), Fault> {
        self.star(float(send.len));
        Ok(())
    }

    fn scatter(&self, _: Span, recv: Span, _: DataType, _root: Rank) -> Result<(), Fault> {
        self.star(float(recv.len));
        Ok(())
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
        !["alltoallv", "sendrecv", "hypercube"].contains(&name)
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
        self.open_group();
        let result = body();
        self.close_group();
        result
    }
}

/// Time that a device needs to write `bytes` of its own memory, in µs.
pub(super) fn copy_us(bytes: u64) -> f64 {
    float(bytes) / MEMORY
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
