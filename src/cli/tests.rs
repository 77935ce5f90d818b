//! Command lines as people write them, and what becomes of them.

use super::*;
use crate::base::sweep::Step;
use crate::base::{Bytes, DataType, Kind, RedOp};
use crate::digest::Average;
use crate::record::Blocking;
use proptest::prelude::*;
use std::time::Duration;

fn read(line: &str) -> Result<Parsed, Fault> {
    let words = line.split_whitespace();
    parse(
        std::iter::once("ncclbench").chain(words).map(Into::into),
        &Env::default(),
    )
}

fn args(line: &str) -> Args {
    match read(line).unwrap() {
        Parsed::Measure(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn where_args(line: &str) -> WhereArgs {
    match read(line).unwrap() {
        Parsed::Where(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn refusal(line: &str) -> String {
    let fault = read(line).unwrap_err();
    assert_eq!(fault.kind, Kind::Usage, "{line}");
    fault.to_string()
}

#[test]
fn without_options_the_defaults_are_nccl_tests_but_for_the_step() {
    let args = args("allreduce");
    let plan = &args.plan;
    assert_eq!(plan.collective.name(), "allreduce");
    assert_eq!(
        (plan.sweep.min, plan.sweep.max),
        (Bytes(32 << 20), Bytes(32 << 20))
    );
    assert_eq!(plan.sweep.step, Step::Factor(2));
    assert_eq!(
        (plan.dtypes.as_slice(), plan.redops.as_slice()),
        (&[DataType::Float][..], &[RedOp::Sum][..])
    );
    assert_eq!(
        (plan.iterations, plan.warmup, plan.ops_per_batch),
        (20, 1, 1)
    );
    assert_eq!(
        (plan.checks, plan.cycles, plan.blocking),
        (1, 1, Blocking::None)
    );
    assert_eq!(
        (args.threads, args.gpus, args.average),
        (1, 1, Average::Mean)
    );
    assert!(!args.timestamps && !args.dry_run && !args.allow_shared_gpu);
    assert_eq!(args.timeout_op, Some(Duration::from_mins(10)));
}

#[test]
fn nccl_tests_command_lines_mean_the_same_here() {
    let short = args(
        "all_reduce_perf -b 8 -e 16G -f 4 -g 2 -t 3 -c 0 -n 100 -w 5 -m 2 -d half -o avg -a 3 -N 0 -T 9 -S 1 -z 3",
    );
    let long = args(
        "alltoall --minbytes 8 --maxbytes 16G --stepfactor 4 --ngpus 2 --nthreads 3 --check 0 --iters 100 \
         --warmup_iters 5 --agg_iters 2 --datatype half --op avg --average 3 --run_cycles 0 --timeout 9 \
         --report_timestamps 1 --blocking 3",
    );
    let hyphens = args(
        "all-to-all -b8 -e16G -f4 -g2 -t3 -c0 -n0x64 --warmup-iters=5 --agg-iters=2 -dhalf -oavg -a3 \
         --run-cycles=0 -T9 --report-timestamps=1 -z3",
    );
    for args in [short, long, hyphens] {
        let plan = &args.plan;
        assert_eq!(
            (plan.sweep.min, plan.sweep.max),
            (Bytes(8), Bytes(16 << 30))
        );
        assert_eq!(plan.sweep.step, Step::Factor(4));
        assert_eq!(
            (plan.iterations, plan.warmup, plan.ops_per_batch),
            (100, 5, 2)
        );
        assert_eq!(
            (plan.checks, plan.cycles, plan.blocking),
            (0, 0, Blocking::BarrierOutside)
        );
        assert_eq!(
            (plan.dtypes[0], plan.redops[0]),
            (DataType::Half, RedOp::Avg)
        );
        assert_eq!(
            (args.threads, args.gpus, args.average),
            (3, 2, Average::Max)
        );
        assert_eq!(
            (args.timestamps, args.timeout_op),
            (true, Some(Duration::from_secs(9)))
        );
    }
}

#[test]
fn a_step_in_bytes_is_taken_where_no_factor_above_1_is_given() {
    for (line, step) in [
        ("allreduce -i 1M -b 1 -e 32M", Step::Bytes(1 << 20)),
        ("allreduce -f 1 -b 1 -e 32M", Step::Bytes(1 << 20)),
        ("allreduce -f 1 -i 4K", Step::Bytes(4096)),
        ("allreduce -f 3 -i 4K", Step::Factor(3)),
    ] {
        assert_eq!(args(line).plan.sweep.step, step, "{line}");
    }
}

#[test]
fn all_datatypes_and_reductions_can_be_asked_for() {
    let args = args("allreduce -d all -o ALL");
    assert_eq!(args.plan.dtypes, DataType::ALL);
    assert_eq!(args.plan.redops, RedOp::ALL);
}

#[test]
fn the_last_of_a_repeated_option_counts_as_in_nccl_tests() {
    assert_eq!(args("allreduce -n 5 -n 7").plan.iterations, 7);
}

#[test]
fn a_processs_place_is_given_whole_or_not_at_all() {
    let launch = args("allreduce --rank 1 --world 3 --rendezvous node-a:29500").launch;
    assert_eq!((launch.rank, launch.world), (Some(1), Some(3)));
    assert_eq!(launch.rendezvous.as_deref(), Some("node-a:29500"));
    assert!(refusal("allreduce --rank 1").contains("belong together"));
    assert!(refusal("allreduce --world 2 --rank 1").contains("--rendezvous"));
    assert!(refusal("allreduce --rank 3 --world 3 --rendezvous a:1").contains("count from 0"));
    assert!(refusal("allreduce --spawn 2 --rank 1 --world 2 --rendezvous a:1").contains("exclude"));
    assert!(refusal("allreduce --spawn 2 --launcher pmix").contains("exclude"));
}

#[test]
fn where_takes_the_launch_options_of_a_run() {
    let args = where_args(
        "where --rank 1 --world 3 --rendezvous node-a:29500 -g 2 -t 3 --json --timeout-init 7",
    );
    assert_eq!((args.launch.rank, args.launch.world), (Some(1), Some(3)));
    assert_eq!(args.launch.ranks_per_process, 6);
    assert_eq!(args.launch.timeout_init, Duration::from_secs(7));
    assert!(args.json && args.backend.is_none());
    let spawned = where_args("where --spawn 4 --backend host");
    assert_eq!(spawned.launch.spawn, Some(4));
    assert_eq!(
        spawned.backend.map(crate::backend::Backend::name),
        Some("host")
    );
    assert!(refusal("where --spawn 2 --launcher pmix").contains("exclude"));
    assert!(refusal("where -b 8").contains("-b"));
    assert!(refusal("where --timeout-init 0").contains("more than 0"));
}

#[test]
fn where_has_a_page_of_help_of_its_own() {
    for line in ["where --help", "help where"] {
        match read(line) {
            Ok(Parsed::Text(text)) => assert!(text.contains("--json"), "{text}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    assert!(refusal("help nothing").contains("there is no help on `nothing`"));
}

#[test]
fn what_is_not_accepted_is_refused_with_what_is() {
    for (line, words) in [
        ("", "allreduce, allgather"),
        ("frobnicate", "sendrecv, hypercube"),
        ("broadcast -r -2", "-1 for all"),
        ("allreduce -d flaot", "bfloat16"),
        ("allreduce -o plus", "mulsum"),
        (
            "allreduce --backend gpu",
            "`gpu` for `--backend`; accepted: ",
        ),
        ("allreduce -b 32MM", "one suffix K, M or G"),
        ("allreduce -b 64M", "both `-b MIN` and `-e MAX`"),
        ("allreduce -e 8", "both `-b MIN` and `-e MAX`"),
        ("allreduce -b 0", "at least 1"),
        ("allreduce -i 0", "never ends"),
        ("allreduce -n 0", "at least 1"),
        ("allreduce -m 0", "at least 1"),
        ("allreduce -w -1", "at least 0"),
        ("allreduce -c -1", "at least 0"),
        ("allreduce -N -1", "at least 0"),
        ("allreduce -T -1", "at least 0"),
        ("allreduce -g 0", "from 1 to 4096"),
        ("allreduce -t 5000", "from 1 to 4096"),
        ("allreduce -a 4", "from 0 to 3"),
        ("allreduce -z 4", "from 0 to 3"),
        ("allreduce -n", "needs a value"),
        ("allreduce --itres 5", "`--iters`"),
        ("allreduce -q", "unknown option"),
        ("allreduce --timeout-init 0", "more than 0"),
        ("allreduce alltoall", "extra word `alltoall`"),
    ] {
        let text = refusal(line);
        assert!(text.contains(words), "{line}: {text}");
    }
}

#[test]
fn words_that_are_no_collective_are_answered_with_a_text() {
    for (line, words) in [
        ("--help", "Exit codes:"),
        ("-h", "Exit codes:"),
        ("help", "Exit codes:"),
        ("--version", env!("CARGO_PKG_VERSION")),
        ("--list", "f8e5m2"),
        ("list", "backends:"),
    ] {
        let Parsed::Text(text) = read(line).unwrap() else {
            panic!("{line}")
        };
        assert!(text.contains(words), "{line}: {text}");
    }
}

#[test]
fn the_list_names_everything_that_is_registered() {
    let Parsed::Text(text) = read("--list").unwrap() else {
        panic!("no list")
    };
    let names = crate::collective::ALL.iter().map(|one| one.name());
    for name in names.chain(crate::backend::ALL.iter().map(|one| one.name())) {
        assert!(text.contains(&format!("\n  {name} ")), "{name}");
    }
}

fn word() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "allreduce",
        "alltoall",
        "where",
        "--json",
        "-b",
        "-e",
        "-f",
        "-i",
        "-n",
        "-w",
        "-m",
        "-c",
        "-o",
        "-d",
        "-g",
        "-t",
        "-a",
        "-N",
        "-T",
        "-S",
        "-z",
        "--spawn",
        "--rank",
        "--world",
        "--rendezvous",
        "--backend",
        "--seed",
        "--timeout-op",
        "--dry-run",
        "--output",
        "8",
        "1",
        "0",
        "2",
        "16G",
        "64K",
        "all",
        "float",
        "sum",
        "sim",
        "a:5",
        "-1",
        "0x10",
        "--",
        "",
    ];
    prop_oneof![
        8 => prop::sample::select(KNOWN).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
    ]
}

proptest! {
    #[test]
    fn every_line_is_refused_for_its_usage_or_valid(words in prop::collection::vec(word(), 0..12)) {
        let line = std::iter::once("ncclbench".to_owned()).chain(words);
        match parse(line.map(Into::into), &Env::default()) {
            Ok(Parsed::Text(text)) => prop_assert!(!text.is_empty()),
            Ok(Parsed::Compare(args)) => prop_assert!(!args.runs.is_empty()),
            Ok(Parsed::Results(args)) => prop_assert!(args.store.is_none_or(|store| !store.is_empty())),
            Ok(Parsed::Baseline(args)) => prop_assert!(args.store.is_none_or(|store| !store.is_empty())),
            Ok(Parsed::Links(args)) => prop_assert!(!args.names.is_empty()),
            Ok(Parsed::Pingpong(args)) => prop_assert!(args.iterations > 0),
            Ok(Parsed::Sweep(args)) => prop_assert!(args.sweep.is_some()),
            Ok(Parsed::Plot(args)) => prop_assert!(args.has_material()),
            Ok(Parsed::Report(args)) => prop_assert!(!args.sources.runs.is_empty()),
            Ok(Parsed::Import(args)) => prop_assert!(!args.logs.is_empty()),
            Ok(Parsed::Contrast(args)) => prop_assert!(args.arms.len() > 1),
            Ok(Parsed::Path(args)) => prop_assert!(!args.logs.is_empty()),
            Ok(Parsed::Tune(args)) => prop_assert!(args.world.ranks > 1),
            Ok(Parsed::Ladder(args)) => prop_assert!(args.world.ranks > 1),
            Ok(Parsed::Doctor(args)) => prop_assert!(args.ranks > 0),
            Ok(Parsed::Hunt(args)) => prop_assert!(args.size.0 > 0 && args.iterations > 0),
            Ok(Parsed::Where(args)) => {
                prop_assert!(args.gpus > 0 && args.threads > 0);
                prop_assert!(args.launch.rank.is_none_or(|rank| Some(rank) < args.launch.world));
            }
            Ok(Parsed::Measure(args)) => {
                let plan = &args.plan;
                prop_assert!((plan.iterations > 0) != plan.effort.precision.is_some());
                prop_assert!(plan.ops_per_batch > 0);
                prop_assert!(args.gpus > 0 && args.threads > 0 && plan.sweep.min <= plan.sweep.max);
                prop_assert!(args.launch.rank.is_none_or(|rank| Some(rank) < args.launch.world));
            }
            Err(fault) => {
                prop_assert_eq!(fault.kind, Kind::Usage);
                prop_assert!(!fault.message.is_empty() && !fault.message.contains('\n'), "{}", fault);
            }
        }
    }
}
