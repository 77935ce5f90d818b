//! What the options ask for and no backend acts on yet: refused before anything is opened.

use crate::base::Fault;
use crate::cli::Args;

/// # Errors
/// `Unsupported`, naming the option.
pub(super) fn check(args: &Args) -> Result<(), Fault> {
    let tweaks = &args.plan.tweaks;
    let asked = [
        (
            tweaks.issue_time,
            "-C",
            "the time of enqueueing as a column",
        ),
        (args.json.is_some(), "-J", "nccl-tests' JSON"),
    ];
    match asked.iter().find(|(is_asked, ..)| *is_asked) {
        None => Ok(()),
        Some((_, option, what)) => Err(Fault::unsupported(format!(
            "`{option}`: this version does not offer {what}"
        ))
        .hint(format!("leave `{option}` out"))),
    }
}
