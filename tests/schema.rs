//! `docs/record.schema.json` against what the program writes, and old files against the reader.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "schema/validator.rs"]
mod validator;

use ncclbench::record::{Run, SCHEMA};
use ncclbench::store;
use serde_json::{Value, json};
use std::process::Command;
use validator::{complaints, unknown_words};

fn schema() -> Value {
    serde_json::from_str(include_str!("../docs/record.schema.json")).unwrap()
}

/// What a run writes, line by line.
fn lines(options: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(assert_cmd::cargo::cargo_bin!("ncclbench"))
        .args(options.split_whitespace())
        .args(["--output", "run.jsonl"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(folder.path().join("run.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_line_that_is_written_is_as_the_schema_says() {
    for options in [
        "allreduce --backend host -g 3 -b 8 -e 64K -f 8",
        "alltoallv --backend host -g 2 -t 2 -b 1K -e 4K -n 3 -c 0",
        "reduce --backend sim -g 4 -b 8 -e 1M -r all -o all -d all -f 32 -n 2",
        "hypercube --backend sim -g 4 -b 8 -e 8 -J table.json",
    ] {
        let lines = lines(options);
        assert!(lines.len() > 2);
        for line in &lines {
            let found = complaints(&schema(), line);
            assert!(found.is_empty(), "{options}\n{}\n{line}", found.join("\n"));
        }
    }
}

#[test]
fn what_a_sweep_keeps_is_as_the_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let config = "name = \"small\"\n[[part]]\ncollectives = [\"allreduce\"]\nsizes = [\"8\", \"64K\"]\n\
        iters = 5\n[[gate.floor]]\ncollective = \"allreduce\"\nsize = \"64K\"\ntime = 1e9\n";
    std::fs::write(folder.path().join("small.toml"), config).unwrap();
    let output = Command::new(assert_cmd::cargo::cargo_bin!("ncclbench"))
        .args([
            "sweep",
            "small.toml",
            "--backend",
            "host",
            "-g",
            "2",
            "--store",
            "kept",
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let runs = store::Store::at(folder.path().join("kept")).runs().unwrap();
    assert_eq!(runs.len(), 1);
    for line in std::fs::read_to_string(&runs[0].path).unwrap().lines() {
        let found = complaints(&schema(), &serde_json::from_str(line).unwrap());
        assert!(found.is_empty(), "{}\n{line}", found.join("\n"));
    }
    assert!(runs[0].read().unwrap().launch.cut_short.is_none());
}

#[test]
fn stored_measurements_are_as_the_schema_says_and_can_be_read() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/results");
    let runs = store::Store::at(root).runs().unwrap();
    assert!(!runs.is_empty());
    for run in runs {
        let bytes = std::fs::read(&run.path).unwrap();
        let whole = Run::read(&bytes).unwrap();
        assert!(!run.read().unwrap().launch.rows.is_empty() || whole.rows.is_empty());
        for line in String::from_utf8(bytes).unwrap().lines() {
            let found = complaints(&schema(), &serde_json::from_str(line).unwrap());
            assert!(
                found.is_empty(),
                "{}: {}",
                run.path.display(),
                found.join("\n")
            );
        }
    }
}

#[test]
fn a_file_of_the_first_version_of_schema_1_stays_readable() {
    let bytes = include_bytes!("schema/first.jsonl");
    let run = Run::read(bytes).unwrap();
    assert_eq!((run.header.schema, run.rows.len()), (1, 4));
    assert!(run.footer.is_some() && run.header.seed.is_none() && run.header.call.is_none());
    let brief = store::read_brief("first", bytes).unwrap();
    assert_eq!((brief.launch.rows.len(), brief.launch.cut_short), (4, None));
}

#[test]
fn the_schema_is_of_the_schema_number_that_is_written() {
    let stated = &schema()["$defs"]["header"]["properties"]["schema"];
    assert_eq!(stated["maximum"], SCHEMA);
}

#[test]
fn what_is_not_as_the_schema_says_is_named() {
    assert!(
        unknown_words(&schema()).is_empty(),
        "{:?}",
        unknown_words(&schema())
    );
    let line = lines("allreduce --backend sim -g 2 -b 8 -e 8").remove(1);
    assert!(complaints(&schema(), &line).is_empty());
    for (field, value, words) in [
        (
            "placement",
            json!("in place"),
            "placement: in place is none of",
        ),
        ("bus_factor", json!(null), "bus_factor: is no number"),
        ("requested", json!(-1), "requested: -1 is below 0"),
        ("surplus", json!(1), "surplus: is not in the schema"),
        ("line", json!("rows"), "none of"),
        ("time", json!({"mean_us": 1.0}), "time: lacks min_us"),
    ] {
        let mut wrong = line.clone();
        wrong[field] = value;
        let found = complaints(&schema(), &wrong).join("\n");
        assert!(found.contains(words), "{field}: {found}");
    }
}
