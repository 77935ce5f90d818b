//! Runs and baselines as plain files under one folder, so that git, rsync and a shared file system work.
//!
//! `runs/FINGERPRINT/TIME-NAME.jsonl` are runs, found by what must be alike before they are compared;
//! `baselines/NAME.json` are baselines, and `baselines/history/NAME.N.json` everything they ever were.
//! A file appears under its name only whole, or grows by whole lines; nothing is locked, so that a
//! writer that dies leaves nothing behind that stops another.

mod accepted;
mod brief;
mod files;
mod runs;
#[cfg(test)]
mod tests;

pub use accepted::Listed;
pub use brief::{Brief, read as read_brief};
pub use runs::{NewRun, Read, StoredRun};

use std::path::{Path, PathBuf};

/// A folder with runs and baselines; it need not exist before something is written.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store under a folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn runs_folder(&self) -> PathBuf {
        self.root.join("runs")
    }

    fn baselines_folder(&self) -> PathBuf {
        self.root.join("baselines")
    }
}
