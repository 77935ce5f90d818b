//! `ncclbench hunt` with real processes: on the stand-ins a slow rank is named and no other, and
//! where nothing is slow nothing is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "common/stand_ins.rs"]
mod stand_ins;

use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;

/// Starts `nodes` times `each` processes, each node with a label of its own; the first's output.
fn hunt(nodes: usize, each: usize, args: &[&str], set: &[(&str, &str)]) -> Output {
    let place = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (place, world) = (place.to_string(), (nodes * each).to_string());
    let start = |rank: usize| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ncclbench"));
        command.env_clear().arg("hunt").args(args);
        command.envs(set.iter().copied());
        let label = format!("node{}", rank / each);
        command.env("STAND_IN_CUDA_HOST", &label);
        command.args(["--host-label", &label, "--rank", &rank.to_string()]);
        command.args(["--world", &world, "--rendezvous", &place]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<_> = (0..nodes * each).map(start).collect();
    let mut outputs = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap());
    let first = outputs.next().unwrap();
    for other in outputs {
        assert_eq!(other.status.code(), first.status.code(), "{}", told(&other));
        assert!(other.stdout.is_empty());
    }
    first
}

fn told(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(err)
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(output)))
}

fn names(report: &Value) -> Vec<String> {
    let culprits = report["culprits"].as_array().unwrap();
    let name = |one: &Value| {
        format!(
            "{} {}",
            one["kind"].as_str().unwrap(),
            one["name"].as_str().unwrap()
        )
    };
    culprits.iter().map(name).collect()
}

/// Stand-ins, and an exchange that is long beside what the machine's other work costs: each
/// operation of every rank is slow by a set time, the planted one's by three times as much.
fn on_stand_ins(nodes: usize, each: usize, args: &[&str], slow: &str) -> Output {
    let library = stand_ins::library("libcuda.so.1");
    let folder = Path::new(&library).parent().unwrap().to_owned();
    let usual: Vec<&str> = [
        "--backend",
        "nccl",
        "--size",
        "4K",
        "-n",
        "2",
        "-w",
        "1",
        "--seed",
        "7",
        "--json",
    ]
    .into();
    let args = [&usual[..], args].concat();
    let set = [
        ("LD_LIBRARY_PATH", folder.to_str().unwrap()),
        ("STAND_IN_SLOW", slow),
    ];
    hunt(nodes, each, &args, &set)
}

#[test]
fn a_rank_that_the_library_makes_slow_is_the_node_that_is_named() {
    let output = on_stand_ins(5, 1, &["--limit", "200"], "3:60000");
    let report = report(&output);
    assert_eq!(output.status.code(), Some(6), "{}", told(&output));
    assert_eq!(names(&report), ["node node3"], "{}", told(&output));
    let command = report["culprits"][0]["command"].as_str().unwrap();
    assert!(command.starts_with("scontrol update NodeName=node3 State=DRAIN Reason="));
    assert_eq!(
        (&report["wrong"], report["pairs"].as_array().unwrap().len()),
        (&0.into(), 10)
    );
}

#[test]
fn of_two_rails_the_slow_one_of_one_node_is_named() {
    // rank 4 is rail 0 of the third node
    let output = on_stand_ins(3, 2, &["--by", "rail", "--limit", "200"], "4:60000");
    assert_eq!(
        names(&report(&output)),
        ["rail node2 rail 0"],
        "{}",
        told(&output)
    );
}

#[test]
fn the_matrix_goes_to_a_table_and_a_picture_and_data_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, svg) = (path("pairs.csv"), path("pairs.svg"));
    let args = [
        "--backend",
        "host",
        "--size",
        "1K",
        "-n",
        "3",
        "--csv",
        &csv,
        "--picture",
        &svg,
    ];
    // crowded machines are slow here and there; what is asserted is what was written
    let args = [
        &args[..],
        &[
            "--limit",
            "10000",
            "--scale",
            "1,3",
            "--group",
            "a=node[0-1]",
        ],
    ]
    .concat();
    let output = hunt(3, 2, &args, &[]);
    let text = told(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("nothing is slow") && text.contains("ring of 3 nodes: "),
        "{text}"
    );
    assert!(text.contains("inside a: "), "{text}");
    let table = std::fs::read_to_string(csv).unwrap();
    assert!(
        table.starts_with("gbps,\"node0\",\"node1\",\"node2\"\n\"node0\",,"),
        "{table}"
    );
    let picture = std::fs::read_to_string(svg).unwrap();
    assert_eq!(picture.matches("<title>").count(), 9, "{picture}");
}

#[test]
fn a_hunt_on_one_node_says_how_to_hunt_there() {
    let output = hunt(1, 3, &["--backend", "host", "--size", "1K"], &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        told(&output).contains("hint: `--by gpu` pairs the ranks of a node"),
        "{}",
        told(&output)
    );
}
