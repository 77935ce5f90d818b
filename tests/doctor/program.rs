//! The program on machines that are written down: what it prints, keeps, compares and exits with.

use super::built;
use super::machine::Machine;
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;

/// The program with no launcher's variables.
fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncclbench"));
    command.env_clear().arg("doctor").args(args);
    command.stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_healthy_machine_is_good_and_a_rank_with_one_core_is_not() {
    let (_folder, root) = built("healthy");
    let path = root.to_str().unwrap();
    let good = run(&["--root", path]);
    assert_eq!(good.status.code(), Some(0), "{}", out(&good));
    assert!(out(&good).contains("0 failures, 0 warnings, 0 unknown"));
    Machine::read("one-core-task").with(&root, || {
        let bad = run(&["--root", path]);
        let text = out(&bad);
        assert_eq!(bad.status.code(), Some(3), "{text}");
        assert!(text.contains("failure  cpu-mask"), "{text}");
        assert!(
            text.contains("hint: `srun --cpus-per-task=24 …`: 192 CPUs ÷ 8 GPUs"),
            "{text}"
        );
        // left out on purpose it is no failure
        let spared = run(&["--root", path, "--skip", "cpu-mask,cpus-per-task"]);
        assert_eq!(spared.status.code(), Some(0), "{}", out(&spared));
    });
}

#[test]
fn data_is_one_object_with_every_finding() {
    let (_folder, root) = built("healthy");
    let output = run(&["--json", "--root", root.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["health"], "ok");
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), ncclbench::doctor::ALL.len());
    let nccl = findings.iter().find(|one| one["check"] == "nccl").unwrap();
    assert_eq!(nccl["shared"]["nccl"], "2.28.3");
    assert_eq!(report["hosts"][0]["host"], "p5-a");
}

#[test]
fn what_changed_since_the_record_is_named_and_the_record_is_not_overwritten() {
    let (folder, root) = built("healthy");
    let record = folder.path().join("p5-a.json");
    let (path, file) = (root.to_str().unwrap(), record.to_str().unwrap());
    assert_eq!(
        run(&["--root", path, "--save", file]).status.code(),
        Some(0)
    );
    let again = run(&["--root", path, "--save", file]);
    assert_eq!(again.status.code(), Some(3));
    assert!(
        err(&again).contains("it is already there"),
        "{}",
        err(&again)
    );
    let same = run(&["--root", path, "--against", file]);
    assert!(out(&same).contains("nothing has changed since the record"));
    Machine::read("gpu-off-the-bus").with(&root, || {
        let text = out(&run(&["--root", path, "--against", file]));
        for change in [
            "p5-a: gpus: gpus: 8 → 7",
            "p5-a: gpus: gpu 7: GPU-00000007-1111-2222-3333-444444444444 → nothing",
            "p5-a: gpus: health: ok → failure",
        ] {
            assert!(text.contains(change), "{change}:\n{text}");
        }
    });
}

#[test]
fn what_cannot_be_read_is_refused_and_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    for (args, said) in [
        (&["--root", empty][..], "holds none of the folders"),
        (&["--root", "/nowhere"][..], "`/nowhere` is no folder"),
        (&["--only", "no-such-check"][..], "there is no such check"),
        (
            &["--against", "/nowhere/record"][..],
            "cannot read `--against /nowhere/record`",
        ),
    ] {
        let refused = run(args);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{args:?}: {}",
            err(&refused)
        );
        assert!(err(&refused).contains(said), "{args:?}: {}", err(&refused));
    }
}

/// Each process looks at a machine of its own; gives what the first printed, and its code.
fn together(roots: &[&Path], args: &[&str]) -> (String, Option<i32>) {
    let place = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (place, world) = (place.to_string(), roots.len().to_string());
    let start = |(rank, root): (usize, &&Path)| {
        let mut command = program(&["--root", root.to_str().unwrap()]);
        command.args(["--rank", &rank.to_string(), "--world", &world]);
        command.args(["--rendezvous", &place, "--timeout-init", "60"]);
        command
            .args(["--host-label", &format!("machine{rank}")])
            .args(args);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = roots.iter().enumerate().map(start).collect();
    let mut outputs = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap());
    let first = outputs.next().unwrap();
    for other in outputs {
        assert_eq!(other.status.code(), first.status.code(), "{}", err(&other));
        assert!(other.stdout.is_empty());
    }
    (out(&first), first.status.code())
}

#[test]
fn of_three_hosts_the_one_that_differs_is_named_with_its_value() {
    let (_one, root) = built("healthy");
    let (_two, other) = built("healthy");
    std::fs::write(other.join("proc/sys/kernel/hostname"), "p5-b\n").unwrap();
    Machine::read("mtu-differs").with(&other, || {
        let (text, code) = together(&[&root, &other, &root], &[]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("3 processes on 3 hosts"), "{text}");
        let drift = "warning  mtu (interfaces): 1500, 9001 on p5-b; 9001 on p5-a, p5-a";
        assert!(text.contains(drift), "{text}");
        assert!(
            text.contains("interfaces            p5-b: MTU differs"),
            "{text}"
        );
    });
}

#[test]
fn hosts_with_different_libraries_are_a_failure_although_each_is_well() {
    let (_one, root) = built("healthy");
    let (_two, other) = built("healthy");
    let lib = other.join("usr/lib/x86_64-linux-gnu");
    std::fs::rename(lib.join("libnccl.so.2.28.3"), lib.join("libnccl.so.2.27.5")).unwrap();
    std::fs::remove_file(lib.join("libnccl.so.2")).unwrap();
    let (text, code) = together(&[&root, &other], &["--only", "nccl"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("failure  nccl: "), "{text}");
    let (json, _) = together(&[&root, &other], &["--only", "nccl", "--json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["drift"][0]["what"], "nccl");
}
