//! The program under nccl-tests' names beside what nccl-tests printed: the same runs, the same bytes
//! once what is measured and what is the machine's own is masked.

use super::parsers;
use assert_cmd::Command;
use std::path::Path;
use std::process::Output;

/// Links under nccl-tests' names, made by the program itself.
pub(crate) struct Links(tempfile::TempDir);

impl Links {
    pub(crate) fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for suffix in ["", "_mpi"] {
            let mut command = Command::cargo_bin("ncclbench").unwrap();
            command.env_clear().arg("links").arg(folder.path());
            command.args(["--suffix", suffix]).assert().success();
        }
        Self(folder)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Runs one of them without any variable but those given.
    pub(crate) fn run(&self, variables: &[(&str, &str)], line: &str) -> Output {
        let (program, options) = line.split_once(' ').unwrap_or((line, ""));
        let mut command = Command::new(self.folder().join(program));
        command.env_clear().envs(variables.iter().copied());
        command.args(options.split_whitespace());
        command.timeout(std::time::Duration::from_mins(2));
        command.output().unwrap()
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What is left when numbers that are measured, versions, hosts, processes and devices are masked;
/// the ends of columns stay where they are.
fn masked(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("# ncclbench: "));
    lines.map(|line| masked_line(line) + "\n").collect()
}

fn masked_line(line: &str) -> String {
    if line.starts_with(' ') {
        return masked_row(line);
    }
    for start in [
        "# Writing JSON output to ",
        "# nccl-tests version ",
        "# Avg bus bandwidth    : ",
    ] {
        if let Some(rest) = line.strip_prefix(start) {
            // only words: paths, versions and figures go
            let words: Vec<&str> = rest.split(' ').map(mask_word).collect();
            return format!("{start}{}", words.join(" "));
        }
    }
    match line.split_once(" Pid ") {
        None => line.to_owned(),
        Some((rank, rest)) => {
            assert_eq!(rest.find(" on "), Some(6), "{line}");
            let device = &rest[rest.find(" device ").unwrap()..];
            assert_eq!((&device[10..12], &device[22..24]), (" [", "] "), "{line}");
            format!("{rank} Pid")
        }
    }
}

fn mask_word(word: &str) -> &str {
    match word {
        "" | "OK" | "FAILED" => word,
        _ => "…",
    }
}

/// The cells that were asked for stay; of what was measured only where it ends.
fn masked_row(line: &str) -> String {
    let asked = 12 + 14 + 10 + 8 + 8;
    let mut masked = line[..asked].to_owned();
    let mut in_cell = false;
    for (at, letter) in line.char_indices().skip(asked) {
        let is_blank = letter == ' ';
        if in_cell && is_blank {
            masked.push('|');
            masked.push_str(&at.to_string());
        }
        in_cell = !is_blank;
        if letter.is_ascii_alphabetic() && letter != 'e' {
            masked.push(letter);
        }
    }
    masked
}

/// A run of nccl-tests, what it printed, and how it is run here.
struct Run {
    printed: &'static str,
    line: &'static str,
    backend: &'static str,
}

const RUNS: [Run; 10] = [
    Run {
        printed: include_str!("fixtures/all_reduce_4.txt"),
        line: "all_reduce_perf_mpi --spawn 4 -b 8 -e 64K -f 8 -g 1 -n 3 -c 1 -J",
        backend: "host",
    },
    Run {
        printed: include_str!("fixtures/all_gather_4.txt"),
        line: "all_gather_perf_mpi --spawn 4 -b 8 -e 64K -f 8 -g 1 -n 3 -c 1 -J",
        backend: "host",
    },
    Run {
        printed: include_str!("fixtures/alltoall_4.txt"),
        line: "alltoall_perf_mpi --spawn 4 -b 8 -e 64K -f 8 -g 1 -n 3 -c 1 -J",
        backend: "host",
    },
    Run {
        printed: include_str!("fixtures/broadcast_4.txt"),
        line: "broadcast_perf_mpi --spawn 4 -b 8 -e 64K -f 8 -g 1 -n 3 -c 1 -J",
        backend: "host",
    },
    Run {
        printed: include_str!("fixtures/sendrecv_4.txt"),
        line: "sendrecv_perf_mpi --spawn 4 -b 8 -e 64K -f 8 -g 1 -n 3 -c 1 -J",
        backend: "host",
    },
    Run {
        // it was given `-r all`, which nccl-tests takes for 0
        printed: include_str!("fixtures/bcast_rall.txt"),
        line: "broadcast_perf_mpi --spawn 2 -b 1K -e 4K -f 2 -n 3 -r 0",
        backend: "host",
    },
    Run {
        printed: include_str!("fixtures/mps_ar_4.txt"),
        line: "all_reduce_perf_mpi -t 4 -b 8 -e 256M -f 8",
        backend: "sim",
    },
    Run {
        printed: include_str!("fixtures/h200_1rank_ar1.txt"),
        line: "all_reduce_perf -b 8 -e 1G -f 2",
        backend: "sim",
    },
    Run {
        printed: include_str!("fixtures/h200_1rank_ar16.txt"),
        line: "all_reduce_perf -b 8 -e 16G -f 2 -n 50",
        backend: "sim",
    },
    Run {
        printed: include_str!("fixtures/h200_1rank_a2a.txt"),
        line: "alltoall_perf -b 8 -e 1G -f 2 -J",
        backend: "sim",
    },
];

#[test]
fn the_same_command_lines_give_the_same_bytes() {
    let links = Links::make();
    for run in RUNS {
        let json = links.folder().join("x.json");
        let line = if run.line.ends_with("-J") {
            format!("{} {}", run.line, json.display())
        } else {
            run.line.to_owned()
        };
        let output = links.run(&[("NCCLBENCH_BACKEND", run.backend)], &line);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{line}: {}",
            text(&output.stderr)
        );
        let (mut ours, mut theirs) = (text(&output.stdout), run.printed.to_owned());
        if run.backend == "sim" {
            // a cost model has no data to check, and four ranks of it are threads
            ours = ours
                .replace("    N/A", "       0")
                .replace("nThread 4", "nThread 1");
            theirs = theirs.replace("    N/A", "       0");
        }
        assert_eq!(masked(&ours), masked(&theirs), "{line}");
    }
}

#[test]
fn a_bandwidth_that_is_not_reached_fails_as_in_nccl_tests() {
    let links = Links::make();
    let variables = [("NCCLBENCH_BACKEND", "host"), ("NCCL_TESTS_MIN_BW", "1000")];
    let line = "all_reduce_perf_mpi --spawn 2 -b 1K -e 4K -f 2 -n 2";
    let output = links.run(&variables, line);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let printed = include_str!("fixtures/min_bw.txt");
    // behind the empty line mpirun speaks
    let printed = &printed[..printed.find("\n\n").unwrap() + 2];
    assert_eq!(masked(&text(&output.stdout)), masked(printed));
    let own = Command::cargo_bin("ncclbench")
        .unwrap()
        .env_clear()
        .envs(variables)
        .args(["allreduce", "-g", "2", "-b", "1K", "-e", "4K", "-n", "2"])
        .output()
        .unwrap();
    assert_eq!(own.status.code(), Some(6), "a gate under its own name");
}

#[test]
fn the_json_has_the_keys_and_the_kinds_of_nccl_tests() {
    let links = Links::make();
    for (line, printed) in [
        (
            "all_reduce_perf_mpi",
            include_str!("fixtures/all_reduce_4.json"),
        ),
        (
            "alltoall_perf_mpi",
            include_str!("fixtures/alltoall_4.json"),
        ),
        (
            "sendrecv_perf_mpi",
            include_str!("fixtures/sendrecv_4.json"),
        ),
    ] {
        let file = links.folder().join(format!("{line}.json"));
        let line = format!(
            "{line} --spawn 4 -b 8 -e 64K -f 8 -n 3 -J {}",
            file.display()
        );
        let secret = [("NCCLBENCH_BACKEND", "host"), ("AWS_SESSION_TOKEN", "hush")];
        let output = links.run(&secret, &line);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let ours = std::fs::read_to_string(file).unwrap();
        assert!(!ours.contains("hush"));
        let ours: serde_json::Value = serde_json::from_str(&ours).unwrap();
        let theirs: serde_json::Value = serde_json::from_str(printed).unwrap();
        assert_eq!(shape(&ours), shape(&theirs));
        let sizes = |value: &serde_json::Value| -> Vec<serde_json::Value> {
            let results = value["results"].as_array().unwrap();
            results.iter().map(|one| one["size"].clone()).collect()
        };
        assert_eq!(sizes(&ours), sizes(&theirs));
    }
}

/// Keys with the kind of each value; lists by their first element.
fn shape(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            let keys = map
                .iter()
                .map(|(key, value)| format!("{key}:{}", shape(value)));
            format!("{{{}}}", keys.collect::<Vec<_>>().join(","))
        }
        Value::Array(list) => format!("[{}]", list.first().map_or_else(String::new, shape)),
        Value::String(_) => "text".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::Bool(_) => "truth".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

#[test]
fn what_nccl_tests_lets_pass_in_silence_is_refused_with_its_code_for_that() {
    let links = Links::make();
    for (line, code, words) in [
        ("all_reduce_perf --itres 5", 255, "did you mean `--iters`"),
        ("all_reduce_perf -q 5", 255, "unknown option"),
        (
            "all_reduce_perf -d nosuch",
            255,
            "unknown datatype `nosuch`",
        ),
        ("all_reduce_perf -o plus", 255, "unknown reduction `plus`"),
        ("broadcast_perf -g 2 -r 2", 255, "root 2 is not a rank"),
        ("all_reduce_perf -b 0", 255, "never ends"),
        ("all_reduce_perf -b 8 -e 64 -i 0", 255, "never ends"),
        ("all_reduce_perf -b 64M", 255, "both `-b MIN` and `-e MAX`"),
        ("all_reduce_perf -n abc", 255, "not an integer"),
        ("all_reduce_perf -b 8 -e 64 G", 255, "extra word `G`"),
        ("all_reduce_perf -J run.txt", 255, "does not end in `.json`"),
        (
            "all_reduce_perf -J /nowhere/run.json",
            1,
            "/nowhere/run.json",
        ),
        ("all_reduce_perf -D 1 -R 2", 5, "not built in"),
        ("hypercube_perf -g 3 -b 64 -e 64", 255, "power of two"),
        ("all_reduce_perf -z 1 -G 1", 255, "exclude each other"),
    ] {
        let output = links.run(&[("NCCLBENCH_BACKEND", "sim")], line);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        assert!(said.contains(words), "{line}: {said}");
        let printed = text(&output.stdout);
        assert!(!printed.contains(" OK"), "{line}: {printed}");
    }
}

#[test]
fn variables_that_nccl_tests_takes_for_nothing_are_refused() {
    let links = Links::make();
    for (name, value) in [
        ("NCCL_TESTS_SPLIT", "7"),
        ("NCCL_TESTS_SPLIT", "MOD 0"),
        ("NCCL_TESTS_SPLIT_MASK", "x"),
        ("NCCL_TESTS_MIN_BW", "nan"),
        ("NCCLBENCH_BACKEND", "gpu"),
    ] {
        let variables = [("NCCLBENCH_BACKEND", "sim"), (name, value)];
        let output = links.run(&variables, "all_reduce_perf -b 8 -e 8");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(255), "{name}={value}: {said}");
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn every_way_of_reading_nccl_tests_reads_a_run_under_its_name() {
    let links = Links::make();
    let line = "all_reduce_perf --spawn 2 -b 8 -e 64K -f 8 -n 3";
    let output = links.run(&[("NCCLBENCH_BACKEND", "host")], line);
    let table = text(&output.stdout);
    let rows = parsers::by_thirteen_fields(&table);
    let sizes: Vec<_> = rows.iter().map(|row| row.0).collect();
    assert_eq!(sizes, [8, 64, 512, 4096, 32768]);
    assert_eq!(parsers::by_header_words(&table), rows);
    assert_eq!(parsers::by_kinds_of_fields(&table), rows);
    assert_eq!(parsers::by_last_eight_fields(&table), rows);
    assert_eq!(parsers::by_thirteen_groups(&table), rows);
    let inside: Vec<_> = rows.iter().map(|row| row.2).collect();
    assert_eq!(parsers::by_last_field_but_one(&table), inside);
    assert_eq!(
        parsers::nearest(&table, 5000),
        Some((4096, rows[3].1, rows[3].2))
    );
    let average = parsers::average_by_padding(&table);
    assert_eq!(parsers::health_check(&table), Some(average));
    assert_eq!(parsers::average_by_last_word(&table), average);
    assert_eq!(parsers::average_by_first_number(&table), average);
    assert_eq!(parsers::average_by_whole_line(&table), Some(average));
    assert!(parsers::says_success(&table) && parsers::says_none_wrong(&table));
}

/// One process of a launch, as its variables say.
fn under_srun(links: &Links, process: &str, line: &str) -> Output {
    let variables = [
        ("SLURM_STEP_ID", "0"),
        ("SLURM_PROCID", process),
        ("SLURM_STEP_NUM_TASKS", "4"),
    ];
    links.run(&variables, line)
}

#[test]
fn a_command_line_that_all_processes_refuse_is_told_by_the_first_alone() {
    let links = Links::make();
    for (process, tells) in [("0", true), ("3", false)] {
        let output = under_srun(&links, process, "all_reduce_perf --itres 5");
        assert_eq!(output.status.code(), Some(255));
        assert_eq!(!output.stderr.is_empty(), tells, "{}", text(&output.stderr));
    }
}
