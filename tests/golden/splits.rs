//! `NCCL_TESTS_SPLIT` under nccl-tests' names, on the CPU.

use super::nccl_tests::{Links, text};
use super::parsers;

#[test]
fn a_split_measures_groups_side_by_side_and_shows_each_ranks_group() {
    let links = Links::make();
    for (variable, split, colors, size) in [
        ("NCCL_TESTS_SPLIT", "MOD 2", [0, 1, 0, 1, 0], 96),
        ("NCCL_TESTS_SPLIT", "/ 3", [0, 0, 0, 1, 1], 96),
        ("NCCL_TESTS_SPLIT_MASK", "4", [0, 0, 0, 0, 4], 64),
    ] {
        let file = links.folder().join(format!("{size}{}.jsonl", colors[1]));
        let variables = [("NCCLBENCH_BACKEND", "host"), (variable, split)];
        let line = "all_gather_perf_mpi --spawn 5 -b 100 -e 100 -n 2 --output";
        let output = links.run(&variables, &format!("{line} {}", file.display()));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("in 2 groups"), "{said}");
        let table = text(&output.stdout);
        for (rank, color) in colors.iter().enumerate() {
            let place = format!("#  Rank {rank:2} Group {color:2} Pid ");
            assert!(table.contains(&place), "{place}\n{table}");
        }
        // the size follows from the ranks of the first group, not of all
        assert_eq!(parsers::by_thirteen_fields(&table)[0].0, size, "{split}");
        let run = ncclbench::record::Run::read(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(run.header.groups, colors);
    }
}

#[test]
fn groups_of_different_sizes_take_no_roots_in_turn() {
    let links = Links::make();
    let variables = [("NCCLBENCH_BACKEND", "host"), ("NCCL_TESTS_SPLIT", "MOD 2")];
    let line = "broadcast_perf --spawn 3 -b 64 -e 64";
    let output = links.run(&variables, &format!("{line} -r -1"));
    assert_eq!(output.status.code(), Some(255), "{}", text(&output.stderr));
    let output = links.run(&variables, &format!("{line} -r 1"));
    let said = text(&output.stderr);
    assert!(
        said.contains("root 1 is not a rank"),
        "a group of one: {said}"
    );
    let output = links.run(&variables, &format!("{line} -r 0"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
