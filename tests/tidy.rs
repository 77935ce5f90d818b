//! Rules of the house that no compiler checks: floors, sizes, declarations, documents, licences.
//!
//! The rules on texts are in `tidy/rules.rs`, and `tidy/bad.rs` shows each of them failing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "tidy/bad.rs"]
mod bad;
#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/source.rs"]
mod source;

use ncclbench::{backend, base, collective, launcher, report};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Endings of what people write and read as code.
const CODE: &[&str] = &["rs", "cu", "cuh", "h", "hpp", "cpp", "cc", "py", "sh"];

/// Licences of everything that is built, tests included. A new one is a decision: read it first.
const LICENCES: &[&str] = &[
    "(MIT OR Apache-2.0) AND Unicode-3.0",
    "0BSD OR MIT OR Apache-2.0",
    "Apache-2.0",
    "Apache-2.0 / MIT",
    "Apache-2.0 OR BSL-1.0",
    "Apache-2.0 OR MIT",
    "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
    "Apache-2.0/MIT",
    "BSD-2-Clause OR Apache-2.0 OR MIT",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MIT OR Apache-2.0",
    "MIT OR Zlib OR Apache-2.0",
    "MIT/Apache-2.0",
    "Unlicense OR MIT",
    "Unlicense/MIT",
    "Zlib",
    "Zlib OR Apache-2.0 OR MIT",
];

/// Paths, from the root, of what is tracked or would be.
fn tracked() -> Vec<String> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(ROOT)
        .output()
        .expect("git runs: this test reads the list of tracked files");
    assert!(output.status.success(), "git ls-files failed in {ROOT}");
    let list = String::from_utf8(output.stdout).unwrap();
    let files = list.split_terminator('\0').map(str::to_owned);
    files
        .filter(|path| Path::new(ROOT).join(path).is_file())
        .collect()
}

fn read(path: &str) -> String {
    String::from_utf8_lossy(&fs::read(Path::new(ROOT).join(path)).unwrap()).into_owned()
}

/// Tracked files under one of `folders` that end in one of `endings`.
fn files(folders: &[&str], endings: &[&str]) -> Vec<String> {
    let all = tracked().into_iter();
    let found: Vec<String> = all
        .filter(|path| {
            folders
                .iter()
                .any(|folder| path.starts_with(&format!("{folder}/")))
        })
        .filter(|path| {
            endings
                .iter()
                .any(|end| path.rsplit('.').next() == Some(end))
        })
        .collect();
    assert!(
        !found.is_empty(),
        "no file under {folders:?}: the rule would check nothing"
    );
    found
}

fn check(files: &[String], rule: impl Fn(&str, &str) -> Vec<String>) {
    let complaints = files.iter().flat_map(|path| rule(path, &read(path)));
    refuse(complaints);
}

fn refuse(complaints: impl Iterator<Item = String>) {
    let complaints: Vec<String> = complaints.collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn every_import_goes_down() {
    check(&files(&["src"], &["rs"]), rules::floors);
}

#[test]
fn every_source_file_says_what_it_is_for() {
    check(
        &files(&["src", "tests", "benches"], &["rs"]),
        rules::opening,
    );
}

#[test]
fn no_file_is_over_the_limit() {
    check(
        &files(&["src", "kernels", "tests", "benches", ".ci"], CODE),
        rules::file_length,
    );
}

#[test]
fn no_function_is_over_the_limit() {
    check(
        &files(&["src", "kernels", "tests", "benches"], CODE),
        rules::function_length,
    );
}

#[test]
fn foreign_memory_is_touched_in_one_room_only() {
    check(
        &files(&["src", "tests", "benches"], &["rs"]),
        rules::unsafety,
    );
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    check(&tracked(), rules::machine_paths);
}

#[test]
fn every_source_file_is_declared_in_its_folder() {
    let sources = files(&["src"], &["rs"]);
    let mut complaints = Vec::new();
    for path in &sources {
        let (folder, file) = path.rsplit_once('/').unwrap();
        if matches!(file, "mod.rs" | "lib.rs" | "main.rs") {
            continue;
        }
        let parent = if folder == "src" {
            "src/lib.rs".to_owned()
        } else {
            format!("{folder}/mod.rs")
        };
        complaints.extend(declared_in(&parent, file.trim_end_matches(".rs")));
    }
    for folder in sources
        .iter()
        .filter_map(|path| path.strip_suffix("/mod.rs"))
    {
        let (above, name) = folder.rsplit_once('/').unwrap();
        let parent = if above == "src" {
            "src/lib.rs".to_owned()
        } else {
            format!("{above}/mod.rs")
        };
        complaints.extend(declared_in(&parent, name));
    }
    refuse(complaints.into_iter());
}

fn declared_in(parent: &str, name: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(ROOT).join(parent)).unwrap_or_default();
    rules::declared(parent, &text, &[name.to_owned()])
}

#[test]
fn every_room_has_a_floor_and_every_floor_its_room_in_the_documents() {
    let document = read("docs/ARCHITECTURE.md");
    let unlisted = rules::FLOORS.iter().filter(|(room, floor)| {
        !document.lines().any(|line| {
            line.starts_with(&format!("| {floor} |")) && line.contains(&format!("`{room}"))
        })
    });
    refuse(
        unlisted.map(|(room, floor)| format!("the code map has no row `{room}` on floor {floor}")),
    );
}

#[test]
fn every_entry_of_a_registry_has_its_line_in_the_documents() {
    let document = read("docs/ARCHITECTURE.md");
    let mut names: Vec<&str> = collective::ALL.iter().map(|entry| entry.name()).collect();
    names.extend(backend::ALL.iter().map(|entry| entry.name()));
    names.extend(launcher::ALL.iter().map(|entry| entry.name()));
    names.extend(report::ALL.iter().map(|entry| entry.name));
    names.extend(report::documents::ALL.iter().map(|entry| entry.name));
    names.extend(report::plot::ALL.iter().map(|entry| entry.name));
    let missing = names
        .iter()
        .filter(|name| rules::row_of(&document, name).is_none());
    refuse(missing.map(|name| format!("docs/ARCHITECTURE.md has no row for `{name}`")));
}

#[test]
fn every_dependency_says_in_the_documents_what_it_saves() {
    let (document, manifest) = (read("docs/ARCHITECTURE.md"), read("Cargo.toml"));
    let names = rules::dependencies(&manifest);
    assert!(names.len() > 5, "{names:?}");
    let missing = names
        .iter()
        .filter(|name| rules::row_of(&document, name).is_none());
    refuse(missing.map(|name| format!("docs/ARCHITECTURE.md has no row for `{name}`")));
}

#[test]
fn every_dependency_is_used() {
    let sources = files(&["src", "tests", "benches"], &["rs"]);
    let code: String = sources
        .iter()
        .map(|path| source::blanked(&read(path)))
        .collect();
    let unused = rules::dependencies(&read("Cargo.toml"))
        .into_iter()
        .filter(|name| !code.contains(&format!("{}::", name.replace('-', "_"))));
    refuse(unused.map(|name| format!("Cargo.toml: nothing uses `{name}`")));
}

#[test]
fn every_kind_of_fault_has_its_row_in_the_table_of_exit_codes() {
    let document = read("docs/ARCHITECTURE.md");
    let kinds = base::Kind::ALL.iter();
    refuse(kinds.filter_map(|kind| {
        rules::exit_code_row(&document, &format!("{kind:?}"), kind.exit_code())
    }));
}

#[test]
fn licences_are_those_that_were_read() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--all-features",
            "--filter-platform=x86_64-unknown-linux-gnu",
        ])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found: BTreeSet<&str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| package["license"].as_str().unwrap_or("none given"))
        .collect();
    assert_eq!(found, LICENCES.iter().copied().collect());
}
