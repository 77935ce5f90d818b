//! A run's file: JSON objects, one a line, each saying in `line` what it is.
//!
//! Reading tolerates a torn tail, because a run that was killed is still worth reading.

use super::{Footer, Header, Row, SCHEMA};
use crate::base::{Fault, FaultContext, GBps, Micros};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A case and what came of it.
    Row(Box<Row>),
    /// The last line of a run that ended by itself.
    Footer(Box<Footer>),
}

/// A run's file, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What opened it.
    pub header: Header,
    /// Its rows, in the order in which they were measured.
    pub rows: Vec<Row>,
    /// What closed it; none if the run was cut short.
    pub footer: Option<Footer>,
    /// What was left of a last line that was not completely written.
    pub torn: Option<String>,
}

impl Run {
    /// Reads a run's file.
    ///
    /// # Errors
    /// `Usage`, with the number of the line, if it is not such a file, if its schema is not ours, or
    /// if a line other than the last cannot be read.
    pub fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        while lines
            .last()
            .is_some_and(|line| line.trim_ascii().is_empty())
        {
            lines.pop();
        }
        let Some((first, rest)) = lines.split_first() else {
            return Err(Fault::usage("the file is empty"));
        };
        let mut run = Self::open(first).while_doing(|| "line 1".to_owned())?;
        for (index, line) in rest.iter().enumerate() {
            let is_last = index + 1 == rest.len();
            match parse(line) {
                Err(_) if is_last => run.torn = Some(String::from_utf8_lossy(line).into_owned()),
                parsed => parsed
                    .and_then(|line| run.take(line))
                    .while_doing(|| format!("line {}", index + 2))?,
            }
        }
        Ok(run)
    }

    fn open(first: &[u8]) -> Result<Self, Fault> {
        require_readable_schema(first)?;
        match parse(first)? {
            Line::Header(header) => Ok(Self {
                header: *header,
                rows: Vec::new(),
                footer: None,
                torn: None,
            }),
            _ => Err(Fault::usage("a run's file must open with its header")),
        }
    }

    fn take(&mut self, line: Line) -> Result<(), Fault> {
        if self.footer.is_some() {
            return Err(Fault::usage("nothing may follow the footer"));
        }
        match line {
            Line::Header(_) => return Err(Fault::usage("a second header")),
            Line::Row(row) => self.rows.push(*row),
            Line::Footer(footer) => self.footer = Some(*footer),
        }
        Ok(())
    }
}

/// Refuses the header of a newer schema, before the rest of it is looked at, so that a newer file is
/// called newer and not malformed. Older ones are read: what they lack is not known.
///
/// # Errors
/// `Usage`, if it is no header, or with the number, if it is newer.
pub fn require_readable_schema(first: &[u8]) -> Result<(), Fault> {
    #[derive(Deserialize)]
    struct Schema {
        schema: u32,
    }
    let Schema { schema } = serde_json::from_slice(first)
        .map_err(|error| Fault::usage(format!("not the header of a run's file: {error}")))?;
    if (1..=SCHEMA).contains(&schema) {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "its schema is {schema}; this version reads schemas up to {SCHEMA}"
    ))
    .hint("read it with the version that wrote it, or a newer one"))
}

fn parse(line: &[u8]) -> Result<Line, Fault> {
    serde_json::from_slice(line).map_err(|error| Fault::usage(error.to_string()))
}

/// A figure of a record.
pub(super) trait Figure {
    /// Its number.
    fn number(&self) -> f64;
}

impl Figure for f64 {
    fn number(&self) -> f64 {
        *self
    }
}

impl Figure for Micros {
    fn number(&self) -> f64 {
        self.0
    }
}

impl Figure for GBps {
    fn number(&self) -> f64 {
        self.0
    }
}

/// Refuses what JSON cannot say, instead of writing `null` that could not be read back.
pub(super) fn finite<S: Serializer>(
    figure: &impl Figure,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let value = figure.number();
    if value.is_finite() {
        serializer.serialize_f64(value)
    } else {
        Err(serde::ser::Error::custom(format!(
            "{value} is not a number that JSON can hold"
        )))
    }
}

/// [`finite`] for every value of a map.
pub(super) fn all_finite<S: Serializer>(
    values: &BTreeMap<String, f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if let Some((name, value)) = values.iter().find(|(_, value)| !value.is_finite()) {
        return Err(serde::ser::Error::custom(format!(
            "{name}: {value} is not a number that JSON can hold"
        )));
    }
    serializer.collect_map(values)
}

/// [`finite`] for every value of a list.
pub(super) fn finite_list<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    require_finite(values)?;
    serializer.collect_seq(values)
}

/// [`finite`] for every value of a list of lists.
pub(super) fn finite_lists<S: Serializer>(
    lists: &[Vec<f64>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    lists.iter().try_for_each(|values| require_finite(values))?;
    serializer.collect_seq(lists)
}

fn require_finite<E: serde::ser::Error>(values: &[f64]) -> Result<(), E> {
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(E::custom(format!(
            "{value} is not a number that JSON can hold"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
