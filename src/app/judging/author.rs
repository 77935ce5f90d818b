//! Who is responsible for a change of a baseline.

use crate::base::Env;
use std::process::Command;
use std::process::Stdio;

/// The author that was said, else git's, else the account's name.
pub(super) fn of(said: Option<&str>, env: &Env) -> String {
    said.map(str::to_owned)
        .or_else(|| named(env, "GIT_AUTHOR_NAME"))
        .or_else(git)
        .or_else(|| named(env, "USER"))
        .or_else(|| named(env, "LOGNAME"))
        .unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw()))
}

fn named(env: &Env, variable: &str) -> Option<String> {
    let value = env.get(variable)?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// What git calls the person who commits here; none without git or without a name.
fn git() -> Option<String> {
    let output = Command::new("git")
        .args(["config", "--get", "user.name"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_wins_over_every_variable() {
        let env: Env = [("GIT_AUTHOR_NAME", "bob"), ("USER", "carol")]
            .into_iter()
            .collect();
        assert_eq!(of(Some("ada"), &env), "ada");
        assert_eq!(of(None, &env), "bob");
        assert!(!of(None, &Env::default()).is_empty());
    }
}
