//! Child processes of this test program, for what variables steer.

use crate::stand_ins::folder;
use std::process::Command;

/// The variable that tells a test that it runs as a child.
const CHILD: &str = "NCCLBENCH_TEST_CHILD";

/// What a child process printed.
#[derive(Debug)]
pub(crate) struct Printed(String);

impl Printed {
    /// Fails the test unless the child printed `text`.
    pub(crate) fn expect(&self, text: &str) {
        assert!(self.0.contains(text), "`{text}` is not in:\n{}", self.0);
    }
}

/// Runs `body` in a child process of this test program with variables set.
///
/// `test` is the calling test's own name: the child runs that test alone, which gets here again,
/// and there it is told to run `body`. So the caller returns where it gets nothing back.
#[expect(
    clippy::disallowed_methods,
    reason = "a child knows itself by a variable"
)]
pub(crate) fn child(test: &str, variables: &[(&str, &str)], body: fn()) -> Option<Printed> {
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    folder(); // built before the child looks for it
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .envs(variables.iter().copied())
        .env(CHILD, "1")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}\n{stdout}\n{stderr}",
        output.status
    );
    Some(Printed(stdout))
}
