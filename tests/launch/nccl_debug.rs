//! `NCCL_DEBUG`: what a user asked NCCL to say is still said, in whole lines, where NCCL would have
//! said it, although its log goes through this program; and what was set is left as it was.

use super::harness::{Finished, run, run_together, told_by_all};
use super::table::Table;
use super::trouble::{BOUND, DEADLINE, all_end_with};
use super::{LIMIT, by_hand, free_address, program, stand_ins};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LOG: &str = "x:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>
x:1:1 [0] NCCL INFO Using network Socket
x:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0
@GRAPH x:1:1 [0] NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===
@NET x:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'
@COLL x:1:1 [0] NCCL INFO AllReduce: opCount 0
x:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0
@rank 1 x:1:1 [0] x.cc:1 NCCL WARN a cable is loose
";

/// A folder with the log that the stand-in says.
struct Case(tempfile::TempDir);

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("log"), LOG).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn set(&self, command: &mut Command, variables: &[(&str, &str)]) {
        let library = stand_ins::library("libcuda.so.1");
        command.env("LD_LIBRARY_PATH", Path::new(&library).parent().unwrap());
        command.env("STAND_IN_NCCL_LOG", self.path("log"));
        // nobody listens there, whatever else runs on this machine
        command.env("NCCL_RAS_ADDR", "127.0.0.1:1");
        command.env("NCCL_CONF_FILE", self.path("nccl.conf"));
        command.envs(variables.iter().copied());
    }

    /// Three processes, whose outputs are apart.
    fn three(&self, variables: &[(&str, &str)], options: &[&str]) -> Vec<Finished> {
        let address = free_address();
        let args = ["allreduce", "-b", "8", "-e", "1K", "-f", "8"];
        let process = |rank| {
            let mut command = by_hand(rank, 3, &address, &args);
            command.args(options);
            self.set(&mut command, variables);
            command
        };
        let finished = run_together((0..3).map(process).collect(), LIMIT);
        all_end_with(&finished, 0);
        finished
    }
}

/// NCCL's lines on a stdout, and what else is there.
fn apart(stdout: &str) -> (Vec<&str>, String) {
    let of_nccl = |line: &&str| line.contains(" NCCL ") || line.starts_with("NCCL version");
    let others = stdout.lines().filter(|line| !of_nccl(line));
    let others = others.fold(String::new(), |text, line| text + line + "\n");
    (stdout.lines().filter(of_nccl).collect(), others)
}

/// What NCCL said, less who said it.
fn words<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mark = |line: &'a str| line.split_once(" NCCL ").map_or(line, |(_, words)| words);
    lines.iter().map(|line| mark(line)).collect()
}

const SHOWN: [&str; 5] = [
    "INFO NCCL version 2.30.7+stand-in",
    "INFO Bootstrap: Using eth0:10.0.0.1<0>",
    "INFO Using network Socket",
    "INFO comm 0x1 rank 0 nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0",
    "INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
];

#[test]
fn every_process_passes_on_what_was_asked_for_in_whole_lines_and_the_table_is_whole() {
    let case = Case::new();
    let finished = case.three(&[("NCCL_DEBUG", "INFO")], &[]);
    for (rank, one) in finished.iter().enumerate() {
        let (lines, others) = apart(&one.stdout);
        let mut expected = SHOWN.to_vec();
        if rank == 1 {
            expected.insert(4, "WARN a cable is loose");
        }
        assert_eq!(words(&lines), expected, "{}", told_by_all(&finished));
        if rank == 0 {
            Table::read(&others).expect_right();
        } else {
            assert_eq!(others.trim(), "", "{}", one.told());
        }
        assert!(!one.stderr.contains("NCCL INFO"), "{}", one.told());
    }
    finished[0].expect_said("path: SOCKET (log)");
}

#[test]
fn lines_of_the_first_operation_come_before_its_row() {
    let case = Case::new();
    let finished = case.three(&[("NCCL_DEBUG", "INFO")], &[]);
    let lines: Vec<&str> = finished[0].stdout.lines().collect();
    let place = |words: &str| lines.iter().position(|line| line.contains(words)).unwrap();
    assert_eq!(
        place(" via NET/Socket") + 1,
        place("        8             2 ")
    );
}

#[test]
fn nothing_is_passed_on_that_was_not_asked_for() {
    let case = Case::new();
    for (variables, lines) in [
        (vec![], vec![]),
        (
            vec![("NCCL_DEBUG", "VERSION")],
            vec!["NCCL version 2.30.7+stand-in"],
        ),
        (
            vec![("NCCL_DEBUG", "WARN")],
            vec!["NCCL version 2.30.7+stand-in"],
        ),
    ] {
        let finished = case.three(&variables, &[]);
        assert_eq!(apart(&finished[0].stdout).0, lines);
        finished[0].expect_said("path: SOCKET (log)");
        let warned = finished[1].stdout.contains("NCCL WARN a cable is loose");
        assert_eq!(warned, variables == [("NCCL_DEBUG", "WARN")]);
    }
}

#[test]
fn nccls_own_file_of_settings_counts_as_asked_for() {
    let case = Case::new();
    fs::write(
        case.path("nccl.conf"),
        "NCCL_DEBUG=INFO\nNCCL_DEBUG_SUBSYS=INIT,COLL\n",
    )
    .unwrap();
    let finished = case.three(&[], &[]);
    let (lines, _) = apart(&finished[0].stdout);
    let mut expected = SHOWN.to_vec();
    expected.insert(4, "INFO AllReduce: opCount 0");
    assert_eq!(words(&lines), expected);
}

#[test]
fn a_file_of_the_users_is_left_to_nccl_and_read_for_the_verdict() {
    let case = Case::new();
    let pattern = case.path("log.%p");
    let file = pattern.to_str().unwrap();
    let finished = case.three(&[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_FILE", file)], &[]);
    assert_eq!(apart(&finished[0].stdout).0, [""; 0]);
    finished[0].expect_said("path: SOCKET (log)");
    let files = fs::read_dir(case.0.path()).unwrap().flatten();
    let files = files.filter(|entry| entry.file_name().to_string_lossy().starts_with("log."));
    assert_eq!(files.count(), 3);
}

#[test]
fn what_the_user_leaves_out_is_not_added_and_the_verdict_says_so() {
    let case = Case::new();
    let variables = [("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "COLL")];
    let finished = case.three(&variables, &[]);
    let (lines, _) = apart(&finished[0].stdout);
    assert_eq!(words(&lines), [SHOWN[0], "INFO AllReduce: opCount 0"]);
    finished[0].expect_said("path: UNKNOWN");
    finished[0].expect_said("`NCCL_DEBUG_SUBSYS=COLL` leaves out INIT");
}

#[test]
fn without_a_verdict_nccl_writes_by_itself() {
    let case = Case::new();
    let finished = case.three(&[("NCCL_DEBUG", "INFO")], &["--no-path"]);
    assert_eq!(words(&apart(&finished[0].stdout).0), SHOWN);
    assert!(
        !finished[0].stderr.contains("path:"),
        "{}",
        finished[0].told()
    );
}

#[test]
fn what_nccl_said_before_it_hung_is_passed_on() {
    let case = Case::new();
    let deadline = DEADLINE.to_string();
    let mut command = program(&["allreduce", "-b", "8", "-e", "8", "--spawn", "3"]);
    command.args(["--timeout-init", &deadline]);
    case.set(
        &mut command,
        &[("NCCL_DEBUG", "INFO"), ("STAND_IN_INIT", "1:hang")],
    );
    let finished = run(&mut command, BOUND).expect_code(4);
    let (lines, _) = apart(&finished.stdout);
    let said = words(&lines)
        .into_iter()
        .filter(|line| *line == SHOWN[2])
        .count();
    assert_eq!(said, 3, "{}", finished.told());
}

#[test]
fn a_backend_without_a_path_refuses_to_be_required_one() {
    let mut command = program(&["allreduce", "--backend", "host", "--require-path", "efa"]);
    let finished = run(&mut command, LIMIT).expect_code(2);
    finished.expect_said("`--require-path efa` is for backend `nccl`");
}
