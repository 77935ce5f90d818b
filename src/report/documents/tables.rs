//! What every document says of a row and of a run, as plain cells.

use crate::base::Bytes;
use crate::base::counted;
use crate::record::{Outcome, Row, Run};
use crate::report::material::{Material, Named};
use crate::report::plot::scale::short;
use std::fmt::Write as _;

/// Runs whose rows a page shows; of more it shows the latest.
pub(super) const IN_FULL: usize = 8;

/// The runs whose rows are shown, and how many are not.
pub(super) fn in_full<'a, 'b>(material: &'b Material<'a>) -> (Vec<&'b Named<'a>>, usize) {
    let mut runs: Vec<&Named<'_>> = material.runs.iter().collect();
    let left = runs.len().saturating_sub(IN_FULL);
    if left > 0 {
        runs.sort_by(|a, b| b.run.header.started.cmp(&a.run.header.started));
        runs.truncate(IN_FULL);
    }
    (runs, left)
}

/// What a run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) measured: usize,
    pub(super) waived: usize,
    pub(super) wrong: usize,
    busbw_sum: f64,
}

impl Tally {
    pub(super) fn of(run: &Run) -> Self {
        let mut tally = Self::default();
        for row in &run.rows {
            match &row.outcome {
                Outcome::Measured { busbw_gbps, .. } => {
                    tally.measured += 1;
                    tally.busbw_sum += busbw_gbps.0;
                    tally.wrong += usize::from(row.is_wrong());
                }
                Outcome::Waived { .. } => tally.waived += 1,
            }
        }
        tally
    }

    /// Mean over all measurements, as nccl-tests' `Avg bus bandwidth`.
    pub(super) fn busbw_gbps(&self) -> Option<f64> {
        let count = u32::try_from(self.measured)
            .ok()
            .filter(|count| *count > 0)?;
        Some(self.busbw_sum / f64::from(count))
    }
}

/// How a run ended, in a few words.
pub(super) fn ending(run: &Run) -> String {
    match &run.footer {
        None => "cut short".to_owned(),
        Some(footer) if footer.interrupted => format!("interrupted, exit {}", footer.exit_code),
        Some(footer) => match footer.exit_code {
            0 => "good".to_owned(),
            5 => "wrong data, exit 5".to_owned(),
            code => format!("exit {code}"),
        },
    }
}

/// A row as people read it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells {
    pub(super) collective: String,
    pub(super) size: u64,
    pub(super) dtype: &'static str,
    pub(super) redop: &'static str,
    pub(super) placement: String,
    pub(super) time_us: Option<f64>,
    pub(super) algbw_gbps: Option<f64>,
    pub(super) busbw_gbps: Option<f64>,
    /// `0`, a number, `not checked`, `waived`.
    pub(super) wrong: String,
    /// Anything that speaks against the row, or why it was not measured.
    pub(super) remark: String,
    pub(super) is_wrong: bool,
    pub(super) is_waived: bool,
}

impl Cells {
    pub(super) fn of(row: &Row) -> Self {
        let case = &row.case;
        let blank = Self {
            collective: case.collective.clone(),
            size: case.requested.0,
            dtype: case.dtype.name(),
            redop: case.redop.map_or("none", |redop| redop.name()),
            placement: case.placement.to_string(),
            time_us: None,
            algbw_gbps: None,
            busbw_gbps: None,
            wrong: "waived".to_owned(),
            remark: String::new(),
            is_wrong: row.is_wrong(),
            is_waived: false,
        };
        match &row.outcome {
            Outcome::Waived { reason } => Self {
                remark: reason.clone(),
                is_waived: true,
                ..blank
            },
            Outcome::Measured {
                time_us,
                algbw_gbps,
                busbw_gbps,
                wrong,
                ..
            } => Self {
                time_us: Some(time_us.0),
                algbw_gbps: Some(algbw_gbps.0),
                busbw_gbps: Some(busbw_gbps.0),
                wrong: wrong.map_or_else(|| "not checked".to_owned(), |wrong| wrong.to_string()),
                remark: remark(row),
                ..blank
            },
        }
    }

    /// `1 MiB`.
    pub(super) fn size_text(&self) -> String {
        Bytes(self.size).to_string()
    }
}

/// What speaks against a row that was measured.
pub(super) fn remark(row: &Row) -> String {
    let mut parts = Vec::new();
    if let Outcome::Measured { bad, unchecked, .. } = &row.outcome {
        parts.extend(bad.first().map(|bad| {
            format!(
                "first wrong element: rank {} ({}), index {}, {}",
                bad.rank, bad.host, bad.index, bad.class
            )
        }));
        parts.extend(unchecked.clone());
    }
    parts.extend(
        row.quality
            .marks
            .iter()
            .map(|mark| format!("{}: {}", mark.doubt.name(), mark.reason)),
    );
    if row.case.cycle > 0 {
        parts.push(format!("repetition {}", row.case.cycle + 1));
    }
    parts.join("; ")
}

/// A figure of a table: as in plots, but what is small keeps two digits that are not zero.
pub(super) fn figure(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value != 0.0 && value.abs() < 0.0995 => {
            let lead = -value.abs().log10().floor();
            (1_u8..=12)
                .find(|digits| f64::from(*digits) >= lead + 1.0)
                .map_or_else(
                    || short(value),
                    |digits| format!("{value:.*}", usize::from(digits)),
                )
        }
        Some(value) => short(value),
    }
}

/// `12 rows, 2 of them waived, 1 with wrong data`.
pub(super) fn counts(tally: &Tally) -> String {
    let mut text = counted(tally.measured + tally.waived, "row", "rows");
    if tally.waived > 0 {
        let _ = write!(text, ", {} waived", tally.waived);
    }
    if tally.wrong > 0 {
        let _ = write!(text, ", {} with wrong data", tally.wrong);
    }
    text
}
