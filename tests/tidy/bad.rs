//! Each rule against texts that it must refuse and texts that it must not: a rule that cannot fail
//! guards nothing.

use super::rules::{
    declared, dependencies, exit_code_row, file_length, floors, function_length, machine_paths,
    opening, unsafety,
};
use super::source::blanked;

fn refused(complaints: &[String]) -> bool {
    !complaints.is_empty()
}

#[test]
fn an_import_upward_is_refused_in_every_spelling() {
    for text in [
        "use crate::engine::Engine;\n",
        "fn f() { let x = crate::app::run(); }\n",
        "use super::super::cli::Args;\n",
        "pub use crate::digest;\n",
        "use crate::{base, app};\n",
        "use crate::*;\n",
        "use crate as everything;\n",
        "mod tests { use super::super::super::plan::jobs; }\n",
        "macro_rules! m { () => { $crate::engine::f() }; }\n",
    ] {
        assert!(refused(&floors("src/report/table.rs", text)), "{text}");
    }
}

#[test]
fn rooms_of_one_floor_do_not_know_each_other() {
    assert!(refused(&floors(
        "src/backend/host.rs",
        "use crate::launcher::ALL;\n"
    )));
    assert!(refused(&floors("src/ops.rs", "use super::record::Case;\n")));
}

#[test]
fn a_room_that_the_table_does_not_know_is_refused() {
    assert!(refused(&floors("src/attic/mod.rs", "\n")));
    assert!(refused(&floors(
        "src/app/mod.rs",
        "use crate::attic::Box;\n"
    )));
}

#[test]
fn downward_and_within_the_room_is_allowed() {
    for text in [
        "use crate::base::{Bytes, Fault};\n",
        "use crate::report::Report;\nuse super::Report;\n",
        "//! see [`crate::engine`]\n/// and `crate::app`\nconst S: &str = \"crate::app\";\n",
        "mod tests { use super::*; use super::super::Report; }\n",
        "pub(crate) fn f() {}\npub(super) fn g() {}\n",
        "mod inner { fn f() { super::super::draw(); } }\nuse super::draw;\n",
    ] {
        let complaints = floors("src/report/table.rs", text);
        assert!(!refused(&complaints), "{text}: {complaints:?}");
    }
}

#[test]
fn comments_and_literals_are_not_code() {
    let text =
        "a /* b /* c */ d */ e // f\n\"g \\\" h\" r#\"i \" j\"# 'k' '\\'' l<'m> b\"n\" br\"o\"";
    let code = blanked(text);
    let left: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(left, ["a", "e", "l<'m>", "b", "b"], "{code}");
    assert_eq!(code.lines().count(), text.lines().count());
}

#[test]
fn a_file_that_does_not_say_what_it_is_for_is_refused() {
    assert!(refused(&opening("src/a.rs", "use std::fmt;\n")));
    assert!(refused(&opening("src/a.rs", "//!\n")));
    assert!(!refused(&opening("src/a.rs", "//! Draws.\n")));
}

#[test]
fn a_file_of_401_lines_is_refused_and_one_of_400_is_not() {
    assert!(refused(&file_length("src/a.rs", &"x\n".repeat(401))));
    assert!(!refused(&file_length("src/a.rs", &"x\n".repeat(400))));
}

#[test]
fn a_function_of_61_lines_is_refused_in_rust_and_in_cuda() {
    let rust = |lines: usize| {
        format!(
            "trait T {{ fn g(a: [u8; 4]); }}\nimpl T for X {{\nfn f() {{\n{}}}\n}}\n",
            "x();\n".repeat(lines - 2)
        )
    };
    assert!(refused(&function_length("src/a.rs", &rust(61))));
    assert!(!refused(&function_length("src/a.rs", &rust(60))));
    let cuda = |lines: usize| {
        format!(
            "namespace n {{\n__global__ void f(int a) {{\n{}}}\n}}\n",
            "if (a) { x(); }\n".repeat(lines - 2)
        )
    };
    assert!(refused(&function_length("kernels/a.cu", &cuda(61))));
    assert!(!refused(&function_length("kernels/a.cu", &cuda(60))));
}

#[test]
fn a_file_that_nobody_declares_is_refused() {
    let files = ["table".to_owned(), "json".to_owned()];
    let complaints = declared(
        "src/report/mod.rs",
        "//! mod json;\npub mod table;\n// mod json;\n",
        &files,
    );
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].contains("`json`"), "{complaints:?}");
}

#[test]
fn unsafe_is_refused_outside_its_room() {
    let text = "fn f() { unsafe { g() } }\n";
    assert!(refused(&unsafety("src/backend/host.rs", text)));
    assert!(!refused(&unsafety("src/ffi/shm.rs", text)));
    assert!(!refused(&unsafety(
        "src/base/env.rs",
        "// unsafe\n#![deny(unsafe_code)]\n"
    )));
}

#[test]
fn a_path_of_one_machine_is_refused() {
    for path in ["root", "work", "home"].map(|folder| format!("see /{folder}/someone/x")) {
        assert!(refused(&machine_paths("docs/a.md", &path)), "{path}");
    }
    assert!(!refused(&machine_paths(
        "docs/a.md",
        "target/work/x https://example.org/root/x"
    )));
}

#[test]
fn a_fault_without_its_row_or_with_another_code_is_refused() {
    let table = "| kind | exit |\n| `Usage` | 2 | text |\n";
    assert_eq!(exit_code_row(table, "Usage", 2), None);
    assert!(exit_code_row(table, "Usage", 3).is_some());
    assert!(exit_code_row(table, "Peer", 4).is_some());
}

#[test]
fn dependencies_are_read_from_every_table_of_them_and_from_no_other() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\n\n[dev-dependencies]\nb-c = { version = \"1\" }\n[profile.dev]\nd = 1\n";
    assert_eq!(dependencies(manifest), ["a", "b-c"]);
}
