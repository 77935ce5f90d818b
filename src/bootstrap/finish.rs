//! How a run ended, kept once for a process, and who wants to be told.
//!
//! Does not decide anything: the first ending that arrives is the ending.

use super::Ending;
use crate::base::Fault;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What to do when the run is ended by a fault.
pub type EndHook = Box<dyn FnOnce(&Ending) + Send>;

/// Exit codes, the most severe first; what is not listed is less severe than all of them.
///
/// # Source
/// `docs/ARCHITECTURE.md`, section Exit codes.
const SEVERITY: [u8; 7] = [5, 4, 3, 2, 6, 1, 7];

/// Of several exit codes the one that the run leaves with; 0 if there are none.
pub fn most_severe(codes: impl IntoIterator<Item = u8>) -> u8 {
    let place = |code: &u8| match SEVERITY.iter().position(|known| known == code) {
        Some(place) => place,
        None if *code == 0 => SEVERITY.len() + 1,
        None => SEVERITY.len(),
    };
    codes.into_iter().min_by_key(place).unwrap_or(0)
}

/// The ending of a run, once there is one.
#[derive(Default)]
pub(super) struct Finish {
    ended: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ending: Option<Ending>,
    hooks: Vec<EndHook>,
}

impl Finish {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ending; one atomic load while there is none.
    pub(super) fn get(&self) -> Option<Ending> {
        if self.ended.load(Ordering::Acquire) {
            self.lock().ending.clone()
        } else {
            None
        }
    }

    /// The fault that ended the run.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.get().map(|ending| ending.fault)
    }

    /// Ends the run unless it has ended; gives the ending that counts.
    pub(super) fn end(&self, ending: Ending) -> Ending {
        let mut state = self.lock();
        if let Some(first) = &state.ending {
            return first.clone();
        }
        state.ending = Some(ending.clone());
        self.ended.store(true, Ordering::Release);
        let hooks = std::mem::take(&mut state.hooks);
        drop(state);
        run_apart(hooks, ending.clone());
        ending
    }

    /// Runs `hook` when the run is ended, at once if it has been.
    pub(super) fn on_end(&self, hook: EndHook) {
        let mut state = self.lock();
        match state.ending.clone() {
            None => state.hooks.push(hook),
            Some(ending) => {
                drop(state);
                run_apart(vec![hook], ending);
            }
        }
    }
}

/// Runs hooks on a thread of their own: they may take long, and the caller has others to tell.
fn run_apart(hooks: Vec<EndHook>, ending: Ending) {
    if hooks.is_empty() {
        return;
    }
    let work = move || hooks.into_iter().for_each(|hook| hook(&ending));
    // no thread to be had: the process is about to end anyway, by what the engine's own call returns
    let started = std::thread::Builder::new()
        .name("ending".to_owned())
        .spawn(work);
    drop(started);
}

impl fmt::Debug for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finish")
            .field("ending", &self.lock().ending)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_data_is_worst_then_other_ranks_then_the_environment_and_anything_is_worse_than_success()
     {
        assert_eq!(most_severe([0, 3, 4, 3]), 4);
        assert_eq!(most_severe([4, 5, 0]), 5);
        assert_eq!(most_severe([7, 1, 6]), 6);
        assert_eq!(most_severe([0, 101]), 101);
        assert_eq!(most_severe([]), 0);
    }
}
