//! Plots and a report of a thousand stored runs of sixty rows: wall time and most memory of each command.
//!
//! `cargo bench --bench pictures -- [REPEATS [RUNS]]` (5 and 1000) writes simulated runs into a folder of
//! its own, starts the program for each command, and prints the median, least and most of the repeats.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails by panicking, prints what it measured and reads the clock"
)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ncclbench");

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let number = |at: usize, usual: usize| args.get(at).map_or(usual, |text| text.parse().unwrap());
    let (repeats, runs) = (number(0, 5), number(1, 1000));
    let folder = tempfile::tempdir().unwrap();
    let bytes = fill(folder.path(), runs);
    println!(
        "{runs} runs of 60 rows, {:.1} MiB; {repeats} repeats",
        mebibytes(bytes)
    );
    println!(
        "{:<34} {:>24} {:>10}",
        "command", "s: median (least-most)", "most MiB"
    );
    let many = folder.path().to_str().unwrap().to_owned();
    let out = folder.path().join("out");
    for words in [
        ["plot", "--kind", "history", "--size", "16M", "-o", "svg"].as_slice(),
        &["plot", "--kind", "history", "--size", "16M", "-o", "png"],
        &["report", "-o", "html"],
        &["report", "-o", "prom"],
        &["report", "-o", "csv"],
    ] {
        let (ending, options) = words.split_last().unwrap();
        let file = out.with_extension(ending);
        let measured: Vec<(Duration, u64)> =
            (0..repeats).map(|_| once(options, &file, &many)).collect();
        line(&words.join(" "), measured);
    }
}

/// One simulated run of 60 rows, again and again with other times and another day.
fn fill(folder: &Path, runs: usize) -> u64 {
    let first = folder.join("first.jsonl");
    let made = Command::new(PROGRAM)
        .args([
            "allreduce",
            "--backend",
            "sim",
            "-g",
            "8",
            "-b",
            "8",
            "-e",
            "4G",
            "--output",
        ])
        .arg(&first)
        .output()
        .unwrap();
    assert!(made.status.success());
    let text = fs::read_to_string(&first).unwrap();
    fs::remove_file(&first).unwrap();
    let rows = text
        .lines()
        .filter(|line| line.contains("\"line\":\"row\""))
        .count();
    assert_eq!(rows, 60);
    let started = text
        .split("\"started\":\"")
        .nth(1)
        .unwrap()
        .get(..10)
        .unwrap();
    for index in 0..runs {
        let day = format!(
            "{}-{:02}-{:02}",
            2020 + index / 336,
            index / 28 % 12 + 1,
            index % 28 + 1
        );
        fs::write(
            folder.join(format!("run-{index:05}.jsonl")),
            text.replace(started, &day),
        )
        .unwrap();
    }
    (text.len() * runs) as u64
}

/// Wall time, and the most memory that the process was seen to hold.
fn once(options: &[&str], file: &Path, runs: &str) -> (Duration, u64) {
    let start = Instant::now();
    let mut child = Command::new(PROGRAM)
        .args(options)
        .arg(file)
        .arg(runs)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut most = 0;
    loop {
        most = most.max(memory(&child));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{options:?}");
            return (start.elapsed(), most);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What the kernel counts as the most so far, in bytes; 0 once the process is gone.
fn memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| {
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    })
}

fn line(name: &str, mut measured: Vec<(Duration, u64)>) {
    measured.sort();
    let seconds = |at: usize| measured[at].0.as_secs_f64();
    let most = measured.iter().map(|(_, bytes)| *bytes).max().unwrap();
    let (middle, last) = (measured.len() / 2, measured.len() - 1);
    let text = format!(
        "{:.2} ({:.2}-{:.2})",
        seconds(middle),
        seconds(0),
        seconds(last)
    );
    println!("{name:<34} {text:>24} {:>10.0}", mebibytes(most));
}

#[expect(clippy::cast_precision_loss, reason = "a size for people")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
