//! What communicators are told beside the defaults, on the stand-ins, and the whole program with
//! nccl-tests' rarer options.

use crate::child::child;
use crate::stand_ins::library;
use crate::tweaks::{count, expect_right, logged, run, spec};
use crate::world::{Worlds, wish};
use ncclbench::backend::{self, CommWish};
use ncclbench::base::Kind;
use ncclbench::record::{CtaPolicy, Tweaks};
use std::process::Command;

#[test]
fn the_null_stream_is_used_where_it_is_wished() {
    let test = "comm::the_null_stream_is_used_where_it_is_wished";
    let Some((_, log)) = logged(test, &[], || {
        let world = Worlds::new(2, 2).comm(CommWish {
            null_stream: true,
            ..CommWish::default()
        });
        let (outcomes, _) = run(&world, &spec("allreduce", Tweaks::default()));
        expect_right(&outcomes);
    }) else {
        return;
    };
    assert_eq!(count(&log, "stream made"), 0);
    assert!(count(&log, "rank 3 ran") > 0);
}

fn with_policy() -> CommWish {
    CommWish {
        cta_policy: Some(CtaPolicy::Zero),
        p2p_peers: Some(2),
        ..CommWish::default()
    }
}

#[test]
fn a_policy_and_few_peers_are_in_the_configuration() {
    let vars = [("STAND_IN_CONFIG", "cta-policy:2,p2p-peers:2")];
    let test = "comm::a_policy_and_few_peers_are_in_the_configuration";
    let Some(said) = child(test, &vars, || {
        Worlds::new(1, 2).comm(with_policy()).open().unwrap();
        let other = Worlds::new(1, 2).open().unwrap_err();
        println!("{other}");
    }) else {
        return;
    };
    said.expect("the configuration's cta-policy is -2147483648 and not 2");
}

#[test]
fn a_library_before_2_30_is_not_told_of_peers() {
    let vars = [
        ("STAND_IN_NCCL_VERSION", "22803"),
        ("STAND_IN_CONFIG", "cta-policy:2,p2p-peers:unset"),
    ];
    let test = "comm::a_library_before_2_30_is_not_told_of_peers";
    let Some(said) = child(test, &vars, || {
        Worlds::new(1, 2).comm(with_policy()).open().unwrap();
        println!("opened");
    }) else {
        return;
    };
    said.expect("opened");
}

#[test]
fn a_policy_that_the_library_does_not_have_is_refused_with_both_versions() {
    let fault = Worlds::new(2, 1)
        .library("old/libnccl.so.2")
        .comm(with_policy())
        .open()
        .unwrap_err();
    assert_eq!(fault.kind, Kind::Unsupported);
    let message = &fault.message;
    assert!(
        message.contains("2.28") && message.contains("2.18.5"),
        "{fault}"
    );
}

#[test]
fn other_backends_refuse_what_they_cannot_heed() {
    for backend in &backend::ALL[1..] {
        let fault = backend.heed(with_policy()).unwrap_err();
        assert_eq!(fault.kind, Kind::Unsupported);
        assert!(backend.heed(CommWish::default()).is_ok());
    }
    assert!(backend::ALL[0].heed(with_policy()).is_ok());
    assert_eq!(wish("libnccl.so.2").comm, CommWish::default());
}

/// Runs the program on the stand-ins; its exit code, what it said, and the last line of its file.
fn program(args: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, serde_json::Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_ncclbench"))
        .args(args)
        .args(["--output", file.to_str().unwrap()])
        .env("NCCLBENCH_CUDA", library("libcuda.so.1"))
        .env("NCCLBENCH_NCCL", library("libnccl.so.2"))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let last = text.lines().last().unwrap_or("null");
    (
        output.status.code(),
        said,
        serde_json::from_str(last).unwrap(),
    )
}

#[test]
fn the_memory_that_a_run_takes_is_in_its_footer() {
    let args = [
        "allreduce",
        "-b",
        "1M",
        "-e",
        "1M",
        "-n",
        "2",
        "-g",
        "2",
        "-M",
        "1",
        "-u",
        "3",
    ];
    let (code, said, footer) = program(&args, &[]);
    assert_eq!(code, Some(0), "{said}");
    let memory = &footer["memory"];
    // a stand-in communicator takes nothing, and buffers are shifted by three of the widest elements
    assert_eq!(memory["initialization_bytes"], 0);
    assert_eq!(memory["user_bytes"], 2 * ((1 << 20) + 3 * 8));
    assert_eq!(memory["collective_bytes"], 0);
    let (code, _, footer) = program(&args[..9], &[]);
    assert_eq!((code, footer.get("memory")), (Some(0), None));
}

#[test]
fn sendrecv_tells_the_library_of_its_two_peers_and_others_tell_nothing() {
    let one = |collective: &str, peers: &str| {
        let args = [collective, "-b", "8", "-e", "8", "-n", "1", "-g", "2"];
        let config = format!("p2p-peers:{peers}");
        program(&args, &[("STAND_IN_CONFIG", &config)])
    };
    for (collective, peers) in [("sendrecv", "2"), ("alltoall", "unset")] {
        let (code, said, _) = one(collective, peers);
        assert_eq!(code, Some(0), "{said}");
    }
    let (code, said, _) = one("sendrecv", "unset");
    assert_eq!(code, Some(3));
    assert!(
        said.contains("the configuration's p2p-peers is 2"),
        "{said}"
    );
}

#[test]
fn a_refused_option_ends_the_run_before_its_first_row() {
    let args = [
        "allreduce",
        "-b",
        "8",
        "-e",
        "8",
        "-g",
        "2",
        "--backend",
        "host",
    ];
    for option in [
        ["-G", "1"],
        ["-R", "2"],
        ["-x", "0"],
        ["-y", "1"],
        ["-M", "1"],
    ] {
        let (code, said, _) = program(&[&args[..], &option].concat(), &[]);
        assert_eq!(code, Some(3), "{option:?}: {said}");
        assert!(
            said.contains(&format!("`{}`", option[0])),
            "{option:?}: {said}"
        );
        assert!(said.contains("hint: run without"), "{said}");
    }
}
