//! The whole program on the cost model: exit code, stdout, stderr and the run's file.

use assert_cmd::Command;
use ncclbench::record::Run;
use std::process::Output;

/// Runs the program without any variable, so that no launcher is found.
fn run(line: &str) -> Output {
    let mut command = Command::cargo_bin("ncclbench").unwrap();
    command.env_clear().args(line.split_whitespace());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Without what differs from machine to machine and release to release: process ids, host names
/// and the version.
fn portable(text: &str) -> String {
    let text = text.replace(
        concat!("ncclbench ", env!("CARGO_PKG_VERSION"), ":"),
        "ncclbench VERSION:",
    );
    let lines = text.lines().map(|line| match line.split_once(" Pid ") {
        Some((rank, rest)) => format!(
            "{rank} Pid … device{}",
            rest.split_once(" device").unwrap().1
        ),
        None => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn the_cost_model_gives_the_table_that_was_read() {
    for (line, stored) in [
        (
            "allreduce --backend sim -g 3 -b 8 -e 16G -f 8 -n 5 --seed 7",
            include_str!("sim_allreduce.txt"),
        ),
        (
            "alltoall_perf --backend sim -t 5 -b 64 -e 1G -f 16 -c 0 -d half -z 1 --seed 7",
            include_str!("sim_alltoall.txt"),
        ),
    ] {
        let output = run(line);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let ours = portable(&text(&output.stdout));
        assert_eq!(ours, stored, "{line}: read it, then store it");
    }
}

#[test]
fn the_runs_file_holds_what_the_table_shows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let output = run(&format!(
        "allreduce --backend sim -g 2 -b 1M -e 4M -d all -o avg --seed 3 --output {}",
        file.display()
    ));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = Run::read(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!((run.rows.len(), run.torn), (3 * 12 * 2, None));
    assert!(!run.header.measured && run.header.backend == "sim");
    let table = super::parsers::by_thirteen_fields(&text(&output.stdout));
    let sizes: Vec<_> = table.iter().map(|(size, _, _)| *size).collect();
    let rows = run.rows.iter().step_by(2);
    assert_eq!(sizes, rows.map(|row| row.case.size.0).collect::<Vec<_>>());
    let footer = run.footer.unwrap();
    assert_eq!((footer.rows, footer.exit_code), (72, 0));
}

#[test]
fn what_is_not_accepted_ends_with_2_on_stderr_and_an_empty_stdout() {
    for (line, words) in [
        (
            "",
            "error: nothing to measure was named; expected one of: allreduce, alltoall",
        ),
        (
            "frobnicate",
            "error: unknown collective `frobnicate`; accepted: allreduce, alltoall",
        ),
        ("allreduce --itres 5", "hint: did you mean `--iters`?"),
        ("allreduce -b 64M", "hint: give both `-b MIN` and `-e MAX`"),
        ("allreduce -d flaot", "accepted: int8, uint8"),
        (
            "allreduce --backend gpu",
            "unknown name `gpu` for `--backend`; accepted: ",
        ),
        ("allreduce --backend sim --launcher nobody", "`--launcher`"),
    ] {
        let output = run(line);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(words), "{line}: {said}");
        assert!(output.stdout.is_empty(), "{line}");
    }
}

#[test]
fn texts_that_were_asked_for_go_to_stdout_with_success() {
    for (line, words) in [
        ("--help", "Exit codes:"),
        ("--version", env!("CARGO_PKG_VERSION")),
        ("--list", "launchers:"),
        ("allreduce --dry-run -b 8 -e 16G -g 3", " 17179869184 "),
    ] {
        let output = run(line);
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert!(text(&output.stdout).contains(words), "{line}");
        assert!(output.stderr.is_empty(), "{line}: {}", text(&output.stderr));
    }
}
