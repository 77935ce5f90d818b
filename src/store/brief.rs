//! A run's file read for what comparisons need, and no more: a thousand of them in a moment.
//!
//! [`crate::record::Run::read`] reads everything; what it accepts is accepted here.

use crate::base::{Bytes, DataType, Fault, FaultContext, Placement, RedOp};
use crate::baseline::launch::{Builder, Known, known, of_times};
use crate::record::baseline::{Launch, LaunchRow};
use crate::record::line::require_readable_schema;
use crate::record::{Footer, Header, RowKey};
use serde::Deserialize;
use std::borrow::Cow;

/// A run's header, and its rows as a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// What opened it.
    pub header: Header,
    /// Its rows.
    pub launch: Launch,
    /// What closed it; none if the run was cut short.
    pub footer: Option<Footer>,
}

/// The fields of a line that are needed, of a row unless `line` says otherwise.
#[derive(Deserialize)]
struct Fields<'t> {
    #[serde(borrow)]
    line: Cow<'t, str>,
    collective: Option<String>,
    dtype: Option<DataType>,
    redop: Option<RedOp>,
    root: Option<u32>,
    placement: Option<Placement>,
    requested: Option<Bytes>,
    algo_bytes: Option<Bytes>,
    bus_factor: Option<f64>,
    time: Option<Times>,
    wrong: Option<u64>,
    reason: Option<String>,
    #[serde(default)]
    quality: Quality,
}

#[derive(Deserialize)]
struct Times {
    mean_us: f64,
    max_us: f64,
}

#[derive(Default, Deserialize)]
struct Quality {
    #[serde(default)]
    sampling: Option<Sampling>,
}

#[derive(Deserialize)]
struct Sampling {
    batch_us: Vec<f64>,
}

/// Reads a run's file; `name` is what the launch is called.
///
/// A torn tail is a run that was cut short.
///
/// # Errors
/// `Usage`, with the number of the line, if it is not such a file, if its schema is newer than ours, or
/// if a line other than the last cannot be read.
pub fn read(name: &str, bytes: &[u8]) -> Result<Brief, Fault> {
    let lines = lines(bytes);
    let Some((first, rest)) = lines.split_first() else {
        return Err(Fault::usage("the file is empty"));
    };
    let header = header(first).while_doing(|| "line 1".to_owned())?;
    let mut reader = Reader {
        builder: Builder::new(name, &header.started),
        known: known(&header),
        footer: None,
    };
    let mut torn = false;
    for (index, line) in rest.iter().enumerate() {
        let is_last = index + 1 == rest.len();
        match reader.line(line) {
            Err(_) if is_last && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err() => {
                torn = true;
            }
            taken => taken.while_doing(|| format!("line {}", index + 2))?,
        }
    }
    Ok(reader.finish(header, torn))
}

/// Reads the header of a run's file alone.
///
/// # Errors
/// `Usage`, if it is not such a file or its schema is newer than ours.
pub(super) fn read_header(bytes: &[u8]) -> Result<Header, Fault> {
    let first = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    header(first).while_doing(|| "line 1".to_owned())
}

/// The lines, without empty ones at the end.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    while lines
        .last()
        .is_some_and(|line| line.trim_ascii().is_empty())
    {
        lines.pop();
    }
    lines
}

fn header(first: &[u8]) -> Result<Header, Fault> {
    require_readable_schema(first)?;
    let fields: Fields<'_> = parse(first)?;
    if fields.line != "header" {
        return Err(Fault::usage("a run's file must open with its header"));
    }
    parse(first)
}

fn parse<'t, T: Deserialize<'t>>(line: &'t [u8]) -> Result<T, Fault> {
    serde_json::from_slice(line).map_err(|error| Fault::usage(error.to_string()))
}

struct Reader {
    builder: Builder,
    known: Known,
    footer: Option<Footer>,
}

impl Reader {
    fn line(&mut self, line: &[u8]) -> Result<(), Fault> {
        let fields: Fields<'_> = parse(line)?;
        if self.footer.is_some() {
            return Err(Fault::usage("nothing may follow the footer"));
        }
        match &*fields.line {
            "row" => {
                let is_wrong = fields.wrong.is_some_and(|wrong| wrong > 0);
                let row = row(fields, self.known)
                    .ok_or_else(|| Fault::usage("a row lacks what says which row it is"))?;
                self.builder.row(row, is_wrong);
            }
            "footer" => self.footer = Some(parse(line)?),
            "header" => return Err(Fault::usage("a second header")),
            other => return Err(Fault::usage(format!("unknown line `{other}`"))),
        }
        Ok(())
    }

    fn finish(self, header: Header, torn: bool) -> Brief {
        let cut_short = match &self.footer {
            Some(footer) => footer.fault.clone(),
            None if torn => Some("its last line was cut off".to_owned()),
            None => Some("its file has no end: the run was killed or is still going on".to_owned()),
        };
        Brief {
            header,
            launch: self.builder.finish(cut_short),
            footer: self.footer,
        }
    }
}

fn row(fields: Fields<'_>, known: Known) -> Option<LaunchRow> {
    let key = RowKey {
        collective: fields.collective?,
        dtype: fields.dtype?,
        redop: fields.redop,
        root: fields.root,
        placement: fields.placement?,
        requested: fields.requested?,
    };
    let batches = fields
        .quality
        .sampling
        .map_or_else(Vec::new, |sampling| sampling.batch_us);
    let (measure, waived) = match fields.time {
        Some(time) => of_times(&batches, time.max_us, time.mean_us, known),
        None => (None, Some(fields.reason.unwrap_or_default())),
    };
    Some(LaunchRow {
        key,
        algo_bytes: fields.algo_bytes?,
        bus_factor: fields.bus_factor?,
        measure,
        waived,
    })
}
