//! What a member is doing, kept where another thread can read it while the member is stuck.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A member's phase and its counts of operations.
#[derive(Debug, Default)]
pub struct Pulse {
    phase: Mutex<String>,
    /// Phases entered so far: all members enter the same ones, so that fewer means further behind.
    phases: AtomicU64,
    issued: AtomicU64,
    accepted: AtomicU64,
    finished: AtomicU64,
    waits: AtomicBool,
    works: AtomicBool,
    gpus: Mutex<Vec<u32>>,
    parts: Mutex<Vec<Arc<Pulse>>>,
}

/// A [`Pulse`] at one moment, as it travels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reading {
    /// What the member was doing: `measuring 1 MiB out-of-place`.
    pub phase: String,
    /// Phases entered so far.
    pub phases: u64,
    /// Operations handed to the backend so far.
    pub issued: u64,
    /// Operations whose call has returned.
    pub accepted: u64,
    /// Operations known to be complete.
    pub finished: u64,
    /// Whether it has done its part and waits for the others at a step of the control plane.
    pub waits: bool,
    /// Whether it is at work on a job.
    pub works: bool,
    /// The GPUs it drives; none on the CPU.
    pub gpus: Vec<u32>,
}

/// How far a member has come, ordered: phases, then operations issued, accepted and finished, then
/// whether it has done its part of a step.
pub type Progress = (u64, (u64, u64, u64), bool);

impl Pulse {
    /// Says what comes next. Not for the inside of a timed window: it takes a lock.
    pub fn enter(&self, phase: impl Into<String>) {
        *lock(&self.phase) = phase.into();
        self.phases.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts operations handed to the backend.
    #[inline]
    pub fn issued(&self, operations: u64) {
        self.issued.fetch_add(operations, Ordering::Relaxed);
    }

    /// The calls of everything issued so far have returned.
    #[inline]
    pub fn accepted(&self) {
        self.accepted
            .store(self.issued.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Everything issued so far is complete.
    #[inline]
    pub fn caught_up(&self) {
        self.finished
            .store(self.issued.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Whether it now waits for the others.
    pub fn wait(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }

    /// Whether it is now at work on a job, where a deadline is kept for each of its operations.
    pub fn work(&self, works: bool) {
        self.works.store(works, Ordering::Relaxed);
    }

    /// Says which GPUs it drives.
    pub fn drive(&self, gpus: Vec<u32>) {
        *lock(&self.gpus) = gpus;
    }

    /// Makes this the pulse of several threads: from now on it says what `parts` say.
    pub fn consist_of(&self, parts: Vec<Arc<Pulse>>) {
        *lock(&self.parts) = parts;
    }

    /// What it says now, a reading for each thread.
    pub fn read_each(&self) -> Vec<Reading> {
        let parts = lock(&self.parts).clone();
        if parts.is_empty() {
            vec![self.read_own()]
        } else {
            parts.iter().map(|part| part.read_own()).collect()
        }
    }

    /// What it says now. Of several threads: what the one furthest behind says.
    pub fn read(&self) -> Reading {
        let each = self.read_each();
        each.into_iter()
            .min_by_key(Reading::progress)
            .unwrap_or_default()
    }

    fn read_own(&self) -> Reading {
        Reading {
            phase: lock(&self.phase).clone(),
            phases: self.phases.load(Ordering::Relaxed),
            issued: self.issued.load(Ordering::Relaxed),
            accepted: self.accepted.load(Ordering::Relaxed),
            finished: self.finished.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            works: self.works.load(Ordering::Relaxed),
            gpus: lock(&self.gpus).clone(),
        }
    }
}

impl Reading {
    /// How far it has come, to be compared with another member's: all go the same way.
    pub fn progress(&self) -> Progress {
        let operations = (self.issued, self.accepted, self.finished);
        (self.phases, operations, self.waits)
    }

    /// What it is doing, in words: `measuring 1 MiB`, `starting`.
    pub fn doing(&self) -> &str {
        match self.phase.as_str() {
            "" => "starting",
            phase => phase,
        }
    }

    /// `measuring 1 MiB, 12 issued, 9 finished`.
    pub fn describe(&self) -> String {
        match self.issued {
            0 => self.doing().to_owned(),
            issued => format!(
                "{}, {issued} issued, {} finished",
                self.doing(),
                self.finished
            ),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_of_threads_says_what_the_one_furthest_behind_does() {
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
        assert_eq!(whole.read().describe(), "warming up, 5 issued, 5 finished");
        assert_eq!(whole.read_each()[1].phase, "checking");
    }

    #[test]
    fn whose_call_has_not_returned_is_behind_those_that_have_issued_as_many() {
        let (inside, out) = (Pulse::default(), Pulse::default());
        for pulse in [&inside, &out] {
            pulse.issued(1);
        }
        out.accepted();
        assert!(inside.read().progress() < out.read().progress());
    }

    #[test]
    fn who_waits_for_the_others_is_further_than_who_has_not_come() {
        let (there, not) = (Pulse::default(), Pulse::default());
        there.wait(true);
        assert!(not.read().progress() < there.read().progress());
        there.wait(false);
        assert_eq!(not.read().progress(), there.read().progress());
    }
}
