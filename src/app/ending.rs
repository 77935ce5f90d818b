//! How a process leaves: what is printed, which code it exits with, and that it does leave.

use super::book::Book;
use super::codes::Codes;
use super::path::Log;
use crate::backend::Abort;
use crate::base::Clock;
use crate::bootstrap::Ending;
use crate::launcher::Meeting;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::Weak;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long threads that are stuck in a library have to come back once the run is over.
const GRACE: Duration = Duration::from_secs(3);

/// How long the others have to leave by themselves before the launcher is asked to end them.
const ABORT_AFTER: Duration = Duration::from_secs(1);

/// What all threads of a process share about its end.
#[derive(Debug, Clone)]
pub(super) struct Exit(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    codes: Codes,
    /// Weak, so that a process whose threads come back says goodbye to its launcher.
    meeting: Weak<dyn Meeting>,
    aborters: Mutex<Vec<Arc<dyn Abort>>>,
    book: OnceLock<Arc<Book>>,
    log: Option<Arc<Log>>,
    /// Set for good once the run has been ended, or has come to its end by itself.
    is_over: AtomicBool,
    /// Held while the ending is carried out, so that nobody leaves before.
    ending: Mutex<Option<Ending>>,
    has_aborted: AtomicBool,
}

impl Exit {
    /// Of a process whose launcher goes on offering `meeting` and whose NCCL writes `log`.
    pub(super) fn new(
        meeting: &Arc<dyn Meeting>,
        clock: Arc<dyn Clock>,
        codes: Codes,
        log: Option<Arc<Log>>,
    ) -> Self {
        Self(Arc::new(Shared {
            clock,
            codes,
            meeting: Arc::downgrade(meeting),
            aborters: Mutex::default(),
            book: OnceLock::new(),
            log,
            is_over: AtomicBool::new(false),
            ending: Mutex::default(),
            has_aborted: AtomicBool::new(false),
        }))
    }

    /// Registers what ends a session's waits.
    pub(super) fn add(&self, aborter: Arc<dyn Abort>) {
        lock(&self.0.aborters).push(aborter);
    }

    /// Registers what must be closed.
    pub(super) fn keep(&self, book: Arc<Book>) {
        self.0.book.get_or_init(|| book);
    }

    /// The run has come to its end by itself: nothing ends it any more.
    pub(super) fn complete(&self) {
        self.0.is_over.store(true, Ordering::Release);
    }

    /// Whether the run is over, one way or the other.
    pub(super) fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    /// The run is over: prints why where this process is the one to say it, aborts the sessions,
    /// closes the run's file, and leaves hard if that does not bring the threads back. Only the
    /// first call counts; others return when it has.
    pub(super) fn begin(&self, ending: &Ending) {
        let mut first = lock(&self.0.ending);
        if first.is_some() || self.0.is_over.swap(true, Ordering::AcqRel) {
            return;
        }
        *first = Some(ending.clone());
        self.leave_hard_after_grace(ending);
        self.pass_on();
        if let Some(report) = &ending.report {
            super::say(&format!("error: {report}"));
        }
        self.abort_sessions();
        if let Some(book) = self.0.book.get() {
            book.cut_short(ending);
        }
    }

    /// Passes on what NCCL has written: its last lines may say why.
    pub(super) fn pass_on(&self) {
        if let Some(log) = &self.0.log {
            log.pass_on();
        }
    }

    /// Has the launcher end those that give no answer, because they will not leave by themselves;
    /// the others have a moment to do so. Does nothing if all have answered.
    pub(super) fn end_the_mute(&self, ending: &Ending) {
        if !ending.mute || self.0.has_aborted.swap(true, Ordering::AcqRel) {
            return;
        }
        self.0.clock.pause(ABORT_AFTER);
        if let Some(meeting) = self.0.meeting.upgrade() {
            meeting.abort(self.0.codes.ending(ending), &ending.fault.message);
        }
    }

    /// Each on a thread of its own, because an abort may hang as well.
    fn abort_sessions(&self) {
        for aborter in lock(&self.0.aborters).drain(..) {
            drop(std::thread::spawn(move || aborter.abort()));
        }
    }

    /// Threads that are stuck inside a library are left behind.
    fn leave_hard_after_grace(&self, ending: &Ending) {
        let (exit, ending) = (self.clone(), ending.clone());
        drop(std::thread::spawn(move || {
            exit.0.clock.pause(GRACE);
            exit.end_the_mute(&ending);
            leave_now(exit.0.codes.ending(&ending));
        }));
    }
}

/// Leaves at once, whatever the other threads do.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "a thread that is stuck inside a library cannot be asked to return"
)]
pub(super) fn leave_now(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
