//! nccl-tests' stdout, byte for byte where a parser looks.
//!
//! Every line of our own starts with `#` and keeps clear of the words that parsers look for
//! (`docs/record.md`, section Table). A row is one `write`, both placements together.

use super::cells::{general, number};
use super::{Format, Report};
use crate::base::moment;
use crate::base::sweep::Step;
use crate::base::{Bytes, GBps, Placement, RedOp};
use crate::record::{Blocking, Case, Footer, Header, Outcome, Row, SeatRecord};
use std::fmt::Write as _;
use std::io::{self, Write};

pub(super) const FORMAT: Format = Format {
    name: "table",
    summary: "the table that nccl-tests prints",
    start: || Box::new(Table::default()),
};

/// The release whose output is reproduced.
const NCCL_TESTS: &str = "2.19.6";

#[derive(Debug, Default)]
struct Table {
    program: String,
    /// Seconds to add to UTC, where rows end in the local time.
    timestamps: Option<i32>,
    /// The out-of-place half of a row, until the other half comes.
    pending: Option<Row>,
}

impl Report for Table {
    fn begin(&mut self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        let settings = &header.settings;
        self.program.clone_from(&settings.program);
        self.timestamps = settings.timestamps.then_some(header.utc_offset_s);
        let mut text = opening(header);
        for seat in &header.seats {
            text.push_str(&rank_line(seat));
        }
        text.push_str(&remarks(header));
        text.push_str(&column_heads(settings.timestamps));
        put(out, &text)
    }

    fn row(&mut self, row: &Row, out: &mut dyn Write) -> io::Result<()> {
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
        let mut text = self
            .pending
            .take()
            .map_or_else(String::new, |row| alone(&row));
        let wrong = footer.wrong_measurements;
        let verdict = if wrong == 0 { "OK" } else { "FAILED" };
        let average = general(footer.average_busbw_gbps);
        let _ = write!(
            text,
            "# {:<20} : {wrong} {verdict}\n# {:<20} : {average} \n#\n# Collective test concluded: {}\n#\n\n",
            "Out of bounds values", "Avg bus bandwidth", self.program
        );
        put(out, &text)
    }
}

impl Table {
    /// A whole row, or a remark where only one half has numbers.
    fn line(&self, out_of_place: &Row, in_place: &Row) -> String {
        match (body(out_of_place), body(in_place)) {
            (Some(first), Some(second)) => {
                let stamp = self.timestamps.map_or_else(String::new, |offset| {
                    let local = moment::local_text(&in_place.at, offset);
                    format!("{:>21}", local.unwrap_or_else(|| in_place.at.clone()))
                });
                let ranks = rank_lines(out_of_place);
                format!(
                    "{}{first}{second}{stamp}\n{ranks}",
                    preamble(&out_of_place.case)
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

/// The lines before the list of devices. The library is looked up at run time, so that the version
/// of the headers is that of the library; without NCCL both are 0.
fn opening(header: &Header) -> String {
    let settings = &header.settings;
    let nccl = header
        .libraries
        .iter()
        .find(|library| library.name == "nccl");
    let version = nccl.and_then(|library| library.code).unwrap_or(0);
    let (step, unit) = match settings.step {
        Step::Factor(factor) => (factor, "factor"),
        Step::Bytes(bytes) => (bytes, "bytes"),
    };
    let [_, threads, gpus] = header.shape;
    format!(
        "# nccl-tests version {NCCL_TESTS} nccl-headers={version} nccl-library={version}\n\
         # Collective test starting: {program}\n\
         # nThread {threads} nGpus {gpus} minBytes {min} maxBytes {max} step: {step}({unit}) \
         warmup iters: {warmup} iters: {iterations} agg iters: {agg} validation: {checks} \
         graph: 0 unalign: 0\n{blocking}#\n# Using devices\n",
        program = settings.program,
        min = settings.min_bytes.0,
        max = settings.max_bytes.0,
        warmup = settings.warmup,
        iterations = settings.iterations,
        agg = settings.ops_per_batch,
        checks = settings.checks,
        blocking = blocking_line(settings.blocking),
    )
}

fn blocking_line(blocking: Blocking) -> &'static str {
    match blocking {
        Blocking::None => "",
        Blocking::WaitAndBarrier => {
            "# Blocking Enabled: wait and barrier after each inner iteration (-m) \n"
        }
        Blocking::Wait => "# Blocking Enabled: wait after each inner iteration (-m), no barrier \n",
        Blocking::BarrierOutside => {
            "# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier \n"
        }
    }
}

fn rank_line(seat: &SeatRecord) -> String {
    let device = &seat.device;
    format!(
        "#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [{}] {}\n",
        seat.rank, seat.pid, seat.host, device.ordinal, device.bus_id, device.name
    )
}

/// Between the devices and the table: nccl-tests' line about memory, and of our own only what makes the
/// numbers worthless. All else is on stderr and in the run's file.
fn remarks(header: &Header) -> String {
    let mut text = String::new();
    if let Some(limit) = header.clamped_to_bytes {
        let _ = write!(
            text,
            "#\n# Reducing maxBytes to {limit} due to memory limitation\n"
        );
    }
    if !header.measured {
        text.push_str("# ncclbench: simulated by a cost model; nothing was measured\n");
    }
    if header.stand_in {
        text.push_str("# ncclbench: a stand-in library took part; this is a test of the program\n");
    }
    text
}

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeResultHeader`.
fn column_heads(timestamps: bool) -> String {
    let (label, format, width) = if timestamps {
        ("timestamp", "%Y-%m-%d %H:%M:%S", 19)
    } else {
        ("", "", 0)
    };
    let left = |size, count, dtype, redop, root| {
        format!("# {size:>10}  {count:>12}  {dtype:>8}  {redop:>6}  {root:>6}")
    };
    let half =
        |time, algbw, busbw, wrong| format!("  {time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}");
    let names = half("time", "algbw", "busbw", "#wrong");
    let units = half("(us)", "(GB/s)", "(GB/s)", "");
    format!(
        "#\n{}           out-of-place                       in-place          \n\
         {}{names}{names} {label:>width$}\n{}{units}{units} {format:>width$}\n",
        left("", "", "", "", ""),
        left("size", "count", "type", "redop", "root"),
        left("(B)", "(elements)", "", "", ""),
    )
}

fn preamble(case: &Case) -> String {
    let root = case.root.map_or(-1, i64::from);
    format!(
        "{:12}  {:12}  {:>8}  {:>6}  {root:>6}",
        case.size.0,
        case.count,
        case.dtype.name(),
        redop(case),
    )
}

/// The operator's column, which nccl-tests leaves empty for a hypercube.
///
/// # Source
/// nccl-tests 2.19.6, `src/hypercube.cu`, `HyperCubeRunTest`.
fn redop(case: &Case) -> &'static str {
    match case.redop {
        Some(redop) => redop.name(),
        None if case.collective == "hypercube" => "",
        None => "none",
    }
}

/// What each rank sends and receives, where that was asked for, with its share of the first time.
///
/// # Source
/// nccl-tests 2.19.6, `NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY`, which prints in the middle of a row.
fn rank_lines(row: &Row) -> String {
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

/// The four cells of one placement; none where nothing was measured.
fn body(row: &Row) -> Option<String> {
    let Outcome::Measured {
        time_us,
        algbw_gbps,
        busbw_gbps,
        wrong,
        ..
    } = &row.outcome
    else {
        return None;
    };
    // `N/A` is one character shorter than a number there, and so here.
    let wrong = wrong.map_or_else(
        || "  N/A".to_owned(),
        |wrong| format!("{:>6}", count(wrong)),
    );
    Some(format!(
        "  {}  {}  {}  {wrong}",
        number(time_us.0, 7),
        number(algbw_gbps.0, 6),
        number(busbw_gbps.0, 6)
    ))
}

#[expect(clippy::cast_precision_loss, reason = "six digits are printed")]
fn count(wrong: u64) -> String {
    general(wrong as f64)
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
