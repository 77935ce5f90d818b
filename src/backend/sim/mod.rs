//! A cost model with a seed: it moves no data and measures nothing.
//!
//! It drives the whole program without hardware, for golden tests and for trying the command line.
//! Times follow the α-β model (a latency for each step, a bandwidth for the bytes on the busiest
//! link) with seeded noise; all of them pass on a clock of its own, so that a run of hours ends at once
//! and the same seed and the same options give the same table whatever the launcher and the machine.

mod lane;
mod marks;
#[cfg(test)]
mod tests;

use self::lane::{Lane, copy_us};
use super::{Abort, Backend, Equipment, Events, Extras, Session, ThreadSeat, Wish};
use crate::base::pattern::{Recipe, Stretch};
use crate::base::{Buffer, Bytes, Clock, Fault, Kind, Rank, Span, World};
use crate::bootstrap::Bootstrap;
use crate::ops::Ops;
use crate::record::{DeviceRecord, Mismatches};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

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
        Ok(Box::new(SimSession::new(
            seat.world,
            &seat.ranks,
            seat.wish.seed,
        )))
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

#[derive(Debug)]
struct SimSession {
    lanes: Vec<Lane>,
    clock: Arc<VirtualClock>,
    buffers: usize,
    stop: Arc<Stop>,
    marks: marks::Marks,
}

impl SimSession {
    fn new(world: World, ranks: &[Rank], seed: u64) -> Self {
        let clock = Arc::new(VirtualClock::default());
        let lanes = ranks
            .iter()
            .map(|rank| Lane::new(*rank, world, seed, Arc::clone(&clock)));
        Self {
            lanes: lanes.collect(),
            clock,
            buffers: 0,
            stop: Arc::default(),
            marks: marks::Marks::default(),
        }
    }
}

impl Session for SimSession {
    fn ops(&self, lane: usize) -> &dyn Ops {
        &self.lanes[lane]
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        self.lanes.iter().for_each(Lane::open_group);
        let result = body();
        self.lanes.iter().for_each(Lane::close_group);
        result
    }

    fn free_memory(&self, _lane: usize) -> Result<Option<Bytes>, Fault> {
        Ok(None)
    }

    fn alloc(&mut self, _lane: usize, _len: Bytes) -> Result<Buffer, Fault> {
        self.buffers += 1;
        Ok(Buffer(self.buffers - 1))
    }

    fn fill(&mut self, lane: usize, into: Span, _recipe: &Recipe) -> Result<(), Fault> {
        self.lanes[lane].enqueue(copy_us(into.len));
        Ok(())
    }

    fn poison(&mut self, lane: usize, span: Span, _recipe: &Recipe) -> Result<(), Fault> {
        self.lanes[lane].enqueue(copy_us(span.len));
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
        let busy = self.lanes.iter().map(Lane::busy_until_us);
        self.clock.reach_us(busy.fold(0.0, f64::max));
        Ok(true)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::clone(&self.stop) as Arc<dyn Abort>
    }
}

impl Extras for SimSession {
    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(Arc::clone(&self.clock) as Arc<dyn Clock>)
    }

    fn events(&self) -> Option<&dyn Events> {
        Some(self)
    }
}

#[derive(Debug, Default)]
struct Stop(AtomicBool);

impl Abort for Stop {
    fn abort(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
