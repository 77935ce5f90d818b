//! Real processes that meet, are disturbed, or lose the one that all others talk to.
//!
//! Launches by real launchers, and what a table must show, are in `launch.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};

/// An address of this machine where nobody listens now.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Process `rank` of `world` on a small run.
fn process(rank: u32, world: u32, address: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncclbench"));
    command.env_clear();
    command.args(["allreduce", "--backend", "host", "-b", "8", "-e", "1K"]);
    command.args(["--rank", &rank.to_string(), "--world", &world.to_string()]);
    command.args(["--rendezvous", address]);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn end(child: Child) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

/// Connects as soon as somebody listens.
fn connect(address: &str) -> TcpStream {
    loop {
        if let Ok(stream) = TcpStream::connect(address) {
            return stream;
        }
        std::thread::yield_now();
    }
}

#[test]
fn processes_meet_although_others_knock_at_the_same_door() {
    let address = free_address();
    let first = process(0, 3, &address).spawn().unwrap();
    let silent = connect(&address);
    let mut web = connect(&address);
    web.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(connect(&address));
    let others = [2, 1].map(|rank| process(rank, 3, &address).spawn().unwrap());
    for child in others.into_iter().chain([first]) {
        let (code, said) = end(child);
        assert_eq!(code, Some(0), "{said}");
    }
    drop(silent);
}

#[test]
fn a_process_with_another_secret_stays_outside_and_both_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let children = [0, 1].map(|rank| {
        let path = folder.path().join(rank.to_string());
        fs::write(&path, format!("secret of rank {rank}")).unwrap();
        let mut command = process(rank, 2, &address);
        command
            .args(["--timeout-init", "1", "--secret-file"])
            .arg(path);
        command.spawn().unwrap()
    });
    let [first, second] = children.map(end);
    assert_eq!((first.0, second.0), (Some(4), Some(4)));
    assert!(
        first.1.contains("1 of 2 ranks met") && first.1.contains("missing: 1"),
        "{}",
        first.1
    );
    assert!(
        second.1.contains("does not know this run's secret"),
        "{}",
        second.1
    );
}

#[test]
fn when_the_first_process_is_killed_the_others_say_so_and_leave() {
    let address = free_address();
    let long = ["-n", "1000000", "-e", "64M"];
    let others = [1, 2].map(|rank| process(rank, 3, &address).args(long).spawn().unwrap());
    let mut first = process(0, 3, &address).args(long).spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    lines
        .find(|line| line.as_ref().unwrap().contains("Rank  0"))
        .unwrap()
        .unwrap();
    first.kill().unwrap();
    let [second, third] = others.map(end);
    assert_eq!(
        (second.0, third.0),
        (Some(4), Some(4)),
        "{} {}",
        second.1,
        third.1
    );
    assert!(
        second.1.contains("rank 0 (") && second.1.contains("left without a word"),
        "{}",
        second.1
    );
    assert!(
        !third.1.contains("error: "),
        "one of a host is enough: {}",
        third.1
    );
    first.wait().unwrap();
}

#[test]
fn the_code_of_processes_that_were_spawned_is_the_parents() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncclbench"));
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.args(["allreduce", "--backend", "host", "-b", "8", "-e", "8"]);
    command.args(["--spawn", "3", "--secret-file", "/nowhere/secret"]);
    let (code, said) = end(command.spawn().unwrap());
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("cannot read `--secret-file /nowhere/secret`"),
        "{said}"
    );
}
