//! `ncclbench pingpong` with real processes: by a backend, and refused where it cannot be.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "common/stand_ins.rs"]
mod stand_ins;

use std::path::Path;
use std::process::Command;
use std::process::Output;

fn pingpong(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncclbench"));
    command.env_clear().arg("pingpong").args(args);
    command
}

fn told(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(err)
}

/// The words of each row.
fn rows(output: &Output) -> Vec<Vec<String>> {
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let words = |row: &str| row.split_whitespace().map(str::to_owned).collect();
    rows.map(words).collect()
}

/// Fails unless there is a row for each size, in the order of its percentiles, with nothing wrong.
fn expect_good(output: &Output, sizes: &[&str]) {
    assert_eq!(output.status.code(), Some(0), "{}", told(output));
    let rows = rows(output);
    let found: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(found, sizes, "{}", told(output));
    for row in rows {
        let number = |at: usize| row[at].parse::<f64>().unwrap();
        let [middle, late, most] = [number(2), number(3), number(4)];
        assert!(number(1) > 0.0 && middle <= late && late <= most, "{row:?}");
        assert!(number(5) >= 0.0 && row[6] == "0", "{row:?}");
    }
}

#[test]
fn messages_in_host_memory_are_timed_and_right() {
    let args = [
        "--backend",
        "host",
        "--spawn",
        "2",
        "-b",
        "1",
        "-e",
        "49",
        "-f",
        "7",
        "-n",
        "20",
        "-w",
        "2",
    ];
    expect_good(&pingpong(&args).output().unwrap(), &["1", "7", "49"]);
}

#[test]
fn messages_by_a_library_like_nccl_are_timed_and_right() {
    let library = stand_ins::library("libcuda.so.1");
    let args = [
        "--backend",
        "nccl",
        "--spawn",
        "2",
        "-b",
        "8",
        "-e",
        "1K",
        "-f",
        "128",
        "-n",
        "5",
        "-w",
        "1",
    ];
    let mut command = pingpong(&args);
    command.env("LD_LIBRARY_PATH", Path::new(&library).parent().unwrap());
    expect_good(&command.output().unwrap(), &["8", "1024"]);
}

#[test]
fn three_processes_are_no_pair_and_a_program_that_is_not_there_is_named() {
    let three = pingpong(&["--backend", "host", "--spawn", "3"])
        .output()
        .unwrap();
    assert_eq!(three.status.code(), Some(3), "{}", told(&three));
    assert!(
        told(&three).contains("is for 2 processes; 3 were started"),
        "{}",
        told(&three)
    );
    let mut command = pingpong(&["--provider", "tcp", "--spawn", "2"]);
    let none = command.env("PATH", "/nowhere").output().unwrap();
    assert_eq!(none.status.code(), Some(3), "{}", told(&none));
    assert!(
        told(&none).contains("`fi_pingpong` is neither on `PATH`"),
        "{}",
        told(&none)
    );
}
