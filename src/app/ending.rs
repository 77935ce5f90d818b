//! How a process leaves: what is printed, which code it exits with, and that it does leave.

use crate::backend::Abort;
use crate::bootstrap::Ending;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

/// How long threads that are stuck in a library have to come back once the run is over.
const GRACE: Duration = Duration::from_secs(3);

/// What all threads of a process share about its end.
#[derive(Debug, Clone, Default)]
pub(super) struct Exit(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    aborters: Mutex<Vec<Arc<dyn Abort>>>,
    ending: Mutex<Option<Ending>>,
}

impl Exit {
    /// Registers what ends a session's waits.
    pub(super) fn add(&self, aborter: Arc<dyn Abort>) {
        lock(&self.0.aborters).push(aborter);
    }

    /// The run is over: prints why where this process is the one to say it, aborts the sessions, and
    /// leaves hard if that does not bring the threads back. Only the first call counts.
    pub(super) fn begin(&self, ending: &Ending) {
        {
            let mut first = lock(&self.0.ending);
            if first.is_some() {
                return;
            }
            *first = Some(ending.clone());
        }
        if let Some(report) = &ending.report {
            super::say(&format!("error: {report}"));
        }
        leave_hard_after_grace(ending.exit_code);
        self.abort_sessions();
    }

    /// Each on a thread of its own, because an abort may hang as well.
    fn abort_sessions(&self) {
        for aborter in lock(&self.0.aborters).drain(..) {
            drop(std::thread::spawn(move || aborter.abort()));
        }
    }
}

/// Threads that are stuck inside a library are left behind.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "a thread that is stuck inside a library cannot be asked to return"
)]
fn leave_hard_after_grace(code: u8) {
    drop(std::thread::spawn(move || {
        std::thread::sleep(GRACE);
        std::process::exit(i32::from(code));
    }));
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
