//! `--spawn`: other processes of this program do the work; this one starts them and waits.

use super::say;
use super::signals;
use crate::base::Clock;
use crate::base::Env;
use crate::bootstrap::Ending;
use crate::launcher;
use std::sync::Arc;

/// Says why the run ended; gives its exit code.
pub(super) fn leave_with(ending: &Ending) -> u8 {
    if let Some(report) = &ending.report {
        say(&format!("error: {report}"));
    }
    ending.exit_code
}

/// `--spawn`: other processes measure; signals are passed on to them.
pub(super) fn run(
    wish: &launcher::Wish,
    env: &Env,
    argv: &[String],
    clock: &Arc<dyn Clock>,
) -> Result<u8, Ending> {
    let (pass_on, signals) = std::sync::mpsc::channel();
    let pass_on = move |signal| {
        // nobody listens any more once all children have ended
        let _ = pass_on.send(signal);
    };
    let _watch = signals::Watch::start(Arc::clone(clock), Box::new(pass_on))?;
    let spawned = launcher::spawn(wish, env, argv, clock, &signals)?;
    for note in spawned.notes {
        say(&format!("note: {note}"));
    }
    Ok(spawned.exit_code)
}
