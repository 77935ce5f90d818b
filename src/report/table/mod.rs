//! nccl-tests' stdout, byte for byte where a parser looks.
//!
//! Every line of our own starts with `#` and keeps clear of the words that parsers look for
//! (`docs/record.md`, section Table). A row is one `write`, both placements together.

mod closing;
mod columns;
mod opening;

use super::{Format, Report};
use crate::base::moment;
use crate::base::{Placement, RedOp};
use crate::record::{Case, Footer, Header, Outcome, Release, Row};
use columns::Columns;
use std::io::{self, Write};

pub(super) const FORMAT: Format = Format {
    name: "table",
    summary: "the table that nccl-tests prints",
    start: || Box::new(Table::default()),
};

#[derive(Debug, Default)]
struct Table {
    program: String,
    release: Option<Release>,
    columns: Columns,
    /// Seconds to add to UTC, where rows end in the local time.
    timestamps: Option<i32>,
    /// The one placement that rows have; none where they have both.
    only: Option<Placement>,
    /// The out-of-place half of a row, until the other half comes.
    pending: Option<Row>,
    /// Anything was measured.
    has_rows: bool,
}

impl Report for Table {
    fn begin(&mut self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        let settings = &header.settings;
        self.program.clone_from(&settings.program);
        self.release = settings.table_release;
        self.only = settings.placement;
        self.columns = Columns::of(settings);
        self.timestamps = settings.timestamps.then_some(header.utc_offset_s);
        put(out, &(opening::opening(header) + &self.columns.heads()))
    }

    fn row(&mut self, row: &Row, out: &mut dyn Write) -> io::Result<()> {
        self.has_rows |= matches!(row.outcome, Outcome::Measured { .. });
        if let Some(only) = self.only {
            return put(out, &self.single(row, only));
        }
        let Some(first) = self.pending.take() else {
            if row.case.placement == Placement::OutOfPlace {
                self.pending = Some(row.clone());
                return Ok(());
            }
            return put(out, &alone(row));
        };
        if belong_together(&first.case, &row.case) {
            return put(out, &self.line(&first, row));
        }
        put(out, &alone(&first))?;
        self.row(row, out)
    }

    fn end(&mut self, footer: &Footer, out: &mut dyn Write) -> io::Result<()> {
        let last = self.pending.take();
        let last = last.map_or_else(String::new, |row| alone(&row));
        let release = self.release.unwrap_or(Release::NEWEST);
        let closing = closing::closing(footer, &self.program, release, self.has_rows);
        put(out, &(last + &closing))
    }
}

impl Table {
    /// A row of a sweep that measures one placement: the other half says so.
    fn single(&self, row: &Row, only: Placement) -> String {
        let Some(body) = self.columns.body(row) else {
            return alone(row);
        };
        let none = self.columns.none();
        let [first, second] = match only {
            Placement::OutOfPlace => [body, none],
            Placement::InPlace => [none, body],
        };
        let (stamp, ranks) = (self.stamp(row), columns::rank_lines(row));
        format!(
            "{}{first}{second}{stamp}\n{ranks}",
            columns::preamble(&row.case)
        )
    }

    fn stamp(&self, row: &Row) -> String {
        self.timestamps.map_or_else(String::new, |offset| {
            let local = moment::local_text(&row.at, offset);
            format!("{:>21}", local.unwrap_or_else(|| row.at.clone()))
        })
    }

    /// A whole row, or a remark where only one half has numbers.
    fn line(&self, out_of_place: &Row, in_place: &Row) -> String {
        match (self.columns.body(out_of_place), self.columns.body(in_place)) {
            (Some(first), Some(second)) => {
                let stamp = self.stamp(in_place);
                format!(
                    "{}{first}{second}{stamp}\n{}",
                    columns::preamble(&out_of_place.case),
                    columns::rank_lines(out_of_place)
                )
            }
            _ => format!("{}{}", alone(out_of_place), alone(in_place)),
        }
    }
}

fn put(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn belong_together(first: &Case, second: &Case) -> bool {
    let key = |case: &Case| {
        (
            case.dtype,
            case.redop,
            case.root,
            case.requested,
            case.cycle,
        )
    };
    first.collective == second.collective
        && second.placement == Placement::InPlace
        && key(first) == key(second)
}

/// A half row as a remark: never a line that a parser could take for a row. The size is written
/// with its unit, because scripts search for the bytes of one row (`1073741824`).
fn alone(row: &Row) -> String {
    let case = &row.case;
    let root = case.root.map(|root| format!(" root {root}"));
    let what = format!(
        "{} {} {}{}",
        case.requested,
        case.dtype,
        case.redop.map_or("none", RedOp::name),
        root.unwrap_or_default()
    );
    match &row.outcome {
        // nccl-tests prints nothing there; stderr and the run's file say why
        Outcome::Waived { .. } => String::new(),
        Outcome::Measured { time_us, .. } => {
            let placement = remark(&case.placement.to_string());
            format!("# only {placement} of {what}: {:.2} us\n", time_us.0)
        }
    }
}

/// One line of text that no parser takes for a header, a row or a footer.
fn remark(text: &str) -> String {
    const TAKEN: [(&str, &str); 9] = [
        ("\n", "; "),
        ("\r", ""),
        ("out-of-place", "out of place"),
        ("in-place", "in place"),
        ("#wrong", "wrong"),
        ("busbw", "bus-bw"),
        ("bandwidth", "band width"),
        ("FAILED", "failed"),
        ("Out of bounds", "out of bounds"),
    ];
    let mut text = text.trim().to_owned();
    for (word, instead) in TAKEN {
        text = text.replace(word, instead);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_keeps_clear_of_every_word_that_parsers_look_for() {
        let text = remark(" FAILED: in-place busbw\nbandwidth #wrong Out of bounds values : 0 OK ");
        for word in ["FAILED", "in-place", "busbw", "bandwidth", "#wrong", "\n"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        assert!(!text.contains("Out of bounds values"));
    }
}
