//! The open communicator as one engine thread sees it.

use super::Tools;
use super::abort::Aborter;
use super::abort::Links;
use super::extras::Kept;
use super::lane::Lane;
use crate::backend::Abort;
use crate::backend::Session;
use crate::backend::ThreadSeat;
use crate::backend::extras::taken;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::Span;
use crate::base::pattern::Recipe;
use crate::base::pattern::Stretch;
use crate::ffi::cuda::Memory;
use crate::ops::Ops;
use crate::record::Mismatches;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Polls between two questions about asynchronous errors: asking costs about as much as a poll.
const POLLS_BETWEEN_QUESTIONS: u32 = 1024;

/// This thread's ranks.
#[derive(Debug)]
pub(super) struct NcclSession {
    tools: Tools,
    links: Arc<Links>,
    lanes: Vec<Lane>,
    clock: Arc<dyn Clock>,
    limit: Duration,
    polls: u32,
    initialization_bytes: Vec<i64>,
    pub(super) kept: Kept,
}

impl NcclSession {
    pub(super) fn new(tools: Tools, links: Arc<Links>, seat: &ThreadSeat) -> Self {
        Self {
            tools,
            links,
            lanes: Vec::with_capacity(seat.ranks.len()),
            clock: Arc::clone(&seat.clock),
            limit: seat.limit,
            polls: 0,
            initialization_bytes: Vec::new(),
            kept: Kept::default(),
        }
    }

    /// Remembers what making the communicator took of each lane's memory.
    pub(super) fn keep_initialization(&mut self, before: &[Bytes], after: &[Bytes]) {
        let pairs = before.iter().zip(after);
        self.initialization_bytes = pairs
            .map(|(&before, &after)| taken(before, after))
            .collect();
    }

    pub(super) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    pub(super) fn initialization(&self, lane: usize) -> Option<i64> {
        self.initialization_bytes.get(lane).copied()
    }

    pub(super) fn add(&mut self, lane: Lane) {
        self.lanes.push(lane);
    }

    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(super) fn links(&self) -> Arc<Links> {
        Arc::clone(&self.links)
    }

    /// Whether every lane's stream is idle.
    fn is_idle(&self) -> Result<bool, Fault> {
        for lane in &self.lanes {
            if !lane.is_idle().map_err(|fault| lane.placed(fault))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn check_async(&self) -> Result<(), Fault> {
        self.lanes.iter().try_for_each(|lane| {
            let asked = self.tools.nccl.check_async(lane.queue.comm);
            asked.map_err(|fault| lane.placed(fault))
        })
    }

    /// Waits for one lane, as long as nobody aborts.
    fn wait(&self, lane: usize) -> Result<(), Fault> {
        let lane = &self.lanes[lane];
        let mut polls = 0u32;
        while !lane.is_idle()? {
            self.links.alive()?;
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_BETWEEN_QUESTIONS) {
                self.tools.nccl.check_async(lane.queue.comm)?;
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Runs `body` with a lane's device current; says where it failed.
    fn on<T>(&self, lane: usize, body: impl FnOnce(&Lane) -> Result<T, Fault>) -> Result<T, Fault> {
        let lane = &self.lanes[lane];
        self.links.alive()?;
        let done = self.tools.driver.set_current(lane.context);
        done.and_then(|()| body(lane))
            .map_err(|fault| lane.placed(fault))
    }

    /// NCCL's allocator where it has one, as nccl-tests does, else the driver's.
    fn allocate(&self, len: u64) -> Result<Memory, Fault> {
        if self.tools.nccl.allocates() {
            self.tools.nccl.alloc(len)
        } else {
            self.tools.driver.alloc(len)
        }
    }

    fn free(&self, memory: Memory) -> Result<(), Fault> {
        if self.tools.nccl.allocates() {
            self.tools.nccl.free(memory)
        } else {
            self.tools.driver.free(memory)
        }
    }

    /// Destroys the communicators, which waits for the other ranks; false if that took too long.
    fn leave(&self) -> bool {
        for lane in &self.lanes {
            for operator in lane.operators.iter().filter_map(std::cell::Cell::take) {
                drop(self.tools.nccl.destroy_operator(lane.queue.comm, operator));
            }
        }
        let (tools, comms) = (self.tools.clone(), self.links.take());
        let contexts: Vec<_> = self.lanes.iter().map(|lane| lane.context).collect();
        let registered = self.kept.registered.take();
        let done = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&done);
        let job = move || {
            for (lane, one) in registered {
                drop(tools.driver.set_current(contexts[lane]));
                drop(tools.nccl.deregister(comms[lane], one));
            }
            for comm in comms {
                drop(tools.nccl.destroy(comm));
            }
            told.store(true, Ordering::Release);
        };
        if std::thread::Builder::new()
            .name("nccl exit".to_owned())
            .spawn(job)
            .is_err()
        {
            return false;
        }
        let start = self.clock.now();
        while !done.load(Ordering::Acquire) && self.clock.now().saturating_sub(start) < self.limit {
            self.clock.pause(Duration::from_millis(1));
        }
        done.load(Ordering::Acquire)
    }

    /// Gives a lane's memory, kernels and stream back. What fails here concerns nobody any more.
    fn give_back(&self, lane: &Lane) {
        drop(self.tools.driver.set_current(lane.context));
        for &memory in &lane.buffers {
            drop(self.free(memory));
        }
        lane.checker.give_back(&self.tools.driver);
        if !lane.queue.stream.is_null() {
            drop(self.tools.driver.destroy_stream(lane.queue.stream));
        }
    }
}

impl Session for NcclSession {
    fn ops(&self, lane: usize) -> &dyn Ops {
        &self.lanes[lane]
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        self.lanes[0].group(body)
    }

    fn free_memory(&self, lane: usize) -> Result<Option<Bytes>, Fault> {
        self.on(lane, |_| {
            let (free, _) = self.tools.driver.memory_info()?;
            Ok(Some(Bytes(free)))
        })
    }

    fn alloc(&mut self, lane: usize, len: Bytes) -> Result<Buffer, Fault> {
        let memory = self.on(lane, |_| self.allocate(len.0.max(1)))?.cut(len.0);
        let buffers = &mut self.lanes[lane].buffers;
        buffers.push(memory);
        Ok(Buffer(buffers.len() - 1))
    }

    fn fill(&mut self, lane: usize, into: Span, recipe: &Recipe) -> Result<(), Fault> {
        self.on(lane, |lane| {
            let (rank, into) = (lane.seat.rank, lane.stretch(into)?);
            lane.checker.fill(&self.tools.driver, rank, into, recipe)
        })
    }

    fn poison(&mut self, lane: usize, span: Span, recipe: &Recipe) -> Result<(), Fault> {
        self.on(lane, |lane| {
            let into = lane.stretch(span)?;
            lane.checker.poison(&self.tools.driver, into, recipe)
        })
    }

    fn verify(
        &mut self,
        lane: usize,
        got: Span,
        recipe: &Recipe,
        expect: &[Stretch],
    ) -> Result<Option<Mismatches>, Fault> {
        let wait = || self.wait(lane);
        self.on(lane, |lane| {
            let (driver, at) = (&self.tools.driver, lane.at(got)?);
            let place = &lane.seat.place;
            lane.checker
                .verify(driver, (at, place), recipe, expect, &wait)
        })
        .map(Some)
    }

    fn poll(&mut self) -> Result<bool, Fault> {
        self.links.alive()?;
        let idle = self.is_idle()?;
        self.polls = self.polls.wrapping_add(1);
        if idle || self.polls.is_multiple_of(POLLS_BETWEEN_QUESTIONS) {
            self.check_async()?;
        }
        Ok(idle)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::new(Aborter(Arc::clone(&self.links)))
    }
}

impl Drop for NcclSession {
    /// Gives everything back, unless the communicators were aborted or operations are still in
    /// flight: freeing what a stuck kernel uses would block for ever, so that is left to the end
    /// of the process.
    fn drop(&mut self) {
        if self.links.is_aborted() {
            return;
        }
        if !matches!(self.is_idle(), Ok(true)) {
            Aborter(Arc::clone(&self.links)).abort();
            return;
        }
        self.give_back_kept();
        if self.leave() {
            for lane in &self.lanes {
                self.give_back(lane);
            }
        }
    }
}
