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

/// How much longer a thread may take for what it does beside operations, such as checking, and others
/// may wait for it: so that a hang is told by an operation's own deadline where there is one.
pub const BETWEEN_OPERATIONS: Duration = Duration::from_secs(1);

/// How long what may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// An operation without any starting or finishing; none is for ever.
    pub progress: Option<Duration>,
    /// All that was enqueued at a go, until it is complete: nccl-tests' `-T`.
    pub batch: Option<Duration>,
}

impl From<Duration> for Limits {
    /// A limit for progress alone.
    fn from(progress: Duration) -> Self {
        Self {
            progress: Some(progress),
            batch: None,
        }
    }
}

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
    /// When what is in flight began to be.
    batch_since: Duration,
}

impl Watch {
    /// Watches `planes`, one for each engine thread; calls `on_timeout` once if any of them has an
    /// operation in flight and neither starts nor finishes one for `limit`, or does anything else for
    /// [`BETWEEN_OPERATIONS`] longer, or if what was enqueued at a go is not complete within its limit.
    /// Waits for others have deadlines of their own.
    ///
    /// # Errors
    /// `Call` if the thread cannot be started.
    pub fn start(
        planes: &[Arc<dyn Bootstrap>],
        limits: impl Into<Limits>,
        clock: Arc<dyn Clock>,
        on_timeout: OnTimeout,
    ) -> Result<Self, Fault> {
        let limits = limits.into();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut watched: Vec<_> = planes
            .iter()
            .map(|plane| Watched::new(plane, &*clock))
            .collect();
        let thread = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || watch(&mut watched, limits, &*clock, &stopped, &on_timeout))
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
            batch_since: clock.now(),
        }
    }

    /// What to say if it has made no progress for too long.
    fn overdue(&mut self, limits: Limits, now: Duration) -> Option<Fault> {
        let reading = self.plane.pulse().read();
        let is_idle = reading.waits || !reading.works;
        if reading.finished != self.last.finished || reading.issued == reading.finished {
            self.batch_since = now;
        }
        if reading != self.last || is_idle {
            self.last = reading;
            self.since = now;
        }
        let in_flight = self.last.issued - self.last.finished;
        let late = limits
            .batch
            .filter(|limit| now.saturating_sub(self.batch_since) >= *limit);
        if let Some(limit) = late {
            return Some(late_batch(&self.last, in_flight, limit));
        }
        let limit = limits.progress?;
        let limit = match in_flight {
            0 => limit + BETWEEN_OPERATIONS,
            _ => limit,
        };
        let waited = now.saturating_sub(self.since);
        (waited >= limit).then(|| timeout(&self.last, in_flight, limit))
    }
}

fn watch(
    watched: &mut [Watched],
    limits: Limits,
    clock: &dyn Clock,
    stop: &AtomicBool,
    on_timeout: &OnTimeout,
) {
    while !stop.load(Ordering::Acquire) {
        std::thread::park_timeout(INTERVAL);
        let now = clock.now();
        for thread in &mut *watched {
            if let Some(fault) = thread.overdue(limits, now) {
                return on_timeout(fault);
            }
        }
    }
}

fn late_batch(reading: &Reading, in_flight: u64, limit: Duration) -> Fault {
    let text = format!(
        "{in_flight} operations in flight were not complete within {} s while {}",
        limit.as_secs_f64(),
        reading.doing()
    );
    Fault::new(Kind::Timeout, text).hint("if it is merely slow, raise `-T`")
}

fn timeout(reading: &Reading, in_flight: u64, limit: Duration) -> Fault {
    let what = match in_flight {
        0 => "no progress was made".to_owned(),
        1 => "no operation has started or finished, one is in flight,".to_owned(),
        many => format!("no operation has started or finished, {many} are in flight,"),
    };
    let text = format!(
        "{what} for {} s while {}",
        limit.as_secs_f64(),
        reading.doing()
    );
    Fault::new(Kind::Timeout, text)
        .hint("if it is merely slow, raise `--timeout-op SECONDS` (or `-T`)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::PeerInfo;
    use crate::bootstrap::solo::Solo;

    const LIMIT: Limits = Limits {
        progress: Some(Duration::from_secs(4)),
        batch: None,
    };

    fn watched() -> Watched {
        let me = PeerInfo {
            host: "a".to_owned(),
            identity: "a".to_owned(),
            pid: 1,
            version: "0".to_owned(),
            ranks: 1,
        };
        Watched {
            plane: Arc::new(Solo::new(me)),
            last: Reading::default(),
            since: Duration::ZERO,
            batch_since: Duration::ZERO,
        }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_operation_in_flight_has_the_limit_from_the_last_progress_on() {
        let mut thread = watched();
        let plane = Arc::clone(&thread.plane);
        plane.pulse().work(true);
        plane.pulse().enter("measuring 8 B");
        plane.pulse().issued(2);
        assert_eq!(thread.overdue(LIMIT, at(10)), None);
        assert_eq!(thread.overdue(LIMIT, at(13)), None);
        plane.pulse().issued(1);
        assert_eq!(thread.overdue(LIMIT, at(14)), None);
        let fault = thread.overdue(LIMIT, at(18)).unwrap();
        assert_eq!(
            fault.message,
            "no operation has started or finished, 3 are in flight, for 4 s while measuring 8 B"
        );
    }

    #[test]
    fn all_that_was_enqueued_at_a_go_has_one_limit_however_it_gets_on() {
        let limits = Limits {
            progress: None,
            batch: Some(Duration::from_secs(4)),
        };
        let mut thread = watched();
        let plane = Arc::clone(&thread.plane);
        plane.pulse().work(true);
        assert_eq!(thread.overdue(limits, at(10)), None);
        plane.pulse().issued(1);
        assert_eq!(thread.overdue(limits, at(13)), None);
        plane.pulse().caught_up();
        plane.pulse().issued(1);
        assert_eq!(thread.overdue(limits, at(16)), None, "another one");
        plane.pulse().issued(1);
        assert_eq!(thread.overdue(limits, at(19)), None);
        let fault = thread.overdue(limits, at(20)).unwrap();
        assert!(
            fault.message.starts_with("2 operations in flight"),
            "{fault}"
        );
    }

    #[test]
    fn what_a_thread_does_between_operations_is_watched_too_with_more_patience() {
        let mut thread = watched();
        thread.plane.pulse().work(true);
        assert_eq!(thread.overdue(LIMIT, at(1)), None);
        assert_eq!(thread.overdue(LIMIT, at(5)), None);
        assert!(thread.overdue(LIMIT, at(6)).is_some());
    }

    #[test]
    fn who_waits_for_others_or_has_nothing_to_do_is_not_watched() {
        let mut thread = watched();
        let plane = Arc::clone(&thread.plane);
        plane.pulse().issued(1);
        assert_eq!(thread.overdue(LIMIT, at(100)), None);
        plane.pulse().work(true);
        plane.pulse().wait(true);
        assert_eq!(thread.overdue(LIMIT, at(200)), None);
        plane.pulse().wait(false);
        assert_eq!(thread.overdue(LIMIT, at(201)), None);
        assert!(thread.overdue(LIMIT, at(205)).is_some());
    }
}
