//! Somebody else who may know why a run hangs: the library under test, asked from outside.
//!
//! The control plane asks it and waits, but not for long; what it says is appended to the report.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a witness may take; asking must be bounded by itself, this is for a machine that is slow.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_millis(2500);

/// Whom to ask: gives what it says, line by line, or nothing.
#[derive(Clone)]
pub struct Witness(Arc<dyn Fn() -> Vec<String> + Send + Sync>);

impl Witness {
    /// One that is asked by `ask`, which must come back within two seconds.
    pub fn new(ask: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// What it says.
    pub fn ask(&self) -> Vec<String> {
        (self.0)()
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Witness")
    }
}

/// A place for one, to be called later.
#[derive(Debug, Default)]
pub(super) struct Stand(Mutex<Option<Witness>>);

impl Stand {
    pub(super) fn call(&self, witness: Witness) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(witness);
    }

    /// Takes it, so that it is asked once.
    pub(super) fn take(&self) -> Option<Witness> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
