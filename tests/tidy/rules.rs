//! The rules that can be seen in a text alone: each takes a path and a text and returns complaints.

use super::source::{Word, blanked, closing, cxx_functions, rust_functions, words};

/// Which floor each room stands on; `docs/ARCHITECTURE.md` explains the house.
pub(crate) const FLOORS: &[(&str, u32)] = &[
    ("base", 0),
    ("record", 1),
    ("ops", 1),
    ("collective", 2),
    ("ffi", 2),
    ("bootstrap", 2),
    ("digest", 2),
    ("report", 2),
    ("baseline", 2),
    ("path", 2),
    ("hunt", 2),
    ("launcher", 3),
    ("backend", 3),
    ("probe", 3),
    ("plan", 3),
    ("store", 3),
    ("import", 3),
    ("engine", 4),
    ("doctor", 4),
    ("cli", 5),
    ("app", 6),
    ("main", 6),
];

pub(crate) const MOST_LINES: usize = 400;
pub(crate) const MOST_FUNCTION_LINES: usize = 60;

fn floor(room: &str) -> Option<u32> {
    FLOORS
        .iter()
        .find_map(|&(name, floor)| (name == room).then_some(floor))
}

/// The modules that lead to a file: `src/base/units.rs` is `base`, `units`.
fn module_path(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let inner = inner.trim_end_matches("/mod");
    inner.split('/').map(str::to_owned).collect()
}

/// Complains where a file reaches a room that is not below its own, or says so in a way that hides it.
pub(crate) fn floors(path: &str, text: &str) -> Vec<String> {
    let file = module_path(path);
    let room = file[0].as_str();
    if room == "lib" {
        return Vec::new();
    }
    let Some(own) = floor(room) else {
        return vec![format!("{path}: room `{room}` has no floor in the table")];
    };
    let words = words(&blanked(text));
    let complaint = |(line, there): (usize, String)| {
        let why = match floor(&there) {
            _ if there == room => return None,
            Some(floor) if floor < own => return None,
            Some(floor) => format!("is on floor {floor}, `{room}` on {own}"),
            None => "is not a room: one room a path, by its name".to_owned(),
        };
        Some(format!("{path}:{line}: `{there}` {why}"))
    };
    reached(&words, &file)
        .into_iter()
        .filter_map(complaint)
        .collect()
}

/// What every path that passes through the crate's root names there, with its line.
fn reached(words: &[Word], file: &[String]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inner: Vec<usize> = Vec::new(); // where each inline module that is open ends
    let mut at = 0;
    while at < words.len() {
        inner.retain(|&end| end > at);
        if words[at].text == "mod" && text_at(words, at + 2) == "{" {
            inner.push(closing(words, at + 2));
        }
        let depth = file.len() + inner.len();
        let (after, ups) = match words[at].text.as_str() {
            "crate" => (at + 1, depth),
            "super" => supers(words, at),
            _ => (at + 1, 0),
        };
        if ups >= depth && !is_visibility(words, at) {
            let there = text_at(words, after + 1).to_owned();
            let named = text_at(words, after) == "::";
            found.push((
                words[at].line,
                if named { there } else { "crate".to_owned() },
            ));
        }
        at = after;
    }
    found
}

/// Where a chain `super::super` ends, and how many there are in it.
fn supers(words: &[Word], at: usize) -> (usize, usize) {
    let (mut after, mut ups) = (at + 1, 1);
    while text_at(words, after) == "::" && text_at(words, after + 1) == "super" {
        (after, ups) = (after + 2, ups + 1);
    }
    (after, ups)
}

fn text_at(words: &[Word], at: usize) -> &str {
    words.get(at).map_or("", |word| &word.text)
}

/// `pub(crate)` and `pub(super)` name nothing.
fn is_visibility(words: &[Word], at: usize) -> bool {
    at > 1
        && words[at - 2].text == "pub"
        && words[at - 1].text == "("
        && text_at(words, at + 1) == ")"
}

/// Complains where a file does not begin with what it is for.
pub(crate) fn opening(path: &str, text: &str) -> Vec<String> {
    let said = text
        .strip_prefix("//!")
        .is_some_and(|rest| !rest.trim_start_matches(' ').starts_with('\n'));
    if said {
        Vec::new()
    } else {
        vec![format!(
            "{path}: does not open with `//!` and what it is for"
        )]
    }
}

/// Complains about a long file.
pub(crate) fn file_length(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    if lines <= MOST_LINES {
        return Vec::new();
    }
    vec![format!("{path}: {lines} lines; at most {MOST_LINES}")]
}

/// Complains about long functions of Rust, CUDA and C++.
pub(crate) fn function_length(path: &str, text: &str) -> Vec<String> {
    let words = words(&blanked(text));
    let functions = match path.rsplit('.').next() {
        Some("rs") => rust_functions(&words),
        Some("cu" | "cuh" | "h" | "hpp" | "cpp" | "cc") => cxx_functions(&words),
        _ => Vec::new(),
    };
    let length = |f: &super::source::Function| f.last - f.first + 1;
    functions
        .iter()
        .filter(|f| length(f) > MOST_FUNCTION_LINES)
        .map(|f| {
            format!(
                "{path}:{}: `{}` has {} lines; at most {MOST_FUNCTION_LINES}",
                f.first,
                f.name,
                length(f)
            )
        })
        .collect()
}

/// Complains about `unsafe` outside the room for it.
pub(crate) fn unsafety(path: &str, text: &str) -> Vec<String> {
    if path.starts_with("src/ffi/") || path.starts_with("tests/stand-ins/") {
        return Vec::new();
    }
    words(&blanked(text))
        .iter()
        .filter(|word| word.text == "unsafe")
        .map(|word| format!("{path}:{}: `unsafe` outside src/ffi", word.line))
        .collect()
}

/// Complains where a folder's `mod.rs` does not declare a file or folder that lies beside it.
pub(crate) fn declared(mod_path: &str, mod_text: &str, neighbours: &[String]) -> Vec<String> {
    let words = words(&blanked(mod_text));
    let is_declared = |name: &str| {
        words
            .windows(3)
            .any(|w| w[0].text == "mod" && w[1].text == name && w[2].text == ";")
    };
    neighbours
        .iter()
        .filter(|name| !is_declared(name))
        .map(|name| format!("{mod_path}: does not declare `{name}`, so that nobody compiles it"))
        .collect()
}

/// Folders of one person's machine; in pieces, so that this file may be scanned too.
const PRIVATE: [&str; 3] = [
    concat!("/", "root/"),
    concat!("/", "work/"),
    concat!("/", "home/"),
];

/// Complains about paths that exist on one machine only.
pub(crate) fn machine_paths(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for private in PRIVATE {
            for (at, _) in line.match_indices(private) {
                let before = line[..at].chars().next_back();
                let starts = before.is_none_or(|c| !c.is_alphanumeric() && !"_.-}".contains(c));
                let goes_on = line[at + private.len()..]
                    .starts_with(|c: char| c.is_alphanumeric() || "._".contains(c));
                if starts && goes_on {
                    found.push(format!("{path}:{}: a path of one machine", index + 1));
                }
            }
        }
    }
    found
}

/// Whether a table of a document has a row for `name`: a line that opens with it as code.
pub(crate) fn row_of<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let opening = format!("| `{name}` |");
    document.lines().find(|line| line.starts_with(&opening))
}

/// Complains where the exit-code table lacks a kind of fault or gives it another code.
pub(crate) fn exit_code_row(document: &str, kind: &str, code: u8) -> Option<String> {
    match row_of(document, kind) {
        None => Some(format!("no row for `{kind}`")),
        Some(row) if row.split('|').nth(2).map(str::trim) == Some(&code.to_string()) => None,
        Some(row) => Some(format!("`{kind}` exits with {code}, the table says: {row}")),
    }
}

/// The names in the tables of dependencies of a manifest.
pub(crate) fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_end().ends_with("dependencies]");
        } else if let (true, Some((name, _))) = (inside, line.split_once('=')) {
            names.push(name.trim().to_owned());
        }
    }
    names
}
