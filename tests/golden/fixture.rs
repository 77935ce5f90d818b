//! Real output of nccl-tests, read into records: numbers go in, and the same bytes must come out.

use ncclbench::base::sweep::{Step, Sweep};
use ncclbench::base::{Bytes, DataType, GBps, Micros, RedOp, World};
use ncclbench::digest::{self, Average, Figures};
use ncclbench::plan::{self, PlanSpec, Work};
use ncclbench::record::{
    DeviceRecord, Footer, Header, LibraryRecord, Mismatches, Outcome, PerIteration, Row, SCHEMA,
    Sample, SeatRecord, Spread, Tweaks,
};
use ncclbench::{collective, report};
use std::collections::BTreeMap;

/// What a fixture says of its run.
pub(crate) struct Fixture {
    pub(crate) text: &'static str,
    pub(crate) header: Header,
    spec: PlanSpec,
}

impl Fixture {
    pub(crate) fn new(text: &'static str) -> Self {
        let spec = spec(text);
        let mut settings = plan::settings(&spec, false);
        after(text, "# Collective test starting: ").clone_into(&mut settings.program);
        let header = Header {
            seats: seats(text),
            libraries: vec![nccl(
                after(text, "nccl-library=").parse().expect("a version"),
            )],
            settings,
            ..header()
        };
        Self { text, header, spec }
    }

    fn world(&self) -> World {
        World(u32::try_from(self.header.seats.len()).unwrap())
    }

    /// The fixture's text from where the table's own lines begin.
    pub(crate) fn table(&self) -> &'static str {
        let start = self.text.find("# nccl-tests version").unwrap();
        &self.text[start..]
    }

    /// Rows with the numbers that the text shows.
    pub(crate) fn rows_of_text(&self) -> Vec<Row> {
        let lines = self.text.lines().filter(|line| line.starts_with(' '));
        let cells: Vec<Vec<&str>> = lines
            .map(|line| line.split_whitespace().collect())
            .collect();
        let halves = cells.iter().flat_map(|cells| [&cells[5..9], &cells[9..13]]);
        let rows = self.cases().into_iter().zip(halves);
        rows.map(|(case, cells)| Row {
            case,
            outcome: measured(cells),
            at: String::new(),
            quality: ncclbench::record::Quality::default(),
        })
        .collect()
    }

    /// Rows computed from the full-precision times of the same run's `-J` file.
    pub(crate) fn rows_of_json(&self, json: &str) -> Vec<Row> {
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let results = json["results"].as_array().unwrap();
        let halves = results.iter().flat_map(|result| {
            ["out_of_place", "in_place"]
                .map(|half| (&result[half], &result[format!("{half}_per_iter")]))
        });
        let rows = self.cases().into_iter().zip(halves);
        rows.map(|(case, (half, iterations))| {
            let sample = Sample {
                time_us: vec![half["time"].as_f64().unwrap()],
                issue_us: vec![0.0],
                ..Sample::default()
            };
            let checked = half["nwrong"].as_f64().map(|_| Mismatches::default());
            let at = "2026-11-29T14:17:39.000Z".to_owned();
            digest::row(case, &sample, checked, Average::Mean, at)
                .with_iterations(per_iteration(iterations))
        })
        .collect()
    }

    fn cases(&self) -> Vec<ncclbench::record::Case> {
        let jobs = plan::jobs(&self.spec, self.world(), 0).unwrap();
        let measured = jobs.into_iter().filter(|job| job.work == Work::Measure);
        measured.map(|job| job.case).collect()
    }

    /// The footer as the text says it, for rows whose bandwidths are rounded.
    pub(crate) fn footer_of_text(&self) -> Footer {
        let average = after(self.text, "# Avg bus bandwidth    : ").trim();
        footer(0, average.parse().unwrap())
    }
}

/// The figures of single iterations, where there are any.
fn per_iteration(json: &serde_json::Value) -> Option<PerIteration> {
    let us = |name: &str| json[name].as_f64().unwrap();
    json.is_object().then(|| PerIteration {
        skipped: 0,
        min_us: us("min_us"),
        max_us: us("max_us"),
        avg_us: us("avg_us"),
        p50_us: us("p50_us"),
        p95_us: us("p95_us"),
        p99_us: us("p99_us"),
        stdev_us: us("stdev_us"),
        cv_pct: us("cv_pct"),
        times_us: Vec::new(),
        process_us: Vec::new(),
    })
}

/// A run as the table shows it.
pub(crate) fn render(header: &Header, rows: &[Row], footer: &Footer) -> String {
    let mut out = Vec::new();
    let mut table = report::table();
    table.begin(header, &mut out).unwrap();
    for row in rows {
        table.row(row, &mut out).unwrap();
    }
    table.end(footer, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The footer that follows from the rows.
pub(crate) fn footer_of(rows: &[Row]) -> Footer {
    let mut figures = Figures::default();
    for row in rows {
        figures.add(row);
    }
    footer(figures.wrong_measurements, figures.average_busbw_gbps())
}

fn footer(wrong_measurements: u64, average_busbw_gbps: f64) -> Footer {
    Footer {
        ended: String::new(),
        rows: 0,
        wrong_measurements,
        average_busbw_gbps,
        exit_code: 0,
        ..Footer::default()
    }
}

/// `text` less this program's own remarks, which nccl-tests does not print.
pub(crate) fn without_remarks(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines
        .filter(|line| !line.starts_with("# ncclbench"))
        .collect()
}

/// The rest of the line after the first `label`.
fn after(text: &'static str, label: &str) -> &'static str {
    let at = text.find(label).unwrap_or_else(|| panic!("no `{label}`"));
    text[at + label.len()..].lines().next().unwrap()
}

fn spec(text: &'static str) -> PlanSpec {
    let number = |label| after(text, label).split(' ').next().unwrap();
    let step = number(" step: ");
    let (value, unit) = step.split_once('(').unwrap();
    let step = match unit {
        "factor)" => Step::Factor(value.parse().unwrap()),
        _ => Step::Bytes(value.parse().unwrap()),
    };
    let bytes = |label| Bytes(number(label).parse().unwrap());
    let program = after(text, "# Collective test starting: ");
    PlanSpec {
        collective: collective::by_name(program.trim_end_matches("_mpi")).unwrap(),
        dtypes: vec![DataType::Float],
        redops: vec![RedOp::Sum],
        roots: ncclbench::plan::Roots::One(ncclbench::base::Rank(0)),
        uneven: ncclbench::base::Uneven::default(),
        rank_bytes: false,
        sweep: Sweep::new(bytes(" minBytes "), bytes(" maxBytes "), step).unwrap(),
        list: Vec::new(),
        placements: ncclbench::base::Placement::ALL.to_vec(),
        effort: ncclbench::plan::Effort::default(),
        iterations: number(" warmup iters: 1 iters: ").parse().unwrap(),
        ops_per_batch: number(" agg iters: ").parse().unwrap(),
        warmup: number(" warmup iters: ").parse().unwrap(),
        checks: number(" validation: ").parse().unwrap(),
        blocking: ncclbench::record::Blocking::None,
        cycles: 1,
        tweaks: Tweaks::default(),
    }
}

fn seats(text: &'static str) -> Vec<SeatRecord> {
    let lines = text.lines().filter(|line| line.starts_with("#  Rank"));
    lines
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            SeatRecord {
                rank: words[2].parse().unwrap(),
                process: words[2].parse().unwrap(),
                pid: words[6].parse().unwrap(),
                host: words[8].to_owned(),
                device: DeviceRecord {
                    ordinal: words[10].parse().unwrap(),
                    name: words[12..].join(" "),
                    bus_id: words[11].trim_matches(['[', ']']).to_owned(),
                    uuid: None,
                    memory_bytes: None,
                },
            }
        })
        .collect()
}

fn measured(cells: &[&str]) -> Outcome {
    let number = |index: usize| cells[index].parse::<f64>().unwrap();
    let spread = Spread {
        mean_us: number(0),
        min_us: number(0),
        max_us: number(0),
        rank0_us: number(0),
    };
    Outcome::Measured {
        time_us: Micros(number(0)),
        time: spread,
        issue: Some(spread),
        algbw_gbps: GBps(number(1)),
        busbw_gbps: GBps(number(2)),
        wrong: cells[3].parse().ok(),
        wrong_threads: 0,
        unchecked: None,
        bad: Vec::new(),
        per_iteration: None,
    }
}

fn nccl(code: i32) -> LibraryRecord {
    LibraryRecord {
        name: "nccl".to_owned(),
        path: "libnccl.so.2".to_owned(),
        version: "2.28".to_owned(),
        code: Some(code),
        stand_in: false,
    }
}

/// A header of a run that measured, with nothing particular in it.
pub(crate) fn header() -> Header {
    let spec = PlanSpec {
        collective: collective::by_name("allreduce").unwrap(),
        dtypes: vec![DataType::Float],
        redops: vec![RedOp::Sum],
        roots: ncclbench::plan::Roots::One(ncclbench::base::Rank(0)),
        uneven: ncclbench::base::Uneven::default(),
        rank_bytes: false,
        sweep: Sweep::new(Bytes(8), Bytes(64), Step::Factor(2)).unwrap(),
        list: Vec::new(),
        placements: ncclbench::base::Placement::ALL.to_vec(),
        effort: ncclbench::plan::Effort::default(),
        iterations: 20,
        ops_per_batch: 1,
        warmup: 1,
        checks: 1,
        blocking: ncclbench::record::Blocking::None,
        cycles: 1,
        tweaks: Tweaks::default(),
    };
    Header {
        schema: SCHEMA,
        ncclbench: "0.1.0".to_owned(),
        started: "2026-11-29T14:17:00.000Z".to_owned(),
        utc_offset_s: 0,
        args: Vec::new(),
        collective: "allreduce".to_owned(),
        backend: "nccl".to_owned(),
        call: Some("native".to_owned()),
        measured: true,
        stand_in: false,
        launcher: "alone".to_owned(),
        launcher_reason: "no launcher's variables".to_owned(),
        shape: [1, 1, 1],
        settings: plan::settings(&spec, false),
        seed: None,
        average: "mean".to_owned(),
        libraries: Vec::new(),
        seats: Vec::new(),
        groups: Vec::new(),
        environment: BTreeMap::new(),
        plan: String::new(),
        clamped_to_bytes: None,
        notes: Vec::new(),
        nccl_log: None,
        init_ms: BTreeMap::new(),
        sweep: None,
        conditions: None,
    }
}
