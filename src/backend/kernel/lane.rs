//! One rank of a session: its stream, workspace and buffers, and the verbs on them.
//!
//! A verb makes one launch. What the host does for it is on the path of every small operation: two
//! table reads, the arguments on the stack, one call of the driver.

use super::abort::Line;
use super::abort::Links;
use super::algo::Algo;
use super::algo::Verb;
use super::choice::Chooser;
use super::choice::Chosen;
use super::household::Functions;
use super::household::Home;
use super::household::Household;
use super::moves;
use super::moves::Moves;
use super::order;
use super::order::Everywhere;
use super::order::Ground;
use super::order::Order;
use super::order::Reduction;
use crate::backend::check::Checker;
use crate::backend::check::Stretched;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::base::fault::Place;
use crate::base::pattern::Recipe;
use crate::ffi::cuda::Driver;
use crate::ffi::cuda::Memory;
use crate::ffi::cuda::Stream;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::MAX_THREADS;
use crate::ffi::kernels::collective::Module;
use std::cell::Cell;
use std::cell::RefCell;
use std::sync::Arc;

/// A buffer of this rank, and where everybody's of the same number lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    pub(super) mine: Memory,
    pub(super) everywhere: Everywhere,
}

/// What a lane needs to run collectives; none where they cannot run here.
#[derive(Debug)]
pub(super) struct Means {
    pub(super) household: Arc<Household>,
    pub(super) ground: Ground,
    pub(super) line: Arc<Line>,
    /// Whether launches may be made ready early.
    pub(super) early: bool,
    pub(super) engine_flags: Everywhere,
}

/// One rank.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) driver: Arc<Driver>,
    pub(super) links: Arc<Links>,
    pub(super) chooser: Arc<Chooser>,
    pub(super) home: Home,
    pub(super) stream: Stream,
    pub(super) checker: Checker,
    pub(super) rank: Rank,
    pub(super) world: World,
    pub(super) place: Place,
    pub(super) buffers: Vec<Shared>,
    /// What it runs collectives with, or why it cannot.
    pub(super) means: Result<Means, String>,
    /// Whether another lane's context may be current.
    pub(super) is_one_of_several: bool,
    pub(super) functions: RefCell<[Option<Functions>; Module::ALL.len()]>,
    /// The last datatype and operator, and their rule.
    pub(super) last_rule: Cell<Option<(DataType, RedOp, Reduction)>>,
    /// Whether the last operation moved data.
    pub(super) moved: Cell<bool>,
    /// Whether what is enqueued is recorded.
    pub(super) recording: Cell<bool>,
}

impl Lane {
    /// A buffer and where in it a span begins.
    #[inline]
    fn shared(&self, span: Span) -> Result<&Shared, Fault> {
        match self.buffers.get(span.buffer.0) {
            Some(shared)
                if span.offset <= shared.mine.len && span.len <= shared.mine.len - span.offset =>
            {
                Ok(shared)
            }
            _ => Err(outside(span)),
        }
    }

    /// The device address of a span.
    #[inline]
    pub(super) fn at(&self, span: Span) -> Result<u64, Fault> {
        Ok(self.shared(span)?.mine.address + span.offset)
    }

    /// The device memory of a span.
    pub(super) fn stretch(&self, span: Span) -> Result<Stretched, Fault> {
        let at = self.at(span)?;
        Ok(Stretched { at, len: span.len })
    }

    /// Where the same span of every rank lies: all ranks call with the same buffers and offsets.
    #[inline]
    pub(super) fn everywhere(&self, span: Span) -> Result<Everywhere, Fault> {
        let everywhere = self.shared(span)?.everywhere;
        Ok(everywhere.map(|address| address.wrapping_add(span.offset)))
    }

    /// Says where a fault happened.
    pub(super) fn placed(&self, fault: Fault) -> Fault {
        fault.at(self.place.clone())
    }

    #[inline]
    pub(super) fn means(&self) -> Result<&Means, Fault> {
        self.links.alive()?;
        self.means
            .as_ref()
            .map_err(|reason| Fault::unsupported(reason.clone()))
    }

    pub(super) fn choose(
        &self,
        means: &Means,
        verb: Verb,
        bytes: u64,
        part: impl Fn(Algo) -> u64,
    ) -> Result<Chosen, Fault> {
        let most = means.ground.most_blocks(MAX_THREADS);
        let chosen = self.chooser.choose(verb, bytes, part, most)?;
        self.moved.set(chosen.algo.moves_data());
        Ok(chosen)
    }

    pub(super) fn reduction(&self, dtype: DataType, redop: RedOp) -> Reduction {
        if let Some((for_dtype, for_redop, reduction)) = self.last_rule.get()
            && (for_dtype, for_redop) == (dtype, redop)
        {
            return reduction;
        }
        let rule = order::rule(dtype, redop, self.world);
        let reduction = Reduction { dtype, rule };
        self.last_rule.set(Some((dtype, redop, reduction)));
        reduction
    }

    /// The kernels of a module; loaded before anything of it is launched anywhere in this process.
    fn functions(&self, means: &Means, module: Module) -> Result<Functions, Fault> {
        let mut known = self.functions.borrow_mut();
        let slot = &mut known[module as usize];
        if let Some(functions) = slot {
            return Ok(Arc::clone(functions));
        }
        let ordinal = self.home.ordinal;
        let loaded = means.household.functions(ordinal, module, means.early)?;
        Ok(Arc::clone(slot.insert(loaded)))
    }

    /// Loads what operations on this data need: that cannot be done while they are recorded.
    pub(super) fn prepare(&self, recipe: &Recipe) -> Result<(), Fault> {
        match (&self.means, recipe.redop) {
            (Ok(means), Some(_)) => {
                let module = Module::reducing(recipe.dtype);
                self.functions(means, module).map(drop)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn launch(&self, means: &Means, order: &Order) -> Result<(), Fault> {
        let functions = self.functions(means, order.module)?;
        if self.is_one_of_several {
            self.driver.set_current(self.home.context)?;
        }
        let function = functions[order.kernel.index()];
        let grid = (order.blocks, order.threads);
        let (words, early) = (order.args.words(), means.early);
        let launched = self
            .driver
            .launch_in_order(function, grid, words, self.stream, early);
        launched.map_err(|fault| self.placed(fault))
    }

    pub(super) fn move_bytes(
        &self,
        means: &Means,
        chosen: Chosen,
        moves: &Moves,
    ) -> Result<(), Fault> {
        match chosen.algo {
            Algo::Engine => self.move_by_engine(means, moves),
            algo if !algo.moves_data() => self.launch(means, &moves::rung(&means.ground, algo)),
            _ => self.launch(means, &moves::copy(&means.ground, chosen, moves)),
        }
    }

    /// A number of each rank, `place` bytes into what everybody has.
    pub(super) fn each(&self, everywhere: Everywhere, place: impl Fn(u64) -> u64) -> Everywhere {
        let mut all = [0; MAX_RANKS];
        for (rank, address) in (0..u64::from(self.world.0)).zip(&mut all) {
            *address = everywhere[usize::try_from(rank).unwrap_or(0)].wrapping_add(place(rank));
        }
        all
    }

    /// One address as every rank's.
    pub(super) fn mine(&self, address: u64, place: impl Fn(u64) -> u64) -> Everywhere {
        self.each([address; MAX_RANKS], place)
    }
}

#[cold]
fn outside(span: Span) -> Fault {
    Fault::new(
        Kind::Call,
        format!(
            "{span:?} does not lie in a buffer of this rank, which is a defect of this program"
        ),
    )
}
