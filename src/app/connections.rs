//! How many hardware queues of a GPU a process with several ranks on it needs.
//!
//! Streams beyond the number of queues share one, and a kernel that waits for another rank would
//! then keep that rank's kernel from starting.

use crate::base::Env;
use crate::base::Fault;
use crate::cli::Args;
use crate::ffi::environ;

/// # Source
/// CUDA programming guide, "CUDA Environment Variables": 1 to 32, and fewer than a process with many
/// ranks needs where it is not set.
const VARIABLE: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
const MOST: u32 = 32;

/// Streams of a rank: its own, one to end its waits, one while it is opened.
const STREAMS: u32 = 3;

/// Sees to it that the driver, which reads the variable once, gives each rank's streams their own.
///
/// # Errors
/// `Usage` where the variable is set to less than the ranks of this process.
pub(super) fn provide(args: &Args, env: &Env) -> Result<(), Fault> {
    let ranks = args.threads.saturating_mul(args.gpus);
    if args.backend.name() != "kernel" || ranks < 2 {
        return Ok(());
    }
    match wanted(ranks, env.get(VARIABLE))? {
        None => Ok(()),
        Some(count) => environ::set_before_threads(&[(VARIABLE, &count.to_string())]),
    }
}

/// What to set the variable to, if anything.
fn wanted(ranks: u32, given: Option<&str>) -> Result<Option<u32>, Fault> {
    let Some(text) = given else {
        return Ok(Some(ranks.saturating_mul(STREAMS).clamp(8, MOST)));
    };
    match text.trim().parse::<u32>() {
        Ok(count) if count >= ranks.min(MOST) => Ok(None),
        _ => Err(Fault::usage(format!(
            "`{VARIABLE}` is `{text}`, and {ranks} ranks of one process need as many at least: those that share a hardware queue would wait for each other for ever"
        ))
        .hint(format!("unset `{VARIABLE}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_queues_of_its_own_or_the_run_is_refused() {
        assert_eq!(wanted(2, None), Ok(Some(8)));
        assert_eq!(wanted(8, None), Ok(Some(24)));
        assert_eq!(wanted(16, None), Ok(Some(32)));
        assert_eq!(wanted(4, Some("32")), Ok(None));
        for bad in ["2", "many"] {
            let fault = wanted(4, Some(bad)).unwrap_err();
            assert!(fault.message.contains("4 ranks"), "{fault}");
        }
    }
}
