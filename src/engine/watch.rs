//! The watchdog: ends the run when an operation makes no progress for too long.
//!
//! It watches the pulses of a process's engine threads from a thread of its own, because the
//! threads themselves may be stuck inside a library.

use crate::base::Clock;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::pulse::Reading;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the pulses are read.
const INTERVAL: Duration = Duration::from_millis(50);

/// What the watchdog does when time is up; gets the fault.
pub type OnTimeout = Box<dyn Fn(Fault) + Send>;

/// A running watchdog; stops when dropped.
#[derive(Debug)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// One engine thread as the watchdog sees it.
#[derive(Debug)]
struct Watched {
    plane: Arc<dyn Bootstrap>,
    last: Reading,
    since: Duration,
}

impl Watch {
    /// Watches `planes`, one for each engine thread; calls `on_timeout` once if any of them has an
    /// operation in flight and neither starts nor finishes one for `limit`.
    ///
    /// # Errors
    /// `Call` if the thread cannot be started.
    pub fn start(
        planes: &[Arc<dyn Bootstrap>],
        limit: Duration,
        clock: Arc<dyn Clock>,
        on_timeout: OnTimeout,
    ) -> Result<Self, Fault> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut watched: Vec<_> = planes
            .iter()
            .map(|plane| Watched::new(plane, &*clock))
            .collect();
        let thread = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || watch(&mut watched, limit, &*clock, &stopped, &on_timeout))
            .map_err(|error| Fault::new(Kind::Call, format!("starting a thread: {error}")))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            thread.thread().unpark();
            drop(thread.join());
        }
    }
}

impl Watched {
    fn new(plane: &Arc<dyn Bootstrap>, clock: &dyn Clock) -> Self {
        Self {
            plane: Arc::clone(plane),
            last: plane.pulse().read(),
            since: clock.now(),
        }
    }

    /// How long its operation in flight has made no progress, if it has been too long.
    fn overdue(&mut self, limit: Duration, now: Duration) -> Option<Duration> {
        let reading = self.plane.pulse().read();
        if reading != self.last || reading.issued == reading.finished {
            self.last = reading;
            self.since = now;
        }
        let waited = now.saturating_sub(self.since);
        (waited >= limit).then_some(waited)
    }
}

fn watch(
    watched: &mut [Watched],
    limit: Duration,
    clock: &dyn Clock,
    stop: &AtomicBool,
    on_timeout: &OnTimeout,
) {
    while !stop.load(Ordering::Acquire) {
        std::thread::park_timeout(INTERVAL);
        let now = clock.now();
        for thread in &mut *watched {
            if let Some(waited) = thread.overdue(limit, now) {
                return on_timeout(timeout(&thread.last, waited, limit));
            }
        }
    }
}

fn timeout(reading: &Reading, waited: Duration, limit: Duration) -> Fault {
    let open = reading.issued - reading.finished;
    Fault::new(
        Kind::Timeout,
        format!(
            "no operation has started or finished for {} s while {}: {open} in flight, {} finished; the limit is {} s",
            waited.as_secs(),
            reading.phase,
            reading.finished,
            limit.as_secs_f64()
        ),
    )
    .hint("if the network is merely slow, raise `--timeout-op SECONDS`")
}
