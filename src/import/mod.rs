//! Other people's output as our records: logs and JSON files of nccl-tests.
//!
//! It is handed text and a little about it, and gives runs, each as a run's file would hold it, and
//! what it could not read, by line. It opens no file and prints nothing.

mod build;
mod cut;
mod ends;
mod heading;
mod json;
mod lines;
mod log;
mod mend;
mod row;
#[cfg(test)]
mod tests;

use crate::base::Env;
use crate::collective::Collective;
use crate::record::Run;
use std::collections::BTreeMap;

/// What is known about a text besides the text.
#[derive(Debug, Clone)]
pub struct About {
    /// What to call it: the file's name.
    pub name: String,
    /// When the file was last written, RFC 3339 in UTC: the time of a run that does not tell its own.
    pub written: String,
    /// The collective of a log that does not name one.
    pub collective: Option<&'static dyn Collective>,
    /// Which variables a record keeps.
    pub kept: fn(&Env) -> BTreeMap<String, String>,
}

/// What a text held.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Its runs with at least one row, in order.
    pub runs: Vec<Run>,
    /// What could not be read.
    pub complaints: Vec<Complaint>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The line, from 1.
    pub line: usize,
    /// What is the matter with it.
    pub why: String,
}

impl Complaint {
    fn new(line: usize, why: impl Into<String>) -> Self {
        Self {
            line,
            why: why.into(),
        }
    }
}

/// Reads a text of either form: a JSON file of `-J`, else a log.
pub fn read(text: &str, about: &About) -> Found {
    if text.trim_start().starts_with('{') {
        json::read(text, about)
    } else {
        log::read(text, about)
    }
}
