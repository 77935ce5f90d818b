//! What the options ask for and no backend acts on yet: refused before anything is opened.

use crate::base::Fault;
use crate::cli::Args;

/// # Errors
/// `Unsupported`, naming the option.
pub(super) fn check(args: &Args) -> Result<(), Fault> {
    let asked = [(args.split.is_some(), "NCCL_TESTS_SPLIT", "groups")];
    match asked.iter().find(|(is_asked, ..)| *is_asked) {
        None => Ok(()),
        Some((_, option, what)) => Err(Fault::unsupported(format!(
            "`{option}`: this version does not offer {what}"
        ))
        .hint(format!("leave `{option}` out"))),
    }
}
