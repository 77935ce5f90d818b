//! Whole documents about runs: one file for each format.
//!
//! A document sees records and a writer; never a clock, a file or a verdict of its own. Texts that come
//! from outside (host names, reasons, notes) are escaped in each as its format wants it.

mod csv;
mod html;
mod judged;
mod junit;
mod markdown;
mod page;
mod prometheus;
mod tables;

use super::material::Material;
use crate::base::Fault;
use std::fmt::Debug;

/// Every document, in the order in which lists show them.
pub const ALL: &[Document] = &[
    html::DOCUMENT,
    markdown::DOCUMENT,
    csv::DOCUMENT,
    junit::DOCUMENT,
    prometheus::DOCUMENT,
];

/// A document by name.
#[derive(Debug, Clone, Copy)]
pub struct Document {
    /// Its one spelling.
    pub name: &'static str,
    /// How files of it end, without the dot.
    pub ending: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its text.
    ///
    /// # Errors
    /// `Output` if it cannot be made.
    pub text: fn(&Material<'_>) -> Result<String, Fault>,
}

/// The document with this name.
pub fn by_name(name: &str) -> Option<&'static Document> {
    ALL.iter().find(|document| document.name == name)
}

#[cfg(test)]
mod tests;
