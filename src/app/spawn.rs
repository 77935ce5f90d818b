//! `--spawn N`: the process that starts the others, measures nothing and passes signals on.

use super::say;
use super::signals;
use crate::base::Clock;
use crate::bootstrap::Ending;
use crate::cli::Args;
use crate::launcher;
use std::sync::Arc;

/// `--spawn`: other processes measure; signals are passed on to them.
pub(super) fn run(args: &Args, clock: &Arc<dyn Clock>) -> Result<u8, Ending> {
    let (pass_on, signals) = std::sync::mpsc::channel();
    let pass_on = move |signal| {
        // nobody listens any more once all children have ended
        let _ = pass_on.send(signal);
    };
    let _watch = signals::Watch::start(Arc::clone(clock), Box::new(pass_on))?;
    let spawned = launcher::spawn(&args.launch, &args.argv[1..], clock, &signals)?;
    for note in spawned.notes {
        say(&format!("note: {note}"));
    }
    Ok(spawned.exit_code)
}
