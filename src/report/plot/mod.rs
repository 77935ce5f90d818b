//! Pictures of runs: one file for each kind, one frame for those with axes, and SVG and PNG.
//!
//! A kind takes what is to be shown and gives a picture as data; nothing here reads a file or a clock.

mod bandwidth;
mod change;
pub mod chart;
mod curves;
mod dates;
pub mod font;
mod frame;
mod history;
mod latency;
mod legend;
mod matrix;
mod paint;
pub mod palette;
pub mod picture;
mod published;
pub mod scale;

pub use history::series_of;
pub use paint::{png, svg};

use super::material::Material;
use crate::base::Fault;
use picture::Picture;

/// Lines that one plot may have and still be read.
pub const MOST_LINES: usize = 16;

/// Every kind, in the order in which lists and reports show them.
pub const ALL: &[Plot] = &[
    bandwidth::BUSBW,
    bandwidth::ALGBW,
    latency::PLOT,
    change::PLOT,
    history::PLOT,
    matrix::PLOT,
];

/// A kind of plot.
#[derive(Debug, Clone, Copy)]
pub struct Plot {
    /// Its one spelling.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Lays it out.
    ///
    /// # Errors
    /// `Usage` where there is nothing of the kind to show, or more than can be read.
    pub draw: fn(&Material<'_>) -> Result<Picture, Fault>,
}

/// The kind with this name.
pub fn by_name(name: &str) -> Option<&'static Plot> {
    ALL.iter().find(|plot| plot.name == name)
}

/// Text that XML and HTML may hold, also within quotes.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
