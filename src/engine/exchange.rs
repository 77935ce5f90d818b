//! Ranks that exchange with partners, all at once, each timed by itself: what a hunt is made of.
//!
//! One communicator serves all rounds. A communicator for each pair would have to be opened again and
//! again, which takes longer than what is measured; sends and receives over the one that all share
//! make their connections at the first use, in the warm-up.

use crate::backend::Session;
use crate::base::Buffer;
use crate::base::Bytes;
use crate::base::Clock;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Micros;
use crate::base::Rank;
use crate::base::Span;
use crate::base::World;
use crate::base::pattern::Recipe;
use crate::base::pattern::SEED_STEP;
use crate::base::pattern::Source;
use crate::base::pattern::Stretch;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::record::Mismatches;
use std::sync::Arc;
use std::time::Duration;

/// Messages are bytes.
const BYTE: DataType = DataType::Uint8;

/// How often an exchange is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// Before the clock is read.
    pub warmups: u32,
    /// Timed.
    pub iterations: u32,
}

/// One rank that exchanges.
pub struct Exchange<'a> {
    session: &'a mut dyn Session,
    plane: &'a dyn Bootstrap,
    clock: Arc<dyn Clock>,
    limit: Duration,
    seed: u64,
    size: Bytes,
    send: Buffer,
    recv: Buffer,
}

impl<'a> Exchange<'a> {
    /// Allocates a buffer to send from and one to receive into.
    ///
    /// # Errors
    /// `Call` where the memory is not to be had.
    pub fn new(
        session: &'a mut dyn Session,
        plane: &'a dyn Bootstrap,
        clock: Arc<dyn Clock>,
        size: Bytes,
        (limit, seed): (Duration, u64),
    ) -> Result<Self, Fault> {
        let (send, recv) = (session.alloc(0, size)?, session.alloc(0, size)?);
        Ok(Self {
            session,
            plane,
            clock,
            limit,
            seed,
            size,
            send,
            recv,
        })
    }

    /// Exchanges with the rank that is sent to and the one that is received from, checks what came,
    /// and gives the time of one exchange; a rank that has nothing to do waits at the start line.
    ///
    /// # Errors
    /// Whatever ends the run.
    pub fn run(
        &mut self,
        name: &str,
        peers: Option<(Rank, Rank)>,
        turns: Turns,
    ) -> Result<Option<(Micros, Mismatches)>, Fault> {
        self.plane.pulse().enter(format!("exchanging, {name}"));
        self.seed = self.seed.wrapping_add(SEED_STEP);
        let recipe = Recipe {
            seed: self.seed,
            dtype: BYTE,
            redop: None,
            world: World(self.session.ops(0).world().0),
        };
        let (sent, got) = (self.whole(self.send), self.whole(self.recv));
        self.session.fill(0, sent, &recipe)?;
        self.session.poison(0, got, &recipe)?;
        for _ in 0..turns.warmups {
            self.turn(peers)?;
        }
        self.drain()?;
        self.plane.start_line(Step {
            name: "the start line of a round",
            limit: self.limit,
        })?;
        let start = self.clock.now();
        for _ in 0..turns.iterations {
            self.turn(peers)?;
        }
        self.drain()?;
        let spent = self.clock.now().saturating_sub(start);
        let Some((_, from)) = peers else {
            return Ok(None);
        };
        let each = spent.as_secs_f64() * 1e6 / f64::from(turns.iterations.max(1));
        Ok(Some((Micros(each), self.check(&recipe, from)?)))
    }

    fn turn(&self, peers: Option<(Rank, Rank)>) -> Result<(), Fault> {
        let Some((to, from)) = peers else {
            return Ok(());
        };
        let (ops, sent, got) = (
            self.session.ops(0),
            self.whole(self.send),
            self.whole(self.recv),
        );
        self.plane.pulse().issued(1);
        ops.group(&mut || {
            ops.send(sent, BYTE, to)?;
            ops.recv(got, BYTE, from)
        })
    }

    fn check(&mut self, recipe: &Recipe, from: Rank) -> Result<Mismatches, Fault> {
        let expect = [Stretch {
            len: self.size.0,
            source: Source::Copied { rank: from, at: 0 },
        }];
        let got = self.whole(self.recv);
        let found = self.session.verify(0, got, recipe, &expect)?;
        Ok(found.unwrap_or_default())
    }

    fn whole(&self, buffer: Buffer) -> Span {
        Span::whole(buffer, self.size)
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
}

impl std::fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
