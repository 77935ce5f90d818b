//! The program itself with backend `kernel`: processes that hand each other memory.

use crate::stand_ins::folder;
use assert_cmd::Command;
use std::time::Duration;

/// What a run of the program gave.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn ncclbench(line: &str, variables: &[(&str, &str)]) -> Ran {
    let output = Command::cargo_bin("ncclbench")
        .unwrap()
        .args(line.split(' '))
        .env("LD_LIBRARY_PATH", folder())
        .envs(variables.iter().copied())
        .timeout(Duration::from_mins(2))
        .output()
        .unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Ran {
    fn expect(&self, code: i32, text: &str) {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        assert_eq!(self.code, Some(code), "{all}");
        assert!(all.contains(text), "`{text}` is not in:\n{all}");
    }
}

const FINE: &str = "Out of bounds values : 0 OK";

#[test]
fn processes_share_memory_and_are_right() {
    for (collective, more) in [
        ("allreduce", "--spawn 3 -d bfloat16 -o all"),
        ("alltoall", "--spawn 2 -t 2"),
        ("allgather", "--spawn 2 -g 2 --algo put"),
        ("broadcast", "--spawn 3 -r all --algo engine"),
        ("reducescatter", "--spawn 5 -d all -o avg"),
    ] {
        let line = format!("{collective} --backend kernel -b 8 -e 20008 -i 9999 -n 3 {more}");
        ncclbench(&line, &[]).expect(0, FINE);
    }
}

#[test]
fn several_ranks_share_a_gpu_where_that_is_allowed() {
    let line = "allreduce --backend kernel -b 8 -e 64K -f 64 -n 3 --spawn 2 -t 2";
    let one = [("STAND_IN_CUDA_DEVICES", "1")];
    ncclbench(line, &one).expect(3, "--allow-shared-gpu");
    ncclbench(&format!("{line} --allow-shared-gpu"), &one).expect(0, FINE);
}

#[test]
fn memory_that_cannot_be_reached_is_a_waived_row_with_the_drivers_words() {
    let line = "allreduce --backend kernel -b 8 -e 8 -n 1 --spawn 2";
    let apart = [("STAND_IN_CUDA_NO_PEERS", "1")];
    let ran = ncclbench(line, &apart);
    ran.expect(3, "cannot share memory with the others");
    ran.expect(3, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED");
}

#[test]
fn options_of_this_backend_are_refused_elsewhere_and_where_they_are_wrong() {
    for (line, text) in [
        (
            "allreduce --backend host --algo ll",
            "is for `--backend kernel`",
        ),
        (
            "allreduce --backend sim --early 0",
            "is for `--backend kernel`",
        ),
        ("allreduce --backend kernel --algo LL", "oneshot"),
        ("allreduce --backend kernel --block-threads 16", "32"),
        (
            "allreduce --backend kernel --tuning Cargo.toml",
            "no table of algorithms",
        ),
    ] {
        ncclbench(line, &[]).expect(2, text);
    }
    let missing = "allreduce --backend kernel --tuning nowhere.json";
    ncclbench(missing, &[]).expect(3, "cannot read the table");
}

#[test]
fn the_list_has_every_algorithm() {
    let ran = ncclbench("--list", &[]);
    for name in ["ll-twoshot", "engine", "handout", "peer-flag"] {
        ran.expect(0, name);
    }
}
