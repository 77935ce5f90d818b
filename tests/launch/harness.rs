//! Starts a command in a process group of its own, reads what it says as it says it, and ends the
//! whole group when a deadline passes. Knows nothing of what the command is.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How long a group that was asked to leave may take before it is made to.
const GRACE: Duration = Duration::from_secs(10);

/// What a command left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Fails the test with everything that was said, unless the command exited with `code`.
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{}", self.told());
        self
    }

    /// Fails the test unless the command said `what` on stderr.
    pub(crate) fn expect_said(&self, what: &str) {
        assert!(
            self.stderr.contains(what),
            "`{what}` is not said:\n{}",
            self.told()
        );
    }

    /// Everything that a person needs who looks at a failed test.
    pub(crate) fn told(&self) -> String {
        let signal = self.status.signal();
        format!(
            "code {:?}, signal {signal:?}\n--- stdout\n{}--- stderr\n{}---",
            self.code(),
            self.stdout,
            self.stderr
        )
    }
}

enum Said {
    Out(String),
    Err(String),
    /// Everybody who held one of the pipes has left.
    Closed,
}

/// A command that runs.
pub(crate) struct Running {
    child: Child,
    name: String,
    said: Receiver<Said>,
    open: u32,
    stdout: String,
    stderr: String,
}

/// Starts `command` with no input.
pub(crate) fn start(command: &mut Command) -> Running {
    let mut child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let (tell, said) = channel();
    listen(child.stdout.take(), tell.clone(), Said::Out);
    listen(child.stderr.take(), tell, Said::Err);
    Running {
        child,
        name: format!("{command:?}"),
        said,
        open: 2,
        stdout: String::new(),
        stderr: String::new(),
    }
}

/// Runs `command` to its end; a deadline that passes fails the test.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Finished {
    start(command).finish(limit)
}

fn listen(pipe: Option<impl Read + Send + 'static>, tell: Sender<Said>, as_: fn(String) -> Said) {
    let pipe = pipe.expect("both pipes were asked for");
    thread::spawn(move || {
        let mut lines = BufReader::new(pipe);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line).into_owned();
            line.clear();
            if tell.send(as_(text)).is_err() {
                return;
            }
        }
        drop(tell.send(Said::Closed));
    });
}

impl Running {
    /// Waits for a line of stdout that `found` makes something of; each line is given `limit` to come.
    pub(crate) fn wait_for<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut found: impl FnMut(&str) -> Option<T>,
    ) -> T {
        while self.open > 0 {
            let before = self.stdout.len();
            if self.hear(limit).is_err() {
                break;
            }
            if let Some(value) = found(&self.stdout[before..]) {
                return value;
            }
        }
        self.end_group();
        panic!(
            "{}: {what} did not come:\n{}\n{}",
            self.name, self.stdout, self.stderr
        )
    }

    /// As [`Running::wait_for`], of stderr.
    pub(crate) fn wait_for_error<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut found: impl FnMut(&str) -> Option<T>,
    ) -> T {
        while self.open > 0 {
            let before = self.stderr.len();
            if self.hear(limit).is_err() {
                break;
            }
            if let Some(value) = found(&self.stderr[before..]) {
                return value;
            }
        }
        self.end_group();
        panic!("{}: {what} did not come:\n{}", self.name, self.stderr)
    }

    /// Waits until the command has ended and all its children have let go of its output.
    pub(crate) fn finish(mut self, limit: Duration) -> Finished {
        let (tell, over) = channel::<()>();
        let group = self.group();
        // The limit is for the whole wait, not for each line: a watch ends the group when it passes.
        let watch = thread::spawn(move || {
            let late = over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if late {
                send_to_group(group, Signal::TERM);
                if over.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                    send_to_group(group, Signal::KILL);
                }
            }
            late
        });
        while self.open > 0 && self.hear(limit + 3 * GRACE).is_ok() {}
        let status = self
            .child
            .wait()
            .expect("a child of ours can be waited for");
        drop(tell);
        let late = watch.join().expect("the watch does not panic");
        let finished = Finished {
            status,
            stdout: std::mem::take(&mut self.stdout),
            stderr: std::mem::take(&mut self.stderr),
        };
        assert!(
            !late,
            "{} did not end within {limit:?}: {}",
            self.name,
            finished.told()
        );
        finished
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> i32 {
        self.group().as_raw_nonzero().get()
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn end_group(&self) {
        send_to_group(self.group(), Signal::KILL);
    }

    fn hear(&mut self, limit: Duration) -> Result<(), RecvTimeoutError> {
        match self.said.recv_timeout(limit)? {
            Said::Out(line) => self.stdout.push_str(&line),
            Said::Err(line) => self.stderr.push_str(&line),
            Said::Closed => self.open -= 1,
        }
        Ok(())
    }
}

impl Drop for Running {
    /// A test that fails leaves nobody behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end_group();
            drop(self.child.wait());
        }
    }
}

/// A group that has left already is what is wanted.
fn send_to_group(group: Pid, signal: Signal) {
    let _gone = kill_process_group(group, signal);
}

/// Sends a signal to a process that a test has started, by its id.
pub(crate) fn signal(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a process id is not 0");
    kill_process(pid, signal).unwrap_or_else(|error| panic!("cannot signal {pid:?}: {error}"));
}

/// Sends a signal to a command and to all that it started, as a terminal does.
pub(crate) fn all_signalled(running: &Running, signal: Signal) {
    send_to_group(running.group(), signal);
}

/// Starts several commands, and waits for each; what they left is in the same order.
pub(crate) fn run_together(commands: Vec<Command>, limit: Duration) -> Vec<Finished> {
    let running: Vec<Running> = commands.into_iter().map(|mut c| start(&mut c)).collect();
    running.into_iter().map(|one| one.finish(limit)).collect()
}

/// All that several commands said, for a failed test.
pub(crate) fn told_by_all(finished: &[Finished]) -> String {
    finished
        .iter()
        .enumerate()
        .fold(String::new(), |mut text, (index, one)| {
            writeln!(text, "=== {index}: {}", one.told()).expect("a string takes text");
            text
        })
}

/// It comes back only when nobody holds the pipes any more, so that the child's child has left too.
#[test]
fn a_command_that_does_not_end_is_ended_with_its_children_and_fails_the_test() {
    let script = "echo begun; sleep 1000 & sleep 1000";
    let late = std::panic::catch_unwind(|| {
        run(
            Command::new("sh").args(["-c", script]),
            Duration::from_millis(200),
        )
    });
    let told = *late.unwrap_err().downcast::<String>().unwrap();
    assert!(
        told.contains("did not end within 200ms") && told.contains("begun"),
        "{told}"
    );
}

#[test]
fn what_a_command_says_and_its_code_come_back() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo data; echo note >&2; exit 5"]);
    let finished = run(&mut command, Duration::from_secs(20)).expect_code(5);
    assert_eq!(finished.stdout, "data\n");
    finished.expect_said("note");
}
