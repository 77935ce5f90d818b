//! nccl-tests' `-J` file, version 3: one JSON document in which booleans are words and roots are
//! padded, because that is what its readers expect.
//!
//! Unlike nccl-tests it is valid whatever was measured, lists every rank's device and not one for
//! each process, and holds variables from an allow-list only.

use super::cells::redop;
use super::{Format, Report};
use crate::base::moment;
use crate::base::sweep::Step;
use crate::record::{Blocking, Case, Footer, Header, Outcome, PerIteration, Row};
use serde::Serialize;
use std::io::{self, Write};

pub(super) const FORMAT: Format = Format {
    name: "nccl-json",
    summary: "the JSON that nccl-tests writes for `-J`",
    start: || Box::new(NcclJson::default()),
};

/// The version of the document.
const VERSION: u32 = 3;

#[derive(Debug, Default)]
struct NcclJson {
    /// `cpu_time` instead of `time`.
    issue_time: bool,
    utc_offset_s: i32,
    /// The out-of-place half of a result, until the other half comes.
    pending: Option<Row>,
    /// Results written so far.
    results: u64,
}

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `jsonOutputInit`.
#[derive(Serialize)]
struct Opening<'a> {
    version: u32,
    start_time: String,
    args: &'a [String],
    env: Vec<String>,
    nccl_version: i32,
    config: Config<'a>,
}

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeDeviceReport`.
#[derive(Serialize)]
struct Config<'a> {
    nthreads: u32,
    ngpus: u32,
    minimum_bytes: u64,
    maximum_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_factor: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_bytes: Option<u64>,
    warmup_iters: u32,
    iterations: u32,
    aggregated_iterations: u32,
    validation: u32,
    graph: u32,
    blocking_collectives: &'static str,
    per_iter_timing: &'static str,
    per_iter_skip: u32,
    parallel_init: &'static str,
    devices: Vec<Seat<'a>>,
}

#[derive(Serialize)]
struct Seat<'a> {
    rank: u32,
    group: u64,
    pid: u32,
    hostname: &'a str,
    device: u32,
    device_hex: &'a str,
    device_info: &'a str,
}

#[derive(Serialize)]
struct Measurement {
    size: u64,
    count: u64,
    #[serde(rename = "type")]
    dtype: &'static str,
    redop: &'static str,
    root: String,
    out_of_place: Option<Half>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out_of_place_per_iter: Option<PerIter>,
    in_place: Option<Half>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_place_per_iter: Option<PerIter>,
    actual_iterations: u32,
    experiment_name: &'static str,
}

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeBenchmarkLineBody`.
#[derive(Serialize)]
struct Half {
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<f64>,
    alg_bw: f64,
    bus_bw: f64,
    nwrong: Option<f64>,
}

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writePerIterReport`.
#[derive(Serialize)]
struct PerIter {
    skipped_iterations: u32,
    min_us: f64,
    max_us: f64,
    avg_us: f64,
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
    stdev_us: f64,
    cv_pct: f64,
    times_us: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    per_process_max_times_us: Vec<Vec<f64>>,
}

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeResultFooter`, `writeErrors` and `jsonOutputFinalize`.
#[derive(Serialize)]
struct Closing<'a> {
    out_of_bounds: OutOfBounds,
    average_bus_bandwidth: Average,
    errors: [&'a str; 1],
    end_time: String,
}

#[derive(Serialize)]
struct OutOfBounds {
    count: u64,
    okay: &'static str,
}

#[derive(Serialize)]
struct Average {
    bandwidth: f64,
    okay: &'static str,
}

impl Report for NcclJson {
    /// Leaves the document open in its list of results.
    fn begin(&mut self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        self.issue_time = header.settings.tweaks.issue_time;
        self.utc_offset_s = header.utc_offset_s;
        let nccl = header.libraries.iter().find(|one| one.name == "nccl");
        let variables = header.environment.iter();
        let opening = Opening {
            version: VERSION,
            start_time: self.local(&header.started),
            args: &header.args,
            env: variables
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            nccl_version: nccl.and_then(|library| library.code).unwrap_or(0),
            config: config(header),
        };
        let text = serde_json::to_string(&opening)?;
        // the document goes on where this object would end
        let open = text.strip_suffix('}').unwrap_or(&text);
        put(out, &format!("{open},\"results\":["))
    }

    fn row(&mut self, row: &Row, out: &mut dyn Write) -> io::Result<()> {
        match self.pending.take() {
            None => {
                self.pending = Some(row.clone());
                Ok(())
            }
            Some(first) if belong_together(&first, row) => self.result(&first, Some(row), out),
            Some(first) => {
                self.result(&first, None, out)?;
                self.row(row, out)
            }
        }
    }

    fn end(&mut self, footer: &Footer, out: &mut dyn Write) -> io::Result<()> {
        if let Some(last) = self.pending.take() {
            self.result(&last, None, out)?;
        }
        let floor = footer.bandwidth_floor;
        let closing = Closing {
            out_of_bounds: OutOfBounds {
                count: footer.wrong_measurements,
                okay: word(footer.wrong_measurements == 0 && self.results > 0),
            },
            average_bus_bandwidth: Average {
                bandwidth: six(footer.average_busbw_gbps),
                okay: floor.map_or("unchecked", |floor| word(floor.met)),
            },
            errors: [footer.fault.as_deref().unwrap_or("")],
            end_time: self.local(&footer.ended),
        };
        let text = serde_json::to_string(&closing)?;
        put(
            out,
            &format!("],{}\n", text.strip_prefix('{').unwrap_or(&text)),
        )
    }
}

impl NcclJson {
    fn local(&self, moment: &str) -> String {
        moment::local_text(moment, self.utc_offset_s).unwrap_or_else(|| moment.to_owned())
    }

    /// One size; what was not measured in either placement is no result.
    fn result(&mut self, first: &Row, second: Option<&Row>, out: &mut dyn Write) -> io::Result<()> {
        let of = |placement| {
            let rows = [Some(first), second].into_iter().flatten();
            rows.into_iter().find(|row| row.case.placement == placement)
        };
        let [outside, inside] = crate::base::Placement::ALL.map(of);
        let case = &first.case;
        let result = Measurement {
            size: case.size.0,
            count: case.count,
            dtype: case.dtype.name(),
            redop: redop(case),
            root: format!("{:6}", case.root.map_or(-1, i64::from)),
            out_of_place: outside.and_then(|row| self.half(row)),
            out_of_place_per_iter: outside.and_then(iterations),
            in_place: inside.and_then(|row| self.half(row)),
            in_place_per_iter: inside.and_then(iterations),
            actual_iterations: case.iterations,
            experiment_name: "",
        };
        if result.out_of_place.is_none() && result.in_place.is_none() {
            return Ok(());
        }
        self.results += 1;
        let comma = if self.results > 1 { "," } else { "" };
        put(out, &format!("{comma}{}", serde_json::to_string(&result)?))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "nccl-tests writes a number with a fraction"
    )]
    fn half(&self, row: &Row) -> Option<Half> {
        let Outcome::Measured {
            time_us,
            issue,
            algbw_gbps,
            busbw_gbps,
            wrong,
            ..
        } = &row.outcome
        else {
            return None;
        };
        Some(Half {
            time: (!self.issue_time).then(|| six(time_us.0)),
            cpu_time: issue
                .filter(|_| self.issue_time)
                .map(|issue| six(issue.rank0_us)),
            alg_bw: six(algbw_gbps.0),
            bus_bw: six(busbw_gbps.0),
            nwrong: wrong.map(|wrong| wrong as f64),
        })
    }
}

fn put(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Whether the second is the in-place form of the first.
fn belong_together(first: &Row, second: &Row) -> bool {
    let key = |case: &Case| {
        (
            case.dtype,
            case.redop,
            case.root,
            case.requested,
            case.cycle,
        )
    };
    first.case.placement < second.case.placement && key(&first.case) == key(&second.case)
}

/// Six decimals, as C prints them.
fn six(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A truth as nccl-tests writes it.
fn word(is_true: bool) -> &'static str {
    if is_true { "true" } else { "false" }
}

fn config(header: &Header) -> Config<'_> {
    let settings = &header.settings;
    let tweaks = settings.tweaks;
    let [_, nthreads, ngpus] = header.shape;
    let (step_factor, step_bytes) = match settings.step {
        Step::Factor(factor) => (Some(factor), None),
        Step::Bytes(bytes) => (None, Some(bytes)),
    };
    Config {
        nthreads,
        ngpus,
        minimum_bytes: settings.min_bytes.0,
        maximum_bytes: settings.max_bytes.0,
        step_factor,
        step_bytes,
        warmup_iters: settings.warmup,
        iterations: settings.iterations,
        aggregated_iterations: settings.ops_per_batch,
        validation: settings.checks,
        graph: tweaks.graph_launches,
        blocking_collectives: word(settings.blocking != Blocking::None),
        per_iter_timing: word(tweaks.per_iteration.is_some()),
        per_iter_skip: tweaks.per_iteration.unwrap_or(0),
        parallel_init: word(tweaks.parallel_init),
        devices: devices(header),
    }
}

fn devices(header: &Header) -> Vec<Seat<'_>> {
    let groups = header.groups.iter().copied().chain(std::iter::repeat(0));
    let seats = header.seats.iter().zip(groups);
    seats
        .map(|(seat, group)| Seat {
            rank: seat.rank,
            group,
            pid: seat.pid,
            hostname: &seat.host,
            device: seat.device.ordinal,
            device_hex: &seat.device.bus_id,
            device_info: &seat.device.name,
        })
        .collect()
}

fn iterations(row: &Row) -> Option<PerIter> {
    let Outcome::Measured { per_iteration, .. } = &row.outcome else {
        return None;
    };
    let all = |values: &[f64]| -> Vec<f64> { values.iter().copied().map(six).collect() };
    let figures: &PerIteration = per_iteration.as_deref()?;
    Some(PerIter {
        skipped_iterations: figures.skipped,
        min_us: six(figures.min_us),
        max_us: six(figures.max_us),
        avg_us: six(figures.avg_us),
        p50_us: six(figures.p50_us),
        p95_us: six(figures.p95_us),
        p99_us: six(figures.p99_us),
        stdev_us: six(figures.stdev_us),
        cv_pct: six(figures.cv_pct),
        times_us: all(&figures.times_us),
        per_process_max_times_us: figures.process_us.iter().map(|one| all(one)).collect(),
    })
}
