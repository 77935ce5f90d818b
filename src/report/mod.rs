//! From rows to text: one file for each format.
//!
//! A report sees records and a writer; never a session, a clock or a verdict of its own.

use crate::record::{Footer, Header, Row};
use std::fmt::Debug;
use std::io::{self, Write};

pub mod about;
pub mod cells;
pub mod documents;
pub mod grid;
mod jsonl;
pub mod material;
mod nccl_json;
pub mod plot;
mod table;
#[cfg(test)]
mod testing;
pub mod verdict;

/// Every format, in the order in which lists show them.
pub const ALL: &[Format] = &[table::FORMAT, jsonl::FORMAT, nccl_json::FORMAT];

/// A format by name.
#[derive(Debug)]
pub struct Format {
    /// Its one spelling.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Starts a report of one run.
    pub start: fn() -> Box<dyn Report>,
}

/// One run being written, from its first line to its last.
///
/// What is complete after a call has been written and flushed before it returns.
pub trait Report: Debug + Send {
    /// Opens it.
    ///
    /// # Errors
    /// Those of the writer.
    fn begin(&mut self, header: &Header, out: &mut dyn Write) -> io::Result<()>;

    /// Takes the next row; placements of a size come one after the other.
    ///
    /// # Errors
    /// Those of the writer.
    fn row(&mut self, row: &Row, out: &mut dyn Write) -> io::Result<()>;

    /// Closes it.
    ///
    /// # Errors
    /// Those of the writer.
    fn end(&mut self, footer: &Footer, out: &mut dyn Write) -> io::Result<()>;
}

/// The table that nccl-tests prints.
pub fn table() -> Box<dyn Report> {
    (table::FORMAT.start)()
}

/// The JSON that nccl-tests writes for `-J`.
pub fn nccl_json() -> Box<dyn Report> {
    (nccl_json::FORMAT.start)()
}

/// JSON lines: the run's file.
pub fn jsonl() -> Box<dyn Report> {
    (jsonl::FORMAT.start)()
}
