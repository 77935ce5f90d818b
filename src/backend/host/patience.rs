//! How a rank waits: briefly spinning, then giving the processor away, then asleep.
//!
//! Every wait can be ended by another thread, has the operation's limit, and names who is missing.
//! Spinning alone would be deadly where ranks outnumber processors.

use crate::backend::Abort;
use crate::backend::ThreadSeat;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::Kind;
use rustix::event::Timespec;
use rustix::thread::futex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// The longest sleep between two looks at flag, clock and peers.
pub(super) const NAP: Duration = Duration::from_millis(10);

/// Turns of pure spinning while every rank of the host has a processor: about 2 µs.
const SPINS: u32 = 200;

/// Times the processor is given away before sleeping.
const YIELDS: u32 = 50;

/// Ends a session's waits from another thread.
#[derive(Debug, Default)]
pub(super) struct Stop(AtomicBool);

impl Abort for Stop {
    fn abort(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A word that changes, and how many sleep until it does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bell<'a> {
    /// The word.
    pub(super) word: &'a AtomicU32,
    /// How many sleep on it.
    pub(super) sleepers: &'a AtomicU32,
}

impl Bell<'_> {
    /// Wakes who sleeps on the word, which has just been changed with `SeqCst`.
    pub(super) fn ring(self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // Only a bad address can fail, and the word is mapped.
            let _ = futex::wake(self.word, futex::Flags::empty(), i32::MAX as u32);
        }
    }

    /// Sleeps while the word is `seen`, for [`NAP`] at most.
    pub(super) fn nap(self, seen: u32) {
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(NAP.subsec_nanos()),
        };
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // Woken, changed meanwhile, interrupted or timed out: the caller looks at the word again.
        let _ = futex::wait(self.word, futex::Flags::empty(), seen, Some(&limit));
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whom a wait is for.
pub(super) trait Awaited {
    /// What to say if somebody this wait needs is gone.
    fn lost(&self) -> Option<Fault>;

    /// What to say if the limit has passed.
    fn late(&self, limit: Duration) -> Fault;
}

/// What bounds a session's waits.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    clock: Arc<dyn Clock>,
    limit: Option<Duration>,
    stop: Arc<Stop>,
    spins: u32,
}

impl Patience {
    /// For a seat whose host has `neighbours` ranks.
    pub(super) fn of(seat: &ThreadSeat, stop: Arc<Stop>, neighbours: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            clock: Arc::clone(&seat.clock),
            limit: seat.op_limit,
            stop,
            spins: if neighbours <= processors { SPINS } else { 0 },
        }
    }

    /// The same with another limit.
    pub(super) fn limited(&self, limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            ..self.clone()
        }
    }

    /// Waits until the bell's word is one that `ready` accepts.
    ///
    /// # Errors
    /// `Interrupted` if another thread ended it, else what `awaited` says.
    pub(super) fn until(
        &self,
        bell: Bell<'_>,
        ready: &dyn Fn(u32) -> bool,
        awaited: &dyn Awaited,
    ) -> Result<(), Fault> {
        let is_ready = || ready(bell.word.load(Ordering::Acquire));
        for _ in 0..self.spins {
            if is_ready() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        for _ in 0..YIELDS {
            if is_ready() {
                return Ok(());
            }
            std::thread::yield_now();
        }
        let mut wait = self.begin();
        loop {
            let seen = bell.word.load(Ordering::Acquire);
            if ready(seen) {
                return Ok(());
            }
            bell.nap(seen);
            wait.check(&is_ready, awaited)?;
        }
    }

    /// Starts a wait of another shape: its owner looks round, sleeps, and calls [`Wait::check`].
    pub(super) fn begin(&self) -> Wait<'_> {
        Wait {
            patience: self,
            since: self.clock.now(),
        }
    }
}

/// A wait that has lasted.
#[derive(Debug)]
pub(super) struct Wait<'a> {
    patience: &'a Patience,
    since: Duration,
}

impl Wait<'_> {
    /// Whether it may go on. `is_ready` is asked once more before anybody is blamed: who left after
    /// doing all that was awaited is not missed.
    ///
    /// # Errors
    /// As [`Patience::until`].
    pub(super) fn check(
        &mut self,
        is_ready: &dyn Fn() -> bool,
        awaited: &dyn Awaited,
    ) -> Result<(), Fault> {
        if self.patience.stop.0.load(Ordering::Acquire) {
            return Err(Fault::new(Kind::Interrupted, "the operation was aborted"));
        }
        if let Some(fault) = awaited.lost()
            && !is_ready()
        {
            return Err(fault);
        }
        let waited = self.patience.clock.now().saturating_sub(self.since);
        match self.patience.limit {
            Some(limit) if waited >= limit && !is_ready() => Err(awaited.late(limit)),
            _ => Ok(()),
        }
    }
}

/// A limit as messages say it: `10 s`, `250 ms`.
pub(super) fn spoken(limit: Duration) -> String {
    if limit.subsec_nanos() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{} ms", limit.as_millis())
    }
}
