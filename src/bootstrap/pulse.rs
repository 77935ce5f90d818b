//! What a member is doing, kept where another thread can read it while the member is stuck.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A member's phase and its counts of operations.
#[derive(Debug, Default)]
pub struct Pulse {
    phase: Mutex<String>,
    issued: AtomicU64,
    finished: AtomicU64,
}

/// A [`Pulse`] at one moment, as it travels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// What the member was doing: `measuring 1 MiB out-of-place`.
    pub phase: String,
    /// Operations handed to the backend so far.
    pub issued: u64,
    /// Operations known to be complete.
    pub finished: u64,
}

impl Pulse {
    /// Says what comes next. Not for the inside of a timed window: it takes a lock.
    pub fn enter(&self, phase: impl Into<String>) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase.into();
    }

    /// Counts operations handed to the backend.
    #[inline]
    pub fn issued(&self, operations: u64) {
        self.issued.fetch_add(operations, Ordering::Relaxed);
    }

    /// Everything issued so far is complete.
    #[inline]
    pub fn caught_up(&self) {
        self.finished
            .store(self.issued.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// What it says now.
    pub fn read(&self) -> Reading {
        Reading {
            phase: self
                .phase
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            issued: self.issued.load(Ordering::Relaxed),
            finished: self.finished.load(Ordering::Relaxed),
        }
    }
}
