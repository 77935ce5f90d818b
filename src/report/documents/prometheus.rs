//! A text file for Prometheus' node exporter, with the names of NCCL's Inspector where it has one, so that
//! a dashboard shows what a job reaches beside what this program measured.
//!
//! # Source
//! NVIDIA/nccl, `plugins/profiler/inspector`: `README.md` and `inspector_prom.cc` (names, labels),
//! `inspector_otel.cc` (`nccl_collective_algobw_gbs`). Format: Prometheus' text exposition format 0.0.4.

use super::Document;
use super::tables::Tally;
use crate::base::moment;
use crate::record::verdict::Decision;
use crate::record::{Header, Outcome, Row, Verdict};
use crate::report::about;
use crate::report::material::{Material, Named};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub(super) const DOCUMENT: Document = Document {
    name: "prometheus",
    ending: "prom",
    summary: "a text file for Prometheus' node exporter, with the names of NCCL's Inspector",
    text: |material| Ok(text(material)),
};

/// Labels in their order, with their values.
type Labels = Vec<(&'static str, String)>;

/// The samples of one name; one for each set of labels.
#[derive(Debug)]
struct Metric {
    name: &'static str,
    /// Empty for names that are not ours, whose help would contradict that of other files.
    help: &'static str,
    samples: BTreeMap<Labels, Vec<f64>>,
}

fn text(material: &Material<'_>) -> String {
    let mut text = String::new();
    let (counting, others): (Vec<_>, Vec<_>) = material
        .runs
        .iter()
        .partition(|named| about::stamp(&named.run.header).is_none());
    for named in &others {
        let stamp = about::stamp(&named.run.header).unwrap_or_default();
        let label = crate::report::plot::picture::clean(&named.label);
        let _ = writeln!(text, "# {label} is left out: {stamp}, not a measurement");
    }
    let are_many = material.runs.len() > 1;
    let mut metrics = of_rows(material, &counting, are_many);
    metrics.extend(of_runs(&material.runs, are_many));
    metrics.extend(material.verdict.map(of_verdict).unwrap_or_default());
    for metric in &metrics {
        write(&mut text, metric);
    }
    text
}

fn write(text: &mut String, metric: &Metric) {
    if metric.samples.is_empty() {
        return;
    }
    if !metric.help.is_empty() {
        let _ = writeln!(text, "# HELP {} {}", metric.name, metric.help);
    }
    let _ = writeln!(text, "# TYPE {} gauge", metric.name);
    for (labels, values) in &metric.samples {
        let labels = labels.iter().filter(|(_, value)| !value.is_empty());
        let labels: Vec<String> = labels
            .map(|(name, value)| format!("{name}=\"{}\"", safe(value)))
            .collect();
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        let _ = writeln!(text, "{}{labels} {}", metric.name, median(values));
    }
}

/// The text format's escapes for values of labels.
fn safe(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Of a case's repetitions; the format has one sample for a set of labels.
fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}

fn metric(name: &'static str, help: &'static str) -> Metric {
    Metric {
        name,
        help,
        samples: BTreeMap::new(),
    }
}

/// Inspector's names are for what NCCL did; other backends have the same figures under our names.
fn names(backend: &str) -> [&'static str; 3] {
    match backend {
        "nccl" => [
            "nccl_bus_bandwidth_gbs",
            "nccl_collective_exec_time_microseconds",
            "nccl_collective_algobw_gbs",
        ],
        _ => [
            "ncclbench_bus_bandwidth_gbs",
            "ncclbench_exec_time_microseconds",
            "ncclbench_algobw_gbs",
        ],
    }
}

fn of_rows(material: &Material<'_>, runs: &[&Named<'_>], are_many: bool) -> Vec<Metric> {
    let mut all: Vec<Metric> = names("nccl").map(|name| metric(name, "")).into();
    let helps = [
        "Bus bandwidth in GB/s of 10^9 bytes, of backends other than nccl",
        "Time of one operation in microseconds, of backends other than nccl",
        "Algorithm bandwidth in GB/s of 10^9 bytes, of backends other than nccl",
    ];
    all.extend(
        names("host")
            .into_iter()
            .zip(helps)
            .map(|(name, help)| metric(name, help)),
    );
    all.push(metric(
        "ncclbench_wrong_elements",
        "Elements of the result that were wrong; only where it was checked",
    ));
    for named in runs {
        let rows = named
            .run
            .rows
            .iter()
            .filter(|row| material.wish.takes(&row.case));
        for row in rows {
            let Outcome::Measured {
                time_us,
                algbw_gbps,
                busbw_gbps,
                wrong,
                ..
            } = &row.outcome
            else {
                continue;
            };
            let labels = labels(named, row, are_many);
            let names = names(&named.run.header.backend)
                .into_iter()
                .chain(["ncclbench_wrong_elements"]);
            let values = [
                Some(busbw_gbps.0),
                Some(time_us.0),
                Some(algbw_gbps.0),
                wrong.map(real),
            ];
            for (name, value) in names.zip(values) {
                let metric = all.iter_mut().find(|metric| metric.name == name);
                if let (Some(metric), Some(value)) = (metric, value) {
                    metric
                        .samples
                        .entry(labels.clone())
                        .or_default()
                        .push(value);
                }
            }
        }
    }
    all
}

#[expect(
    clippy::cast_precision_loss,
    reason = "elements and exit codes are far below 2^53"
)]
fn real(number: u64) -> f64 {
    number as f64
}

/// Inspector's labels, then ours.
fn labels(named: &Named<'_>, row: &Row, are_many: bool) -> Labels {
    let header = &named.run.header;
    let case = &row.case;
    let hosts: BTreeSet<&str> = header.seats.iter().map(|seat| seat.host.as_str()).collect();
    let job = header.environment.get("SLURM_JOB_ID").cloned();
    vec![
        ("slurm_job_id", job.unwrap_or_default()),
        (
            "node",
            header
                .seats
                .first()
                .map_or_else(String::new, |seat| seat.host.clone()),
        ),
        ("comm_name", "ncclbench".to_owned()),
        ("n_nodes", hosts.len().to_string()),
        ("nranks", header.seats.len().to_string()),
        ("collective", inspector_name(&case.collective).to_owned()),
        ("message_size", case.requested.to_string()),
        ("message_size_bytes", case.requested.0.to_string()),
        ("datatype", case.dtype.name().to_owned()),
        (
            "redop",
            case.redop
                .map_or_else(String::new, |redop| redop.name().to_owned()),
        ),
        ("placement", case.placement.to_string()),
        ("backend", header.backend.clone()),
        (
            "run",
            if are_many {
                named.label.clone()
            } else {
                String::new()
            },
        ),
    ]
}

/// As Inspector spells it.
fn inspector_name(collective: &str) -> &str {
    match collective {
        "allreduce" => "AllReduce",
        "allgather" => "AllGather",
        "reducescatter" => "ReduceScatter",
        "alltoall" => "AlltoAll",
        "broadcast" => "Broadcast",
        "reduce" => "Reduce",
        "gather" => "Gather",
        "scatter" => "Scatter",
        "sendrecv" => "SendRecv",
        other => other,
    }
}

fn of_runs(runs: &[Named<'_>], are_many: bool) -> Vec<Metric> {
    let mut all = [
        metric(
            "ncclbench_run_measured",
            "1 where the run measured a machine, 0 where it was simulated or a test",
        ),
        metric(
            "ncclbench_run_start_timestamp_seconds",
            "When the run began, in seconds since 1970",
        ),
        metric(
            "ncclbench_run_complete",
            "1 where the run ended by itself, 0 where it was cut short",
        ),
        metric("ncclbench_run_exit_code", "What the run left with"),
        metric("ncclbench_run_rows", "Rows that were measured"),
        metric("ncclbench_run_waived_rows", "Rows that could not be run"),
        metric("ncclbench_run_wrong_rows", "Rows with wrong data"),
    ];
    for named in runs {
        let (header, tally): (&Header, Tally) = (&named.run.header, Tally::of(named.run));
        let footer = named.run.footer.as_ref();
        let started =
            moment::seconds_of(&header.started).and_then(|seconds| u64::try_from(seconds).ok());
        let values = [
            Some(u64::from(about::stamp(header).is_none())),
            started,
            Some(u64::from(
                footer.is_some_and(|footer| footer.fault.is_none()),
            )),
            footer.map(|footer| u64::from(footer.exit_code)),
            Some(tally.measured as u64),
            Some(tally.waived as u64),
            Some(tally.wrong as u64),
        ];
        let labels = vec![
            (
                "run",
                if are_many {
                    named.label.clone()
                } else {
                    String::new()
                },
            ),
            ("collective", header.collective.clone()),
            ("backend", header.backend.clone()),
        ];
        for (metric, value) in all.iter_mut().zip(values) {
            if let Some(value) = value {
                metric
                    .samples
                    .entry(labels.clone())
                    .or_default()
                    .push(real(value));
            }
        }
    }
    all.into()
}

fn of_verdict(verdict: &Verdict) -> Vec<Metric> {
    let mut decision = metric(
        "ncclbench_verdict",
        "0 PASS, 1 REGRESS, 2 INCONCLUSIVE: the whole, and each band",
    );
    let mut change = metric(
        "ncclbench_change_percent",
        "Change of speed against the baseline in percent; below 0 is slower",
    );
    let mut gate = metric(
        "ncclbench_gate_met",
        "1 where a floor was met, 0 where it was not",
    );
    let number = |decision| match decision {
        Decision::Pass => 0.0,
        Decision::Regress => 1.0,
        Decision::Inconclusive => 2.0,
    };
    let labels = |band: &str| {
        vec![
            ("baseline", verdict.baseline.name.clone()),
            ("band", band.to_owned()),
        ]
    };
    decision
        .samples
        .insert(labels("all"), vec![number(verdict.decision)]);
    for band in &verdict.bands {
        decision
            .samples
            .insert(labels(band.band.name()), vec![number(band.decision)]);
        change
            .samples
            .insert(labels(band.band.name()), vec![band.change.percent]);
    }
    for floor in &verdict.gate {
        let labels = vec![("asks", floor.asks.clone())];
        gate.samples
            .insert(labels, vec![f64::from(u8::from(floor.met))]);
    }
    vec![decision, change, gate]
}
