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
            "reduce --backend sim -g 3 -b 8 -e 64K -f 64 -n 5 -o max -r -1 --seed 7",
            include_str!("sim_reduce.txt"),
        ),
        (
            "hypercube_perf --backend sim -g 4 -b 64 -e 64K -f 8 -n 5 -d double --seed 7",
            include_str!("sim_hypercube.txt"),
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
fn a_root_that_is_no_rank_is_refused_with_the_range_before_anything_is_opened() {
    let output = run("broadcast --backend sim -g 3 -r 3");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("root 3 is not a rank: accepted are 0 to 2, and -1 for all"),
        "{said}"
    );
    assert!(output.stdout.is_empty());
    let all_reduce = run("allreduce --backend sim -g 3 -r 3 -b 8 -e 8");
    assert_eq!(all_reduce.status.code(), Some(0), "it has no root");
}

#[test]
fn a_hypercube_that_has_no_corner_for_a_rank_is_waived_with_the_reason() {
    let output = run("hypercube --backend sim -g 3 -b 64 -e 128");
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    let reason = "96 B: a hypercube has a power of two of corners, and there are 3 ranks";
    assert!(said.contains(reason), "{said}");
}

/// `alltoallv` with nccl-tests' variables.
fn uneven(variables: &[(&str, &str)], line: &str) -> Output {
    let mut command = Command::cargo_bin("ncclbench").unwrap();
    command.env_clear().envs(variables.iter().copied());
    command.args(line.split_whitespace()).output().unwrap()
}

#[test]
fn the_variables_of_alltoallv_choose_the_sizes_of_parts_and_the_lines_about_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("matrix");
    std::fs::write(&file, "0 1024 0\n64 0 512\n0 2048 0\n").unwrap();
    let variables = [
        ("NCCL_TESTS_ALLTOALLV_MATRIX_FILE", file.to_str().unwrap()),
        ("NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", "2"),
        ("NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY", "1"),
    ];
    let output = uneven(&variables, "alltoallv --backend sim -g 3 -b 6144 -e 6144");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    let rows = super::parsers::by_thirteen_fields(&table);
    assert_eq!((rows.len(), rows[0].0), (1, 6144));
    let ranks: Vec<_> = table
        .lines()
        .filter(|line| line.starts_with("# rank "))
        .collect();
    assert_eq!(ranks.len(), 3, "{table}");
    assert!(
        ranks[1].starts_with("# rank 1 sends 1152 B at ") && ranks[1].contains("receives 6 KiB"),
        "{}",
        ranks[1]
    );
    let refused = uneven(&variables, "alltoallv --backend sim -g 3 -b 4K -e 4K");
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("hint: give `-b 6144 -e 6144`"), "{said}");
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
            "error: nothing to measure was named; expected one of: allreduce, allgather, reducescatter, ",
        ),
        (
            "frobnicate",
            "error: unknown collective `frobnicate`; accepted: allreduce, allgather, ",
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
