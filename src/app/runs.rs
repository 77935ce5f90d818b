//! Runs of this program that a command starts one after the other, and reads when they have ended.

use crate::base::Env;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::record::Outcome;
use crate::record::Row;
use crate::record::Run;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

/// Exit codes of runs whose file is worth reading: good, and all rows waived.
const READABLE: [i32; 2] = [0, 3];

/// Starts runs.
#[derive(Debug)]
pub(super) struct Runs {
    program: PathBuf,
    folder: PathBuf,
    started: u32,
}

impl Runs {
    /// Runs whose files go to a folder for such things.
    ///
    /// # Errors
    /// `Missing` where this program cannot be found.
    pub(super) fn new(env: &Env) -> Result<Self, Fault> {
        let program = std::env::current_exe().map_err(|error| {
            Fault::new(Kind::Missing, format!("cannot find this program: {error}"))
        })?;
        Ok(Self {
            program,
            folder: PathBuf::from(env.get("TMPDIR").unwrap_or("/tmp")),
            started: 0,
        })
    }

    /// Runs the program with some words and gives what it measured.
    ///
    /// # Errors
    /// `Call` with the run's own words where it failed.
    pub(super) fn run(&mut self, words: &[String]) -> Result<Run, Fault> {
        self.started += 1;
        let name = format!("ncclbench-{}-{}.jsonl", std::process::id(), self.started);
        let path = self.folder.join(name);
        let done = self.run_into(words, &path);
        // Nobody needs it any more, and whether it was made at all is seen above.
        drop(std::fs::remove_file(&path));
        done.while_doing(|| format!("running `ncclbench {}`", words.join(" ")))
    }

    fn run_into(&self, words: &[String], path: &PathBuf) -> Result<Run, Fault> {
        let ended = Command::new(&self.program)
            .args(words)
            .arg("--output")
            .arg(path)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Fault::new(Kind::Call, format!("it does not start: {error}")))?;
        let said = String::from_utf8_lossy(&ended.stderr);
        let code = ended.status.code();
        if code == Some(5) {
            return Err(wrong(&said));
        }
        let bytes = std::fs::read(path).unwrap_or_default();
        if bytes.is_empty() || !code.is_some_and(|code| READABLE.contains(&code)) {
            return Err(failed(code, &said));
        }
        let run = Run::read(&bytes)?;
        match run.footer.as_ref().and_then(|footer| footer.fault.clone()) {
            Some(_) if run.rows.is_empty() => Err(failed(code, &said)),
            _ => Ok(run),
        }
    }
}

/// What a run says whose data was wrong; it is no kind of fault, and has an exit code of its own.
const WRONG: &str = "a result was wrong";

fn wrong(said: &str) -> Fault {
    let fault = Fault::new(Kind::Call, WRONG);
    said.lines().fold(fault, Fault::detail)
}

/// Whether a run failed because a result was wrong.
pub(super) fn is_wrong(fault: &Fault) -> bool {
    fault.message == WRONG
}

fn failed(code: Option<i32>, said: &str) -> Fault {
    let how = match code {
        Some(code) => format!("it left with {code}"),
        None => "it was ended by a signal".to_owned(),
    };
    let lines = said.lines().filter(|line| !line.starts_with("note: "));
    lines
        .take(12)
        .fold(Fault::new(Kind::Call, how), Fault::detail)
}

/// What a row measured on its slowest rank and over all, in µs; the reason where it was waived.
pub(super) fn times(row: &Row) -> Result<(f64, f64), &str> {
    match &row.outcome {
        Outcome::Measured { time, .. } => Ok((time.max_us, time.mean_us)),
        Outcome::Waived { reason } => Err(reason),
    }
}
