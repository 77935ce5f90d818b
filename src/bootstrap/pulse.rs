//! What a member is doing, kept where another thread can read it while the member is stuck.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A member's phase and its counts of operations.
#[derive(Debug, Default)]
pub struct Pulse {
    phase: Mutex<String>,
    issued: AtomicU64,
    finished: AtomicU64,
    parts: Mutex<Vec<Arc<Pulse>>>,
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
        *lock(&self.phase) = phase.into();
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

    /// Makes this the pulse of several threads: from now on it says what `parts` say.
    pub fn consist_of(&self, parts: Vec<Arc<Pulse>>) {
        *lock(&self.parts) = parts;
    }

    /// What it says now. Of several threads: their phases, and the counts of the one furthest behind.
    pub fn read(&self) -> Reading {
        let parts = lock(&self.parts).clone();
        if parts.is_empty() {
            self.read_own()
        } else {
            merge(&parts.iter().map(|part| part.read_own()).collect::<Vec<_>>())
        }
    }

    fn read_own(&self) -> Reading {
        Reading {
            phase: lock(&self.phase).clone(),
            issued: self.issued.load(Ordering::Relaxed),
            finished: self.finished.load(Ordering::Relaxed),
        }
    }
}

impl Reading {
    /// `measuring 1 MiB, 12 issued, 9 finished`.
    pub fn describe(&self) -> String {
        let phase = match self.phase.as_str() {
            "" => "starting",
            phase => phase,
        };
        match self.issued {
            0 => phase.to_owned(),
            issued => format!("{phase}, {issued} issued, {} finished", self.finished),
        }
    }
}

fn merge(readings: &[Reading]) -> Reading {
    let least = |count: fn(&Reading) -> u64| readings.iter().map(count).min().unwrap_or(0);
    let first = readings.first().map_or("", |reading| &reading.phase);
    let phase = if readings.iter().all(|reading| reading.phase == first) {
        first.to_owned()
    } else {
        let each = readings.iter().enumerate();
        each.map(|(thread, reading)| format!("thread {thread} {}", reading.phase))
            .collect::<Vec<_>>()
            .join(", ")
    };
    Reading {
        phase,
        issued: least(|reading| reading.issued),
        finished: least(|reading| reading.finished),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_of_threads_says_what_the_one_furthest_behind_counts() {
        let parts = [Arc::new(Pulse::default()), Arc::new(Pulse::default())];
        let whole = Pulse::default();
        whole.consist_of(parts.to_vec());
        parts[0].enter("warming up");
        parts[1].enter("warming up");
        parts[0].issued(5);
        parts[0].caught_up();
        parts[1].issued(3);
        assert_eq!(whole.read().describe(), "warming up, 3 issued, 0 finished");
        parts[1].enter("checking");
        assert_eq!(whole.read().phase, "thread 0 warming up, thread 1 checking");
    }
}
