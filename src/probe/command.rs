//! Other programs that tell something about this machine, run within a bounded time.
//!
//! A program that does not end is ended; nothing waits for what it may have started itself.

use std::io::Read;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

/// What is kept of a program's words: none of those asked here says more than a fraction of it.
const MOST_BYTES: u64 = 4 << 20;

/// What a program said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs `program` with `arguments` and no input, and ends it after `limit`.
///
/// # Errors
/// In one line: it cannot be started, or did not end in time.
pub fn output(program: &str, arguments: &[&str], limit: Duration) -> Result<Said, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run `{program}`: {error}"))?;
    let stdout = listen(child.stdout.take());
    let stderr = listen(child.stderr.take());
    let late = || format!("`{program}` did not end within {} s", limit.as_secs_f64());
    // both pipes are closed when it ends; one clock serves both, since they close together
    let Ok(stdout) = stdout.recv_timeout(limit) else {
        end(&mut child);
        return Err(late());
    };
    let Ok(stderr) = stderr.recv_timeout(limit) else {
        end(&mut child);
        return Err(late());
    };
    let status = child
        .wait()
        .map_err(|error| format!("waiting for `{program}`: {error}"))?;
    Ok(Said {
        code: status.code(),
        stdout,
        stderr,
    })
}

fn listen(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // what was read before an error counts
            drop(pipe.take(MOST_BYTES).read_to_end(&mut bytes));
        }
        drop(tell.send(String::from_utf8_lossy(&bytes).into_owned()));
    };
    // without a thread the sender is dropped, which counts as no answer
    drop(std::thread::Builder::new().spawn(read));
    told
}

/// Ends a program that has had its time, and takes its status so that nothing of it is left.
fn end(child: &mut Child) {
    drop(child.kill());
    drop(child.wait());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_and_its_code_come_back() {
        let script = "echo out; echo err >&2; exit 61";
        let said = output("sh", &["-c", script], Duration::from_mins(1)).unwrap();
        let expected = Said {
            code: Some(61),
            stdout: "out\n".to_owned(),
            stderr: "err\n".to_owned(),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn a_program_that_hangs_is_ended_and_one_that_is_not_there_says_so() {
        let late = output("sleep", &["1000"], Duration::from_millis(50)).unwrap_err();
        assert_eq!(late, "`sleep` did not end within 0.05 s");
        let none = output("/nowhere/fi_info", &[], Duration::from_secs(1)).unwrap_err();
        assert!(
            none.starts_with("cannot run `/nowhere/fi_info`: "),
            "{none}"
        );
    }
}
