//! Ending a session's communicators, in an orderly way or from another thread.
//!
//! `ncclCommAbort` frees the communicator while the session's thread may be about to use it. So the
//! session looks at a flag before each call and never touches a communicator after it is set; the
//! aborting thread sets the flag, gives the session a moment to see it, and then aborts even if it
//! has not, because then the session is inside the very call that the abort is to end. That costs
//! the timed loop one relaxed load for each operation and no lock.

use crate::backend::Abort;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::Kind;
use crate::ffi::nccl::Comm;
use crate::ffi::nccl::Nccl;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a session that is not inside NCCL has to notice that it is being aborted.
const GRACE: Duration = Duration::from_millis(50);

/// A session's communicators, shared with whoever may abort them.
#[derive(Debug)]
pub(super) struct Links {
    nccl: Arc<Nccl>,
    clock: Arc<dyn Clock>,
    comms: Mutex<Vec<Comm>>,
    aborted: AtomicBool,
    noticed: AtomicBool,
}

impl Links {
    pub(super) fn new(nccl: Arc<Nccl>, clock: Arc<dyn Clock>, comms: Vec<Comm>) -> Arc<Self> {
        Arc::new(Self {
            nccl,
            clock,
            comms: Mutex::new(comms),
            aborted: AtomicBool::new(false),
            noticed: AtomicBool::new(false),
        })
    }

    /// `Ok` as long as the communicators may be used.
    #[inline]
    pub(super) fn alive(&self) -> Result<(), Fault> {
        if self.aborted.load(Ordering::Relaxed) {
            return Err(self.over());
        }
        Ok(())
    }

    /// Whether the communicators are gone, or about to be.
    pub(super) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }

    #[cold]
    fn over(&self) -> Fault {
        self.noticed.store(true, Ordering::Release);
        Fault::new(
            Kind::Interrupted,
            "the communicator was aborted because the run has ended elsewhere",
        )
    }

    /// Takes the communicators; the caller destroys or aborts them.
    pub(super) fn take(&self) -> Vec<Comm> {
        let mut comms = self.comms.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *comms)
    }

    fn abort_all(&self) {
        let start = self.clock.now();
        while !self.noticed.load(Ordering::Acquire)
            && self.clock.now().saturating_sub(start) < GRACE
        {
            self.clock.pause(Duration::from_millis(1));
        }
        // Aborting waits for the other ranks of the process, so each needs a thread of its own.
        for comm in self.take() {
            let nccl = Arc::clone(&self.nccl);
            let job = move || drop(nccl.abort(comm));
            // Without a thread the communicator stays as it is; the process is on its way out.
            drop(
                std::thread::Builder::new()
                    .name("nccl abort".to_owned())
                    .spawn(job),
            );
        }
    }
}

/// What ends a session's waits.
#[derive(Debug)]
pub(super) struct Aborter(pub(super) Arc<Links>);

impl Abort for Aborter {
    fn abort(&self) {
        if self.0.aborted.swap(true, Ordering::AcqRel) {
            return;
        }
        let links = Arc::clone(&self.0);
        let job = move || links.abort_all();
        drop(
            std::thread::Builder::new()
                .name("nccl aborter".to_owned())
                .spawn(job),
        );
    }
}
