//! A session that only writes down what it is asked, and a clock moved by hand.

use crate::backend::Abort;
use crate::backend::Events;
use crate::backend::Extras;
use crate::backend::Graphs;
use crate::backend::Session;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Clock;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::base::pattern::Recipe;
use crate::base::pattern::Stretch;
use crate::ops::Collectives;
use crate::ops::Ops;
use crate::record::Mismatches;
use std::cell::Cell;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A clock that moves when it is told to.
#[derive(Debug, Default)]
pub(super) struct Hand(AtomicU64);

impl Hand {
    pub(super) fn forward(&self, micros: u64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::SeqCst))
    }

    fn pause(&self, pause: Duration) {
        self.forward(u64::try_from(pause.as_micros()).unwrap());
    }
}

/// What a session was asked to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Deed {
    Fill(u64),
    Poison,
    Reduce(Span, Span),
    Drained,
    Verify,
    Mark(usize),
    Recording,
    Recorded,
    Launch,
    Forgotten,
}

/// One rank of two whose operations take 7 µs each, counted when they are waited for.
#[derive(Debug)]
pub(super) struct Fake {
    pub(super) clock: Arc<Hand>,
    pub(super) deeds: Rc<RefCell<Vec<Deed>>>,
    open: Cell<u64>,
    /// Operations recorded so far, while that is going on and until it is forgotten.
    recorded: Cell<u64>,
    records: Cell<bool>,
    pub(super) offers: bool,
    pub(super) finds: Mismatches,
    buffers: usize,
}

impl Fake {
    pub(super) fn new(clock: &Arc<Hand>) -> Self {
        Self {
            clock: Arc::clone(clock),
            deeds: Rc::default(),
            open: Cell::new(0),
            recorded: Cell::new(0),
            records: Cell::new(false),
            offers: true,
            finds: Mismatches::default(),
            buffers: 0,
        }
    }

    fn note(&self, deed: Deed) {
        self.deeds.borrow_mut().push(deed);
    }
}

impl Collectives for Fake {
    fn all_reduce(&self, send: Span, recv: Span, _: DataType, _: RedOp) -> Result<(), Fault> {
        if !self.offers {
            return Err(Fault::unsupported("not here"));
        }
        let counted = if self.records.get() {
            &self.recorded
        } else {
            &self.open
        };
        counted.set(counted.get() + 1);
        self.note(Deed::Reduce(send, recv));
        Ok(())
    }
}

impl Ops for Fake {
    fn rank(&self) -> Rank {
        Rank(1)
    }

    fn world(&self) -> World {
        World(2)
    }

    fn has_native(&self, _name: &str) -> bool {
        true
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        body()
    }
}

#[derive(Debug)]
struct NoAbort;

impl Abort for NoAbort {
    fn abort(&self) {}
}

impl Extras for Fake {
    fn graphs(&self) -> Option<&dyn Graphs> {
        Some(self)
    }

    fn events(&self) -> Option<&dyn Events> {
        Some(self)
    }
}

impl Graphs for Fake {
    fn ready(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn begin(&self) -> Result<(), Fault> {
        self.note(Deed::Recording);
        self.records.set(true);
        Ok(())
    }

    fn end(&self) -> Result<(), Fault> {
        self.note(Deed::Recorded);
        self.records.set(false);
        Ok(())
    }

    fn launch(&self) -> Result<(), Fault> {
        self.note(Deed::Launch);
        self.open.set(self.open.get() + self.recorded.get());
        Ok(())
    }

    fn discard(&self) -> Result<(), Fault> {
        self.note(Deed::Forgotten);
        self.recorded.set(0);
        Ok(())
    }
}

/// Mark i is passed after i² µs.
impl Events for Fake {
    fn prepare(&self, _count: usize) -> Result<(), Fault> {
        Ok(())
    }

    fn mark(&self, _lane: usize, index: usize) -> Result<(), Fault> {
        self.note(Deed::Mark(index));
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "a few marks")]
    fn between_us(&self, _lane: usize, from: usize, to: usize) -> Result<f64, Fault> {
        Ok((to * to - from * from) as f64)
    }
}

impl Session for Fake {
    fn ops(&self, _lane: usize) -> &dyn Ops {
        self
    }

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

    fn fill(&mut self, _lane: usize, _into: Span, recipe: &Recipe) -> Result<(), Fault> {
        self.note(Deed::Fill(recipe.seed));
        Ok(())
    }

    fn poison(&mut self, _lane: usize, _span: Span, _recipe: &Recipe) -> Result<(), Fault> {
        self.note(Deed::Poison);
        Ok(())
    }

    fn verify(
        &mut self,
        _: usize,
        _: Span,
        _: &Recipe,
        _: &[Stretch],
    ) -> Result<Option<Mismatches>, Fault> {
        self.note(Deed::Verify);
        Ok(Some(self.finds.clone()))
    }

    /// Half of the polls find nothing done yet.
    fn poll(&mut self) -> Result<bool, Fault> {
        assert!(!self.records.get(), "what is recorded cannot be waited for");
        let open = self.open.replace(0);
        self.clock.forward(7 * open);
        if open == 0 {
            self.note(Deed::Drained);
        }
        Ok(open == 0)
    }

    fn aborter(&self) -> Arc<dyn Abort> {
        Arc::new(NoAbort)
    }
}
