//! Documents that users act on: every launcher has its section, and every message that they are
//! told to look for is one that the program can print.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ncclbench::launcher;
use std::fs;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// All Rust sources, one after another.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

fn launch() -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/launch.md")).unwrap()
}

/// The pieces of every message in the document's tables, without what differs from run to run.
fn pieces(document: &str) -> Vec<&str> {
    let rows = document
        .lines()
        .filter_map(|line| line.strip_prefix("| ``"));
    let messages = rows.filter_map(|row| row.split("``").next());
    let pieces = messages.flat_map(|message| message.split('…'));
    pieces
        .map(str::trim)
        .filter(|piece| piece.len() > 3)
        .collect()
}

#[test]
fn every_message_that_users_are_told_to_look_for_can_be_printed() {
    let (document, sources) = (launch(), sources(&Path::new(ROOT).join("src")));
    let pieces = pieces(&document);
    assert!(pieces.len() > 20, "{pieces:?}");
    let unknown: Vec<_> = pieces
        .into_iter()
        .filter(|piece| !sources.contains(piece))
        .collect();
    assert!(unknown.is_empty(), "no source says {unknown:?}");
}

#[test]
fn a_message_is_cut_where_it_differs_from_run_to_run() {
    let row = "| ``… ranks met at …; missing: …`` | why | what |\n| `x` | | |";
    assert_eq!(pieces(row), ["ranks met at", "; missing:"]);
}

#[test]
fn every_launcher_has_its_section() {
    let document = launch();
    for launcher in launcher::ALL {
        let heading = format!("### `{}`: ", launcher.name());
        let sections = document.matches(&heading).count();
        assert_eq!(sections, 1, "{heading}");
    }
}
