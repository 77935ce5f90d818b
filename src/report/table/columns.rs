//! The table's headings and the cells of its rows.

use crate::base::{Bytes, GBps};
use crate::record::{Case, Outcome, PerIteration, Row, Settings};
use crate::report::cells::{general, number, redop};

/// Which columns a table has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// The time of enqueueing instead of the whole time.
    issue_time: bool,
    /// Four more for each placement: the times of single iterations.
    per_iteration: bool,
    /// The local time at the end.
    timestamps: bool,
}

impl Columns {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            issue_time: settings.tweaks.issue_time,
            per_iteration: settings.tweaks.per_iteration.is_some(),
            timestamps: settings.timestamps,
        }
    }

    /// # Source
    /// nccl-tests 2.19.6, `src/util.cu`, `writeResultHeader`.
    pub(super) fn heads(self) -> String {
        let (label, format, width) = if self.timestamps {
            ("timestamp", "%Y-%m-%d %H:%M:%S", 19)
        } else {
            ("", "", 0)
        };
        let time = if self.issue_time { "cputime" } else { "time" };
        let names = self.half(
            [time, "algbw", "busbw", "#wrong"],
            ["i_min", "i_max", "i_p99", "i_cv%"],
        );
        let units = self.half(
            ["(us)", "(GB/s)", "(GB/s)", ""],
            ["(us)", "(us)", "(us)", "(%)"],
        );
        format!(
            "#\n{}{}\n{}{names}{names} {label:>width$}\n{}{units}{units} {format:>width$}\n",
            left(["", "", "", "", ""]),
            self.placements(),
            left(["size", "count", "type", "redop", "root"]),
            left(["(B)", "(elements)", "", "", ""]),
        )
    }

    /// The line that says which half is which.
    fn placements(self) -> String {
        if self.per_iteration {
            let gap = " ".repeat(32);
            format!(
                "{:14}out-of-place (+ per-iteration){gap}in-place (+ per-iteration)",
                ""
            )
        } else {
            let gap = " ".repeat(23);
            format!("{:11}out-of-place{gap}in-place{:10}", "", "")
        }
    }

    fn half(self, [time, algbw, busbw, wrong]: [&str; 4], iterations: [&str; 4]) -> String {
        let mut text = format!("  {time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}");
        if self.per_iteration {
            text.push_str(&wide(iterations));
        }
        text
    }

    /// The cells of a placement that is not measured.
    pub(super) fn none(self) -> String {
        let mut text = format!("  {0:>7}  {0:>6}  {0:>6}  {0:>6}", "N/A");
        if self.per_iteration {
            text.push_str(&wide(["N/A"; 4]));
        }
        text
    }

    /// The cells of one placement; none where nothing was measured.
    pub(super) fn body(self, row: &Row) -> Option<String> {
        let Outcome::Measured {
            time_us,
            issue,
            algbw_gbps,
            busbw_gbps,
            wrong,
            per_iteration,
            ..
        } = &row.outcome
        else {
            return None;
        };
        let shown = match issue {
            Some(issue) if self.issue_time => issue.rank0_us,
            _ => time_us.0, // -C gives no other time, and so an imported row has none
        };
        // `N/A` is one character shorter than a number there, and so here.
        let wrong = wrong.map_or_else(
            || "  N/A".to_owned(),
            |wrong| format!("{:>6}", count(wrong)),
        );
        let mut text = format!(
            "  {}  {}  {}  {wrong}",
            number(shown, 7),
            number(algbw_gbps.0, 6),
            number(busbw_gbps.0, 6)
        );
        if self.per_iteration {
            text.push_str(&iterations(per_iteration.as_deref()));
        }
        Some(text)
    }
}

fn left([size, count, dtype, redop, root]: [&str; 5]) -> String {
    format!("# {size:>10}  {count:>12}  {dtype:>8}  {redop:>6}  {root:>6}")
}

fn wide(cells: [&str; 4]) -> String {
    cells.map(|cell| format!("  {cell:>7}")).concat()
}

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writePerIterReport`.
fn iterations(figures: Option<&PerIteration>) -> String {
    let Some(figures) = figures else {
        return wide(["N/A"; 4]);
    };
    let cells = [
        figures.min_us,
        figures.max_us,
        figures.p99_us,
        figures.cv_pct,
    ];
    let cells = cells.map(|value| number(value, 7));
    wide(cells.each_ref().map(String::as_str))
}

/// The cells before the first placement's.
pub(super) fn preamble(case: &Case) -> String {
    let root = case.root.map_or(-1, i64::from);
    format!(
        "{:12}  {:12}  {:>8}  {:>6}  {root:>6}",
        case.size.0,
        case.count,
        case.dtype.name(),
        redop(case),
    )
}

/// What each rank sends and receives, where that was asked for, with its share of the first time.
///
/// # Source
/// nccl-tests 2.19.6, `NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY`, which prints in the middle of a row.
pub(super) fn rank_lines(row: &Row) -> String {
    let Outcome::Measured { time_us, .. } = row.outcome else {
        return String::new();
    };
    let line = |(rank, [sent, received]): (usize, &[u64; 2])| {
        let share = |bytes: u64| number(GBps::of(Bytes(bytes), time_us).0, 6);
        let (out, into) = (share(*sent), share(*received));
        let (sent, received) = (Bytes(*sent), Bytes(*received));
        format!("# rank {rank} sends {sent} at {out} GB/s, receives {received} at {into} GB/s\n")
    };
    row.case.rank_bytes.iter().enumerate().map(line).collect()
}

#[expect(clippy::cast_precision_loss, reason = "six digits are printed")]
fn count(wrong: u64) -> String {
    general(wrong as f64)
}
