//! nccl-tests' options in any combination: the program never panics, never dies of a signal, and
//! never says good without having measured.

use super::nccl_tests::{Links, text};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// One option with a value that is mostly good; sweeps stay small.
fn option() -> impl Strategy<Value = String> {
    const KNOWN: &[(&str, &[&str])] = &[
        (
            "-b",
            &["8", "64", "1K", "100", "0", "4M", "-1", "1T", "0.5", ""],
        ),
        ("-e", &["64", "1K", "64K", "8", "x"]),
        ("-f", &["2", "8", "1", "0"]),
        ("-i", &["64", "1K", "0"]),
        ("-n", &["1", "2", "3", "0", "abc"]),
        ("-w", &["0", "1", "2"]),
        ("-m", &["1", "2", "0"]),
        ("-c", &["0", "1", "2"]),
        ("-o", &["sum", "max", "avg", "mulsum", "all", "plus"]),
        ("-d", &["float", "half", "int8", "f8e4m3", "all", "flaot"]),
        ("-r", &["0", "1", "-1", "all", "99"]),
        ("-g", &["1", "2", "3", "0"]),
        ("-t", &["1", "2", "5000"]),
        ("-a", &["0", "1", "2", "3", "4"]),
        ("-z", &["0", "1", "2", "3"]),
        ("-y", &["0", "1"]),
        ("-p", &["0", "1"]),
        ("-T", &["0", "30"]),
        ("-G", &["0", "1", "2"]),
        ("-C", &["0", "1"]),
        ("-S", &["0", "1"]),
        ("-M", &["0", "1"]),
        ("-I", &["0", "1"]),
        ("-K", &["0", "1", "9"]),
        ("-R", &["0", "1", "2", "3"]),
        ("-x", &["0", "1", "2"]),
        ("-u", &["0", "1", "7"]),
        ("-D", &["0", "1"]),
        ("-V", &["16", "999"]),
        ("-N", &["1", "2"]),
        ("-J", &["x.txt", "/nowhere/x.json"]),
        ("--minb", &["64"]),
        ("--step", &["2"]),
        ("--frobnicate", &["1"]),
    ];
    prop::sample::select(KNOWN).prop_flat_map(|(name, values)| {
        prop::sample::select(values).prop_map(move |value| format!("{name} {value}"))
    })
}

const PROGRAMS: [&str; 11] = [
    "all_reduce_perf",
    "all_gather_perf_mpi",
    "reduce_scatter_perf",
    "alltoall_perf",
    "alltoallv_perf",
    "broadcast_perf",
    "reduce_perf",
    "gather_perf",
    "scatter_perf",
    "sendrecv_perf",
    "hypercube_perf",
];

fn line() -> impl Strategy<Value = (String, &'static str)> {
    let program = prop::sample::select(&PROGRAMS[..]);
    let options = prop::collection::vec(option(), 0..6);
    let backend = prop::sample::select(&["sim", "host"][..]);
    (program, options, backend).prop_map(|(program, options, backend)| {
        // small from the start, and overridden by what follows
        let line = format!("{program} -b 8 -e 256 -f 4 -n 2 {}", options.join(" "));
        (line.trim_end().to_owned(), backend)
    })
}

/// Lines that hold a row of the table.
fn rows(table: &str) -> usize {
    let rows = table.lines().filter(|line| line.starts_with(' '));
    rows.filter(|line| line.split_whitespace().count() >= 12)
        .count()
}

#[test]
fn no_combination_of_options_panics_or_is_good_without_having_measured() {
    let links = Links::make();
    let good = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(Config {
        cases: 160,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&line(), |(line, backend)| {
            let output = links.run(&[("NCCLBENCH_BACKEND", backend)], &line);
            let (table, said) = (text(&output.stdout), text(&output.stderr));
            let code = output.status.code();
            prop_assert!(
                matches!(code, Some(0..=7 | 255)),
                "{backend}: {line}: {code:?}\n{said}"
            );
            prop_assert!(!said.contains("panicked"), "{line}: {said}");
            if code == Some(0) {
                good.set(good.get() + 1);
                prop_assert!(rows(&table) > 0, "{backend}: {line}\n{table}{said}");
                prop_assert!(table.contains("values : 0 OK"), "{line}\n{table}");
            } else {
                prop_assert!(
                    said.contains("error: ") || said.contains("note: waived"),
                    "{line}: {said}"
                );
                prop_assert!(!table.contains("values : 0 OK"), "{line}\n{table}");
            }
            Ok(())
        })
        .unwrap();
    assert!(
        (20..140).contains(&good.get()),
        "{} of 160 were good",
        good.get()
    );
}
