//! How long it takes to compare with, draw and report a thousand stored runs of 60 rows, and how much
//! memory: asked for are 2 s and 200 MB.
//!
//! `cargo bench --bench stored_runs [RUNS]`; it runs the program itself, `compare` first, then `plot`
//! and `report` of its verdict.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a bench prints, reads the clock, and fails by panicking"
)]

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ncclbench");

fn main() {
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let n: usize = words
        .next()
        .map_or(1000, |word| word.parse().expect("a number of runs"));
    let folder = tempfile::tempdir().expect("a folder");
    let n_rows = fill(folder.path(), n);
    let accept: Vec<String> = (0..5).map(|index| format!("run-{index:04}")).collect();
    let mut line = vec!["baseline", "accept", "--name", "n", "--reason", "r"];
    line.extend(accept.iter().map(String::as_str));
    call(folder.path(), &line, None);
    println!("# {n} stored runs of {n_rows} rows");
    let last: Vec<String> = (n - 5..n).map(|index| format!("run-{index:04}")).collect();
    let mut line = vec!["compare", "--json"];
    line.extend(last.iter().map(String::as_str));
    call(folder.path(), &line, Some("verdict.json"));
    let run = format!("results/run-{:04}.jsonl", n - 1);
    call(
        folder.path(),
        &["plot", "--verdict", "verdict.json", &run],
        Some("plot.svg"),
    );
    call(
        folder.path(),
        &[
            "report",
            "--verdict",
            "verdict.json",
            "--format",
            "html",
            &run,
        ],
        Some("night.html"),
    );
}

/// Writes runs of one fingerprint that differ in their moment and a little in their times; gives rows of each.
fn fill(folder: &Path, n: usize) -> usize {
    let model = folder.join("model.jsonl");
    let line = "allreduce --backend sim -g 8 -b 8 -e 4G -f 2 --output model.jsonl";
    let status = Command::new(PROGRAM)
        .args(line.split(' '))
        .current_dir(folder)
        .output()
        .expect("the program runs");
    assert!(status.status.success(), "{status:?}");
    let text = std::fs::read_to_string(&model).expect("the run");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    std::fs::remove_file(model).expect("the run");
    std::fs::create_dir(folder.join("results")).expect("a folder");
    for index in 0..n {
        let factor = 1.0 + f64::from(u32::try_from(index * 7919 % 100).expect("small")) / 5000.0;
        let text: String = lines
            .iter()
            .map(|line| changed(line, index, factor))
            .collect();
        let path = folder.join(format!("results/run-{index:04}.jsonl"));
        std::fs::write(path, text).expect("a run");
    }
    lines.len() - 2
}

fn changed(line: &Value, index: usize, factor: f64) -> String {
    let mut line = line.clone();
    if line["line"] == "header" {
        let (day, hour) = (index / 24, index % 24);
        let (month, day) = (1 + day / 28, 1 + day % 28);
        line["started"] = format!("2026-{month:02}-{day:02}T{hour:02}:00:00.000Z").into();
    }
    for field in ["mean_us", "min_us", "max_us", "rank0_us"] {
        if let Some(time) = line["time"][field].as_f64() {
            line["time"][field] = (time * factor).into();
        }
    }
    line.to_string() + "\n"
}

/// Runs the program under `/usr/bin/time`, which knows the most memory that it had.
fn call(folder: &Path, line: &[&str], output: Option<&str>) {
    let start = Instant::now();
    let called = Command::new("/usr/bin/time")
        .args(["-f", "%M", PROGRAM])
        .args(line)
        .current_dir(folder)
        .output()
        .expect("/usr/bin/time is installed");
    let took = start.elapsed();
    let said = String::from_utf8_lossy(&called.stderr);
    let kib: f64 = said
        .lines()
        .last()
        .and_then(|line| line.trim().parse().ok())
        .unwrap_or(f64::NAN);
    if let Some(name) = output {
        std::fs::write(folder.join(name), &called.stdout).expect("a file");
    }
    let code = called.status.code().unwrap_or(-1);
    println!(
        "{:<10} {:>7.3} s  {:>7.1} MB  exit {code}  {} bytes",
        line[0],
        took.as_secs_f64(),
        kib / 1e3 * 1.024,
        called.stdout.len()
    );
    assert!([0, 1, 7].contains(&code), "{said}");
}
