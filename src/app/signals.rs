//! Signals: the first one ends the run in good order, a second one at once.
//!
//! Ctrl-C, SIGTERM and what Slurm's `--signal` sends (SIGUSR1, SIGUSR2) mean the same. One thread
//! takes them; nothing runs inside a handler.

use crate::base::Clock;
use crate::base::Fault;
use crate::base::Kind;
use signal_hook::consts::SIGINT;
use signal_hook::consts::SIGTERM;
use signal_hook::consts::SIGUSR1;
use signal_hook::consts::SIGUSR2;
use signal_hook::consts::SIGXFSZ;
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What ends a run.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGUSR1, SIGUSR2];

/// A signal that comes so soon after the first is the same one, sent twice: a terminal tells the
/// whole group, and so does the process that started this one.
const SAME: Duration = Duration::from_secs(1);

/// What to do with a signal, by its number.
pub(super) type Act = Box<dyn Fn(i32) + Send>;

/// The signals of this process, from now on; what they do may change.
#[derive(Clone)]
pub(super) struct Watch(Arc<Mutex<Act>>);

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    End,
    Nothing,
    LeaveNow,
}

impl Watch {
    /// Takes the signals; until [`Watch::act`] says otherwise, `first` is done.
    ///
    /// # Errors
    /// `Call` if the system does not let it.
    pub(super) fn start(clock: Arc<dyn Clock>, first: Act) -> Result<Self, Fault> {
        let refused =
            |error: std::io::Error| Fault::new(Kind::Call, format!("cannot take signals: {error}"));
        let mut signals = Signals::new(ENDING).map_err(refused)?;
        // a file that may not grow is an error of the write and not the end of the process
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(refused)?;
        let watch = Self(Arc::new(Mutex::new(first)));
        let act = Arc::clone(&watch.0);
        let work = move || {
            let mut began = None;
            for signal in signals.forever() {
                match wish(&mut began, clock.now()) {
                    Wish::End => act.lock().unwrap_or_else(PoisonError::into_inner)(signal),
                    Wish::Nothing => {}
                    Wish::LeaveNow => super::ending::leave_now(Kind::Interrupted.exit_code()),
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(work).map_err(refused)?;
        Ok(watch)
    }

    /// Says what the first signal does from now on. It must come back at once.
    pub(super) fn act(&self, act: Act) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = act;
    }
}

/// What a signal at `now` asks for, if the first came at `began`.
fn wish(began: &mut Option<Duration>, now: Duration) -> Wish {
    match began {
        None => {
            *began = Some(now);
            Wish::End
        }
        Some(began) if now.saturating_sub(*began) < SAME => Wish::Nothing,
        Some(_) => Wish::LeaveNow,
    }
}

/// What a signal does while others are still awaited: the process leaves; `tells`, if it is the one to say so.
pub(super) fn before_all_met(tells: bool) -> Act {
    Box::new(move |signal| {
        let fault = fault(signal).while_doing("waiting for all processes to meet");
        if tells {
            super::say(&format!("error: {fault}"));
        }
        super::ending::leave_now(fault.kind.exit_code());
    })
}

/// The fault of a run that a signal ended.
pub(super) fn fault(signal: i32) -> Fault {
    Fault::new(
        Kind::Interrupted,
        format!("{} cut the run short", name(signal)),
    )
}

/// `SIGTERM`.
fn name(signal: i32) -> String {
    match signal {
        SIGINT => "SIGINT (Ctrl-C)".to_owned(),
        SIGTERM => "SIGTERM".to_owned(),
        SIGUSR1 => "SIGUSR1".to_owned(),
        SIGUSR2 => "SIGUSR2".to_owned(),
        other => format!("signal {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_sent_twice_at_once_is_one_and_a_later_one_leaves_at_once() {
        let at = Duration::from_millis;
        let mut began = None;
        assert_eq!(wish(&mut began, at(5000)), Wish::End);
        assert_eq!(wish(&mut began, at(5010)), Wish::Nothing);
        assert_eq!(wish(&mut began, at(6100)), Wish::LeaveNow);
    }

    #[test]
    fn the_fault_names_the_signal_and_is_no_failure_of_anything() {
        let fault = fault(SIGUSR1);
        assert_eq!((fault.kind, fault.kind.exit_code()), (Kind::Interrupted, 4));
        assert_eq!(fault.message, "SIGUSR1 cut the run short");
    }
}
