//! The gallery holds what the commands beside its pictures make.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use assert_cmd::cargo::CommandCargoExt as _;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The words of a command of the README; only single quotes are used there.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| -> Vec<&str> {
        if index % 2 == 1 {
            vec![part]
        } else {
            part.split_whitespace().collect()
        }
    });
    words.map(str::to_owned).collect()
}

#[test]
fn every_file_is_what_its_command_makes() {
    let folder = tempfile::tempdir().unwrap();
    let readme = fs::read_to_string(Path::new(ROOT).join("docs/gallery/README.md")).unwrap();
    let commands: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("ncclbench "))
        .collect();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        let mut words = words(command);
        let kept = words.pop().unwrap();
        let name = Path::new(&kept).file_name().unwrap();
        let made = folder.path().join(name);
        let mut program = Command::cargo_bin("ncclbench").unwrap();
        let output = program
            .args(&words)
            .arg(&made)
            .current_dir(ROOT)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let kept =
            fs::read(Path::new(ROOT).join(&kept)).unwrap_or_else(|error| panic!("{kept}: {error}"));
        assert!(
            fs::read(&made).unwrap() == kept,
            "{name:?} differs; look at it and run docs/gallery/make.sh"
        );
    }
}

#[test]
fn every_picture_is_shown_and_every_file_is_made() {
    let folder = Path::new(ROOT).join("docs/gallery");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_source = matches!(name.as_str(), "README.md" | "make.sh" | "published.csv");
        assert!(
            is_source || readme.contains(&format!("-o docs/gallery/{name}")),
            "nothing makes {name}"
        );
        let extension = Path::new(&name).extension().and_then(OsStr::to_str);
        let is_picture = matches!(extension, Some("svg" | "png"));
        assert!(
            !is_picture || readme.contains(&format!("]({name})")),
            "{name} is not shown"
        );
    }
}
