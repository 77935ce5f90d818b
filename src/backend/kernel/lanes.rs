//! Making the lanes of a session: stream, checker, board, and what collectives are run with.

use super::abort::Line;
use super::abort::Links;
use super::census::Census;
use super::choice::Chooser;
use super::household::Home;
use super::household::Household;
use super::lane::Lane;
use super::lane::Means;
use super::open::place;
use super::order::Ground;
use crate::backend::ThreadSeat;
use crate::backend::check::Checker;
use crate::base::Fault;
use crate::base::Rank;
use crate::ffi::cuda::Driver;
use crate::ffi::cuda::Memory;
use crate::ffi::cuda::Stream;
use crate::ffi::kernels::collective::ENGINE_FLAGS_AT;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::Module;
use crate::ffi::kernels::collective::Team;
use crate::ffi::kernels::collective::report;
use std::cell::Cell;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The oldest compute capability whose launches can be made ready early, and the oldest driver.
///
/// # Source
/// CUDA programming guide, "Programmatic Dependent Launch"; PTX ISA 7.8 came with CUDA 11.8.
const EARLY_CAPABILITY: u32 = 90;
const EARLY_DRIVER: i32 = 11_080;

/// A wait ends by itself a little before the run's own patience does, so that it can say for whom
/// it waited.
const EARLIER: Duration = Duration::from_secs(1);

/// Where an operation may take for ever, a wait takes this long at the most.
const LONGEST: Duration = Duration::from_hours(24);

/// What all lanes of a session are made of.
pub(super) struct Opening<'a> {
    pub(super) driver: &'a Arc<Driver>,
    pub(super) seat: &'a ThreadSeat,
    pub(super) census: &'a Census,
    pub(super) links: &'a Arc<Links>,
    pub(super) chooser: &'a Arc<Chooser>,
}

impl Opening<'_> {
    pub(super) fn lane(
        &self,
        index: usize,
        home: Home,
        household: Option<&Arc<Household>>,
        spaces: Option<&[u64; MAX_RANKS]>,
    ) -> Result<Lane, Fault> {
        self.driver.set_current(home.context)?;
        let stream = self.driver.stream()?;
        let rank = self.seat.ranks[index];
        let means = match (household, spaces) {
            (Some(household), Some(spaces)) => {
                let means = self.means(rank, home, household, spaces)?;
                household.functions(home.ordinal, Module::Copies, means.early)?;
                Ok(means)
            }
            _ => Err(self.census.refusal.clone().unwrap_or_default()),
        };
        Ok(Lane {
            driver: Arc::clone(self.driver),
            links: Arc::clone(self.links),
            chooser: Arc::clone(self.chooser),
            home,
            stream,
            checker: Checker::new(self.driver, home.device, stream)?,
            rank,
            world: self.seat.world,
            place: place(self.seat, index),
            buffers: Vec::new(),
            means,
            is_one_of_several: self.seat.ranks.len() > 1,
            functions: RefCell::new([const { None }; Module::ALL.len()]),
            last_rule: Cell::new(None),
            moved: Cell::new(true),
            recording: Cell::new(false),
        })
    }

    fn means(
        &self,
        rank: Rank,
        home: Home,
        household: &Arc<Household>,
        spaces: &[u64; MAX_RANKS],
    ) -> Result<Means, Fault> {
        let board = self.driver.board(report::WORDS)?;
        let own = spaces[rank.0 as usize];
        let team = Team {
            work: *spaces,
            report: board.address(),
            limit: u64::try_from(self.patience().as_nanos()).unwrap_or(u64::MAX),
            rank: rank.0.into(),
            world: self.seat.world.0.into(),
        };
        let line = Arc::new(Line {
            board,
            context: home.context,
            rescue: self.driver.stream()?,
            engine_flags: Memory {
                address: own + ENGINE_FLAGS_AT,
                len: 4 * MAX_RANKS as u64,
            },
            engine_count: AtomicU32::new(0),
        });
        self.links.add(Arc::clone(&line));
        Ok(Means {
            household: Arc::clone(household),
            ground: Ground {
                team,
                resident_threads: self.census.resident_threads,
            },
            line,
            early: self.is_early(home)?,
            engine_flags: spaces.map(|address| address.wrapping_add(ENGINE_FLAGS_AT)),
        })
    }

    fn patience(&self) -> Duration {
        let limit = self.seat.op_limit.unwrap_or(LONGEST);
        limit.saturating_sub(EARLIER.min(limit / 10))
    }

    fn is_early(&self, home: Home) -> Result<bool, Fault> {
        let able = self.driver.compute_capability(home.device)? >= EARLY_CAPABILITY
            && self.driver.version()? >= EARLY_DRIVER
            && self.driver.launches_early();
        Ok(able && self.seat.wish.kernel.early.unwrap_or(true))
    }
}

/// What a lane's stream is left to: given back with the session.
pub(super) fn give_back_streams(driver: &Driver, stream: Stream, means: Option<&Means>) {
    drop(driver.destroy_stream(stream));
    if let Some(means) = means {
        drop(driver.destroy_stream(means.line.rescue));
    }
}
