//! Sets variables of this process's environment, for libraries that read nothing else.
//!
//! Only while the process has one thread; everything of ours reads `base::Env` instead.

use crate::base::{Fault, Kind};

/// Sets variables before any thread or library could be reading the environment.
///
/// # Errors
/// `Call` if the process has more than one thread already: then it is not safe, and not done.
pub fn set_before_threads(variables: &[(&str, &str)]) -> Result<(), Fault> {
    let threads = count_threads()?;
    if threads != 1 {
        let text =
            format!("variables can be set before the first thread only, there are {threads}");
        return Err(Fault::new(Kind::Call, text));
    }
    for (name, value) in variables {
        // SAFETY: nobody reads or writes the environment meanwhile, since the kernel has just
        // counted one thread in this process, this one, and it starts none in between.
        unsafe { std::env::set_var(name, value) };
    }
    Ok(())
}

fn count_threads() -> Result<usize, Fault> {
    let path = "/proc/self/task";
    let listed = std::fs::read_dir(path)
        .map_err(|error| Fault::new(Kind::Missing, format!("cannot read `{path}`: {error}")))?;
    Ok(listed.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_second_thread_nothing_is_set() {
        // the test harness has a main thread besides this one
        let fault = set_before_threads(&[("NCCLBENCH_NEVER_SET", "1")]).unwrap_err();
        assert!(fault.message.contains("before the first thread"), "{fault}");
    }
}
