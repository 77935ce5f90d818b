//! A folder with a configuration and a store, and what is read of its runs.

use ncclbench::record::Run;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Two collectives, two repetitions, three sizes each: 12 rows.
pub(crate) const CONFIG: &str = r#"
name = "small"
[defaults]
iters = 5
placements = ["out-of-place"]
repeats = 2
[[part]]
collectives = ["allreduce", "alltoall"]
sizes = ["1K", "4K", "64K"]
[compare]
latency = "10%"
"#;

/// A folder with a configuration, and a store beside it.
pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.toml"), config).unwrap();
        Self { folder }
    }

    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ncclbench"));
        command.env_clear().stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.arg("sweep").arg(self.folder.path().join("a.toml"));
        command.arg("--store").arg(self.store()).args(more);
        command
    }

    pub(crate) fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// The files of all runs, the oldest first.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        below(&self.store(), &mut files);
        files.sort_by_key(|file| fs::metadata(file).unwrap().created().unwrap());
        files
    }

    pub(crate) fn only_run(&self) -> Run {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        Run::read(&fs::read(&files[0]).unwrap()).unwrap()
    }
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn expect_success(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// What each row measured, in order.
pub(crate) fn keys(run: &Run) -> Vec<String> {
    let rows = run.rows.iter().map(|row| &row.case);
    rows.map(|case| format!("{} {} {}", case.cycle, case.collective, case.requested))
        .collect()
}

/// All rows of `CONFIG`, repetition by repetition.
pub(crate) fn every_key() -> Vec<String> {
    let mut keys = Vec::new();
    for cycle in 0..2 {
        for collective in ["allreduce", "alltoall"] {
            for size in ["1 KiB", "4 KiB", "64 KiB"] {
                keys.push(format!("{cycle} {collective} {size}"));
            }
        }
    }
    keys
}
