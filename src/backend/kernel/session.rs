//! The open communicator as one engine thread sees it.

use super::abort;
use super::abort::Aborter;
use super::abort::Links;
use super::extras::Kept;
use super::household::Household;
use super::lane::Lane;
use super::lane::Shared;
use super::lanes;
use crate::backend::Abort;
use crate::backend::Session;
use crate::backend::ThreadSeat;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Fault;
use crate::base::Span;
use crate::base::pattern::Recipe;
use crate::base::pattern::Stretch;
use crate::ffi::cuda::Driver;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::report;
use crate::ops::Ops;
use crate::record::Mismatches;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// This thread's ranks.
#[derive(Debug)]
pub(super) struct KernelSession {
    driver: Arc<Driver>,
    links: Arc<Links>,
    lanes: Vec<Lane>,
    household: Option<Arc<Household>>,
    pub(super) kept: Kept,
    world: u32,
    limit: Duration,
}

impl KernelSession {
    pub(super) fn new(driver: Arc<Driver>, links: Arc<Links>, seat: &ThreadSeat) -> Self {
        Self {
            driver,
            links,
            lanes: Vec::with_capacity(seat.ranks.len()),
            household: None,
            kept: Kept::default(),
            world: seat.world.0,
            limit: seat.limit,
        }
    }

    pub(super) fn add(&mut self, lane: Lane) {
        self.lanes.push(lane);
    }

    pub(super) fn driver(&self) -> &Driver {
        &self.driver
    }

    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    pub(super) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    pub(super) fn set_household(&mut self, household: Arc<Household>) {
        self.household = Some(household);
    }

    /// Whether every lane's stream is idle.
    fn is_idle(&self) -> Result<bool, Fault> {
        for lane in &self.lanes {
            let idle = self.driver.is_idle(lane.stream);
            if !idle.map_err(|fault| lane.placed(fault))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `Ok` unless a kernel has given up waiting.
    fn look_at_reports(&self) -> Result<(), Fault> {
        for lane in &self.lanes {
            let Ok(means) = &lane.means else { continue };
            let board = &means.line.board;
            if board.word(report::STATE).load(Ordering::Acquire) != 0 {
                return Err(lane.placed(abort::given_up(board.read())));
            }
        }
        Ok(())
    }

    /// Waits for one lane, as long as nobody aborts.
    fn wait(&self, lane: usize) -> Result<(), Fault> {
        let lane = &self.lanes[lane];
        while !self.driver.is_idle(lane.stream)? {
            self.links.alive()?;
            std::thread::yield_now();
        }
        self.look_at_reports()
    }

    /// Runs `body` with a lane's device current; says where it failed.
    fn on<T>(&self, lane: usize, body: impl FnOnce(&Lane) -> Result<T, Fault>) -> Result<T, Fault> {
        let lane = &self.lanes[lane];
        self.links.alive()?;
        let done = self.driver.set_current(lane.home.context);
        done.and_then(|()| body(lane))
            .map_err(|fault| lane.placed(fault))
    }

    /// A buffer of one lane, given to everybody where memory is shared.
    fn allocate(&self, lane: usize, index: usize, len: u64) -> Result<Shared, Fault> {
        self.on(lane, |lane| {
            let mine = match (&self.household, &lane.means) {
                (Some(household), Ok(_)) => {
                    let index = u32::try_from(index).unwrap_or(u32::MAX);
                    household.share(lane.rank.0, index, &lane.home, len)?
                }
                _ => self.driver.alloc(len.max(1))?.cut(len),
            };
            Ok(Shared {
                mine,
                everywhere: [0; MAX_RANKS],
            })
        })
    }

    /// Waits for everybody's buffers that all of this thread's lanes have, and keeps where they lie.
    fn meet(&mut self) -> Result<(), Fault> {
        let Some(household) = &self.household else {
            return Ok(());
        };
        let counts = self.lanes.iter().map(|lane| lane.buffers.len());
        let complete = counts.min().unwrap_or(0);
        for index in 0..complete {
            let known = |lane: &Lane| lane.buffers[index].everywhere != [0; MAX_RANKS];
            if self.lanes.iter().all(known) {
                continue;
            }
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            let alive = || self.links.alive();
            let everywhere = household.everybodys(number, self.world, self.limit, &alive)?;
            for lane in &mut self.lanes {
                lane.buffers[index].everywhere = everywhere;
            }
        }
        Ok(())
    }

    /// Gives a lane's kernels and stream back, and memory that is not the household's.
    fn give_back(&self, lane: &Lane) {
        drop(self.driver.set_current(lane.home.context));
        if lane.means.is_err() {
            for buffer in &lane.buffers {
                drop(self.driver.free(buffer.mine));
            }
        }
        lane.checker.give_back(&self.driver);
        lanes::give_back_streams(&self.driver, lane.stream, lane.means.as_ref().ok());
    }
}

impl Session for KernelSession {
    fn ops(&self, lane: usize) -> &dyn Ops {
        &self.lanes[lane]
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        self.links.alive()?;
        body()
    }

    fn free_memory(&self, lane: usize) -> Result<Option<Bytes>, Fault> {
        self.on(lane, |_| {
            let (free, _) = self.driver.memory_info()?;
            Ok(Some(Bytes(free)))
        })
    }

    fn alloc(&mut self, lane: usize, len: Bytes) -> Result<Buffer, Fault> {
        let index = self.lanes[lane].buffers.len();
        let shared = self.allocate(lane, index, len.0)?;
        self.lanes[lane].buffers.push(shared);
        self.meet()?;
        Ok(Buffer(index))
    }

    fn fill(&mut self, lane: usize, into: Span, recipe: &Recipe) -> Result<(), Fault> {
        self.on(lane, |lane| {
            lane.prepare(recipe)?;
            let into = lane.stretch(into)?;
            lane.checker.fill(&self.driver, lane.rank, into, recipe)
        })
    }

    fn poison(&mut self, lane: usize, span: Span, recipe: &Recipe) -> Result<(), Fault> {
        self.on(lane, |lane| {
            let into = lane.stretch(span)?;
            lane.checker.poison(&self.driver, into, recipe)
        })
    }

    fn verify(
        &mut self,
        lane: usize,
        got: Span,
        recipe: &Recipe,
        expect: &[Stretch],
    ) -> Result<Option<Mismatches>, Fault> {
        if !self.lanes[lane].moved.get() {
            return Ok(None);
        }
        let wait = || self.wait(lane);
        self.on(lane, |lane| {
            let at = lane.at(got)?;
            lane.checker
                .verify(&self.driver, (at, &lane.place), recipe, expect, &wait)
        })
        .map(Some)
    }

    fn poll(&mut self) -> Result<bool, Fault> {
        self.links.alive()?;
        let idle = self.is_idle()?;
        self.look_at_reports()?;
        Ok(idle)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::new(Aborter(Arc::clone(&self.links)))
    }
}

impl Drop for KernelSession {
    /// Gives everything back, unless operations were aborted or are still in flight: freeing what a
    /// stuck kernel uses would block for ever, so that is left to the end of the process.
    fn drop(&mut self) {
        if self.links.is_aborted() || !matches!(self.is_idle(), Ok(true)) {
            Aborter(Arc::clone(&self.links)).abort();
            // The memory must outlive whatever still runs on it.
            std::mem::forget(self.household.take());
            return;
        }
        self.give_back_kept();
        for lane in &self.lanes {
            self.give_back(lane);
        }
    }
}
