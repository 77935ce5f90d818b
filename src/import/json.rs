//! The JSON file of nccl-tests' `-J`, versions 1 to 3.

use super::build;
use super::heading::{Draft, Seat, Told};
use super::mend::mend;
use super::row;
use super::row::{DataRow, Half};
use super::{About, Complaint, Found};
use crate::base::Env;
use crate::base::sweep::Step;
use crate::record::{Blocking, PerIteration};
use serde::Deserialize;

/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `jsonOutputInit` and on.
#[derive(Debug, Deserialize)]
struct File {
    version: u32,
    start_time: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<String>,
    nccl_version: Option<i32>,
    config: Config,
    #[serde(default)]
    results: Vec<Measured>,
    out_of_bounds: Option<OutOfBounds>,
    average_bus_bandwidth: Option<Average>,
    #[serde(default)]
    errors: Vec<String>,
    end_time: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Config {
    nthreads: u32,
    ngpus: u32,
    minimum_bytes: u64,
    maximum_bytes: u64,
    step_factor: Option<u64>,
    step_bytes: Option<u64>,
    warmup_iters: u32,
    iterations: u32,
    aggregated_iterations: u32,
    validation: u32,
    #[serde(default)]
    graph: u32,
    blocking_collectives: Option<String>,
    per_iter_timing: Option<String>,
    #[serde(default)]
    per_iter_skip: u32,
    parallel_init: Option<String>,
    #[serde(default)]
    devices: Vec<Device>,
}

#[derive(Debug, Deserialize)]
struct Device {
    rank: u32,
    #[serde(default)]
    group: u32,
    pid: u32,
    hostname: String,
    #[serde(rename = "device")]
    ordinal: u32,
    #[serde(default, rename = "device_hex")]
    bus_id: String,
    #[serde(default, rename = "device_info")]
    name: String,
}

#[derive(Debug, Deserialize)]
struct Measured {
    size: u64,
    count: u64,
    #[serde(rename = "type")]
    dtype: String,
    redop: String,
    root: String,
    out_of_place: Figures,
    out_of_place_per_iter: Option<Iterations>,
    in_place: Figures,
    in_place_per_iter: Option<Iterations>,
    actual_iterations: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Figures {
    time: Option<f64>,
    cpu_time: Option<f64>,
    alg_bw: Option<f64>,
    bus_bw: Option<f64>,
    nwrong: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Iterations {
    #[serde(default, rename = "skipped_iterations")]
    skipped: u32,
    min_us: f64,
    max_us: f64,
    avg_us: f64,
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
    stdev_us: f64,
    cv_pct: f64,
    #[serde(default)]
    times_us: Vec<f64>,
    #[serde(default)]
    per_process_max_times_us: Vec<Vec<f64>>,
}

#[derive(Debug, Deserialize)]
struct OutOfBounds {
    count: u64,
}

#[derive(Debug, Deserialize)]
struct Average {
    bandwidth: Option<f64>,
    okay: Option<String>,
}

/// Reads a JSON file.
pub(super) fn read(text: &str, about: &About) -> Found {
    let mut found = Found::default();
    let (mended, was_cut) = mend(text);
    if was_cut {
        let why = "the file breaks off; its whole rows are kept";
        let lines = text.lines().count().max(1);
        found.complaints.push(Complaint::new(lines, why));
    }
    let read = serde_json::from_str::<File>(&mended)
        .map_err(|error| Complaint::new(error.line(), format!("not nccl-tests' JSON: {error}")))
        .and_then(|file| file.draft(about, &mut found.complaints))
        .and_then(|draft| build::run(&draft, about));
    match read {
        Ok(run) => found.runs.push(run),
        Err(complaint) => found.complaints.push(complaint),
    }
    found
}

impl File {
    fn draft(self, about: &About, complaints: &mut Vec<Complaint>) -> Result<Draft, Complaint> {
        let complain = |why: String| Complaint::new(1, why);
        if self.version > 3 {
            let why = format!("its version is {}; known are 1 to 3", self.version);
            return Err(complain(why));
        }
        let environment = kept(&self.env, about);
        let told = self.config.told().map_err(complain)?;
        let is = |text: &Option<String>| text.as_deref() == Some("true");
        let mut draft = Draft {
            first_line: 1,
            program: self.args.first().map(|path| file_name(path).to_owned()),
            library: self.nccl_version,
            told: Some(told),
            blocking: if is(&self.config.blocking_collectives) {
                Blocking::WaitAndBarrier
            } else {
                Blocking::None
            },
            per_iteration: is(&self.config.per_iter_timing).then_some(self.config.per_iter_skip),
            parallel_init: is(&self.config.parallel_init),
            started: self.start_time,
            ended: self.end_time,
            wrong_measurements: self.out_of_bounds.map(|out| out.count),
            environment,
            ..Draft::default()
        };
        if let Some(average) = self.average_bus_bandwidth {
            draft.average_busbw = average.bandwidth;
            draft.bandwidth_met = average.okay.and_then(|okay| okay.parse().ok());
        }
        draft.args = self.args;
        draft.seats = self.config.devices.into_iter().map(Device::seat).collect();
        draft.failures = self
            .errors
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        draft.issue_time = self
            .results
            .iter()
            .any(|row| row.out_of_place.cpu_time.is_some());
        for (index, row) in self.results.into_iter().enumerate() {
            match row.read() {
                Ok(row) => draft.rows.push(row),
                Err(why) => complaints.push(complain(format!("row {}: {why}", index + 1))),
            }
        }
        Ok(draft)
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// nccl-tests writes its whole environment, secrets and all; a record keeps some.
fn kept(env: &[String], about: &About) -> std::collections::BTreeMap<String, String> {
    let pairs = env.iter().filter_map(|text| text.split_once('='));
    let owned = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let env: Env = owned.collect();
    (about.kept)(&env)
}

impl Config {
    fn told(&self) -> Result<Told, String> {
        let step = self.step_factor.map(Step::Factor);
        let step = step.or(self.step_bytes.map(Step::Bytes));
        Ok(Told {
            threads: self.nthreads,
            gpus: self.ngpus,
            min_bytes: self.minimum_bytes,
            max_bytes: self.maximum_bytes,
            step: step.ok_or("neither `step_factor` nor `step_bytes`")?,
            warmup: self.warmup_iters,
            iterations: self.iterations,
            ops_per_batch: self.aggregated_iterations,
            checks: self.validation,
            graph: self.graph,
            unalign: 0, // not in the file
        })
    }
}

impl Device {
    fn seat(self) -> Seat {
        Seat {
            rank: self.rank,
            group: self.group,
            pid: self.pid,
            host: self.hostname,
            device: self.ordinal,
            bus_id: self.bus_id,
            name: self.name,
        }
    }
}

impl Measured {
    fn read(self) -> Result<DataRow, String> {
        let dtype = self.dtype.parse();
        Ok(DataRow {
            line: 1,
            size: self.size,
            count: self.count,
            dtype: dtype.map_err(|_| format!("unknown type `{}`", self.dtype))?,
            redop: row::read_redop(self.redop.trim())?,
            root: row::read_root(&self.root)?,
            halves: [
                self.out_of_place.half(self.out_of_place_per_iter)?,
                self.in_place.half(self.in_place_per_iter)?,
            ],
            at: None,
            iterations: self.actual_iterations,
        })
    }
}

impl Figures {
    fn half(self, iterations: Option<Iterations>) -> Result<Half, String> {
        let time = self.time.or(self.cpu_time);
        let time_us = time.ok_or("a measurement without a time")?;
        Ok(Half {
            time_us,
            // a time of 0 makes them infinite there; here that is no bandwidth
            algbw: self.alg_bw.unwrap_or(0.0),
            busbw: self.bus_bw.unwrap_or(0.0),
            wrong: self.nwrong.map(row::round),
            per_iteration: iterations.map(|found| Box::new(found.record())),
        })
    }
}

impl Iterations {
    fn record(self) -> PerIteration {
        PerIteration {
            skipped: self.skipped,
            min_us: self.min_us,
            max_us: self.max_us,
            avg_us: self.avg_us,
            p50_us: self.p50_us,
            p95_us: self.p95_us,
            p99_us: self.p99_us,
            stdev_us: self.stdev_us,
            cv_pct: self.cv_pct,
            times_us: self.times_us,
            process_us: self.per_process_max_times_us,
        }
    }
}
