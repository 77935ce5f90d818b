//! What the options ask for and no backend acts on yet: refused before anything is opened.

use crate::base::Fault;
use crate::cli::Args;
use crate::record::Registration;

/// # Errors
/// `Unsupported`, naming the option.
pub(super) fn check(args: &Args) -> Result<(), Fault> {
    let tweaks = &args.plan.tweaks;
    let asked = [
        (tweaks.graph_launches > 0, "-G", "CUDA graphs"),
        (
            tweaks.registration != Registration::None,
            "-R",
            "registered buffers",
        ),
        (
            tweaks.cta_policy.is_some(),
            "-x",
            "the policy for thread blocks",
        ),
        (tweaks.null_stream, "-y", "the null stream"),
        (tweaks.parallel_init, "-p", "parallel initialisation"),
        (tweaks.unalign_count > 0, "-u", "shifted buffers"),
        (
            tweaks.per_iteration.is_some(),
            "-I",
            "times of each iteration",
        ),
        (tweaks.memory_report, "-M", "the report on memory"),
        (args.split.is_some(), "NCCL_TESTS_SPLIT", "groups"),
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
