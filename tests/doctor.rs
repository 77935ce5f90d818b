//! `ncclbench doctor` on machines that are written down: what each check sees, what it says, and that
//! nothing else is complained about.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "doctor/machine.rs"]
mod machine;
#[path = "doctor/program.rs"]
mod program;

use machine::Machine;
use ncclbench::doctor;
use ncclbench::doctor::Scene;
use ncclbench::doctor::page;
use ncclbench::record::Finding;
use ncclbench::record::Health;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

/// Everything that is found under a root.
fn found(root: &Path) -> Vec<Finding> {
    let scene = Scene::under(root.to_owned(), 1).unwrap();
    doctor::examine(doctor::ALL, &scene, true)
}

/// A machine without a base, written down.
fn built(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    Machine::read(name).build(&root);
    (folder, root)
}

fn told(all: &[&Finding]) -> String {
    let one = |one: &&Finding| {
        format!(
            "{} {}: {}\n",
            one.health,
            one.check,
            one.evidence.join("; ")
        )
    };
    all.iter().map(one).collect()
}

#[test]
fn nothing_is_wrong_with_a_healthy_machine_and_nothing_is_unknown() {
    for name in ["healthy", "infiniband"] {
        let (_folder, root) = built(name);
        let all = found(&root);
        let wrong: Vec<&Finding> = all.iter().filter(|one| one.health > Health::Ok).collect();
        assert!(wrong.is_empty(), "{name}:\n{}", told(&wrong));
        let looked = all.iter().filter(|one| one.health == Health::Ok).count();
        assert!(looked > 30, "{name}: {looked}");
    }
}

#[test]
fn each_fault_is_seen_by_its_check_and_by_no_other() {
    for base in ["healthy", "infiniband"] {
        let (_folder, root) = built(base);
        let before = found(&root);
        for name in machine::names() {
            let machine = Machine::read(&name);
            if machine.base == base {
                machine.with(&root, || seen(&name, &machine, &before, &found(&root)));
            }
        }
        assert_eq!(found(&root), before, "{base} was not put back");
    }
}

/// Fails unless the check that is meant to see it does, and the others see what they saw before.
fn seen(name: &str, machine: &Machine, before: &[Finding], now: &[Finding]) {
    let one = now.iter().find(|one| one.check == machine.check);
    let one = one.unwrap_or_else(|| panic!("{name}: no check `{}`", machine.check));
    let shown = told(&[one]);
    assert_eq!(one.health.words(), machine.health, "{name}: {shown}");
    let says = &machine.says;
    assert!(!says.is_empty() && shown.contains(says), "{name}: {shown}");
    let others = before.iter().zip(now).filter(|(before, now)| {
        let is_meant = now.check == machine.check || machine.also.contains(&now.check);
        !is_meant && before.health != now.health
    });
    let others: Vec<&Finding> = others.map(|(_, now)| now).collect();
    assert!(others.is_empty(), "{name}:\n{}", told(&others));
}

#[test]
fn every_check_has_a_machine_that_it_complains_about() {
    let all = machine::names();
    let machines = all.iter().map(|name| Machine::read(name));
    let seen: BTreeSet<String> = machines
        .filter(|one| ["warning", "failure"].contains(&one.health.as_str()))
        .map(|one| one.check)
        .collect();
    // these say what kind of machine it is, and only differences between hosts are odd
    let never = ["machine"];
    let without: Vec<&str> = doctor::ALL
        .iter()
        .map(|check| check.name)
        .filter(|name| !seen.contains(*name) && !never.contains(name))
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn the_page_of_the_checks_is_what_they_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/doctor.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page::page(),
        "docs/doctor.md is stale: write it anew with `ncclbench doctor --explain > docs/doctor.md`"
    );
}
