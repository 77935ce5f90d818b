//! nccl-tests' rarer options on the stand-ins: graphs, registered buffers, events, the communicator's
//! configuration, the null stream. What was done is counted in the stand-ins' journal.

use crate::child::{Printed, child};
use crate::stand_ins::library;
use crate::sweep::{self, Outcome};
use crate::world::{Worlds, wish};
use ncclbench::backend::{self, CommWish};
use ncclbench::base::sweep::{Step, Sweep};
use ncclbench::base::{Bytes, DataType, Env, Fault, Kind, Rank, RedOp};
use ncclbench::collective;
use ncclbench::ffi::cuda::Driver;
use ncclbench::plan::{PlanSpec, Roots};
use ncclbench::record::{Blocking, CtaPolicy, Registration, Sample, Tweaks};
use std::process::Command;

/// Threads and the ranks of each.
const SHAPES: [(u32, u32); 3] = [(1, 1), (3, 1), (1, 3)];

/// 3 iterations of 2 operations on one odd size, one round of checking, no warm-up.
fn spec(name: &str, tweaks: Tweaks) -> PlanSpec {
    PlanSpec {
        dtypes: vec![DataType::Half],
        redops: vec![RedOp::Sum],
        roots: Roots::One(Rank(0)),
        sweep: Sweep::new(Bytes(4099), Bytes(4099), Step::Factor(2)).unwrap(),
        iterations: 3,
        ops_per_batch: 2,
        warmup: 0,
        tweaks,
        ..sweep::everything(name).swap_remove(0)
    }
}

/// Runs a plan on a world; what came of it, and the samples, on its first thread.
fn run(world: &Worlds, spec: &PlanSpec) -> (Vec<Outcome>, Vec<Sample>) {
    let said = world.on_threads(|seat, plane| {
        let mut session = backend::ALL[0].open(seat, plane).unwrap();
        let specs = std::slice::from_ref(spec);
        sweep::run_with_samples(specs, session.as_mut(), seat, plane)
    });
    said.into_iter().next().unwrap()
}

fn expect_right(outcomes: &[Outcome]) {
    assert_eq!(outcomes.len(), 2);
    for (case, outcome) in outcomes {
        assert!(
            matches!(outcome, Ok(Some(0) | None)),
            "{case:?} {outcome:?}"
        );
    }
}

/// Every collective in every shape that has it.
fn every_collective_is_right(tweaks: Tweaks) {
    for what in collective::ALL {
        for (threads, lanes) in SHAPES {
            if what.name() == "hypercube" && threads * lanes == 3 {
                continue;
            }
            let (outcomes, _) = run(&Worlds::new(threads, lanes), &spec(what.name(), tweaks));
            expect_right(&outcomes);
        }
    }
}

/// Runs `body` in a child with variables set and a log; gives what it printed and the log's lines.
fn logged(test: &str, variables: &[(&str, &str)], body: fn()) -> Option<(Printed, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let path_text = path.to_str().unwrap();
    let mut all = vec![("STAND_IN_JOURNAL", path_text)];
    all.extend_from_slice(variables);
    let printed = child(test, &all, body)?;
    let log = std::fs::read_to_string(&path).unwrap_or_default();
    Some((printed, log.lines().map(str::to_owned).collect()))
}

fn count(log: &[String], part: &str) -> usize {
    log.iter().filter(|line| line.contains(part)).count()
}

fn graph(launches: u32) -> Tweaks {
    Tweaks {
        graph_launches: launches,
        ..Tweaks::default()
    }
}

fn registered(registration: Registration) -> Tweaks {
    Tweaks {
        registration,
        ..Tweaks::default()
    }
}

#[test]
fn every_collective_is_right_as_a_graph() {
    every_collective_is_right(graph(2));
}

#[test]
fn a_graph_runs_what_it_recorded_as_often_as_it_is_launched() {
    let test = "tweaks::a_graph_runs_what_it_recorded_as_often_as_it_is_launched";
    let Some((_, log)) = logged(test, &[], || {
        run(&Worlds::new(2, 1), &spec("allreduce", graph(4)));
    }) else {
        return;
    };
    // for each placement: once to try it, 4 times 3 iterations of 2 operations, once to check it
    assert_eq!(count(&log, "rank 1 ran"), 2 * (1 + 4 * 3 * 2 + 1));
    // on each rank and for each placement: 4 launches of the loop, one of the check
    assert_eq!(count(&log, "graph launched"), 2 * 2 * (4 + 1));
    // a recording and its launchable form, for the loop and for the check
    assert_eq!(count(&log, "graph made"), 2 * 2 * 2 * 2);
    assert_eq!(count(&log, "graph destroyed"), count(&log, "graph made"));
}

#[test]
fn without_a_graph_nothing_is_recorded_and_no_event_made() {
    let test = "tweaks::without_a_graph_nothing_is_recorded_and_no_event_made";
    let Some((_, log)) = logged(test, &[], || {
        run(&Worlds::new(2, 1), &spec("allreduce", Tweaks::default()));
    }) else {
        return;
    };
    assert_eq!(count(&log, "rank 0 ran"), 2 * (1 + 3 * 2 + 1));
    assert_eq!(count(&log, "graph") + count(&log, "event"), 0);
    assert_eq!(count(&log, "registered"), 0);
    assert_eq!(count(&log, "stream made"), 2);
}

/// The stand-in keeps the driver's rule, without which the tests above would pass for a loop that polls.
#[test]
fn a_stream_that_is_polled_while_it_is_recorded_loses_the_recording() {
    let driver = Driver::load(&Env::from_iter([(
        "NCCLBENCH_CUDA",
        library("libcuda.so.1"),
    )]));
    let driver = driver.unwrap();
    let context = driver.primary_context(driver.device(0).unwrap()).unwrap();
    driver.set_current(context).unwrap();
    let stream = driver.stream().unwrap();
    driver.begin_recording(stream).unwrap();
    let polled = driver.is_idle(stream).unwrap_err();
    assert!(
        polled.message.contains("STREAM_CAPTURE_UNSUPPORTED, 900"),
        "{polled}"
    );
    let ended = driver.end_recording(stream).unwrap_err();
    assert!(
        ended.message.contains("STREAM_CAPTURE_INVALIDATED, 901"),
        "{ended}"
    );
    driver.begin_recording(stream).unwrap();
    assert!(
        driver.alloc(8).is_err(),
        "a recording thread must not allocate"
    );
    assert!(driver.end_recording(stream).is_err());
    let null = Driver::null_stream();
    assert!(
        driver.begin_recording(null).is_err(),
        "the null stream is not recorded"
    );
}

/// The fault of preparing a world for tweaks.
fn refused(world: &Worlds, tweaks: Tweaks) -> Fault {
    let said = world.on_threads(|seat, plane| {
        let mut session = backend::ALL[0].open(seat, plane).unwrap();
        sweep::prepare(&spec("allreduce", tweaks), session.as_mut(), seat, plane).unwrap_err()
    });
    said.into_iter().next().unwrap()
}

#[test]
fn an_old_library_refuses_registration_by_the_function_that_it_lacks() {
    let old = Worlds::new(2, 1).library("old/libnccl.so.2");
    for (how, function, since) in [
        (Registration::Local, "`ncclCommRegister`", "2.19"),
        (Registration::Symmetric, "`ncclCommWindowRegister`", "2.27"),
    ] {
        let fault = refused(&old, registered(how));
        assert_eq!(fault.kind, Kind::Unsupported);
        let message = &fault.message;
        assert!(
            message.contains(function) && message.contains(since),
            "{fault}"
        );
        assert!(message.contains("2.18.5 is loaded"), "{fault}");
    }
}

/// In a process of its own: a second libcuda of the same name would not be looked at.
#[test]
fn an_old_driver_refuses_graphs_by_the_function_that_it_lacks() {
    let test = "tweaks::an_old_driver_refuses_graphs_by_the_function_that_it_lacks";
    let Some(said) = child(test, &[], || {
        let old = Worlds::new(1, 2).driver("old/libcuda.so.1");
        let (outcomes, _) = run(&old, &spec("allreduce", Tweaks::default()));
        expect_right(&outcomes);
        let fault = refused(&old, graph(1));
        println!("{:?} {fault}", fault.kind);
    }) else {
        return;
    };
    said.expect(
        "Unsupported CUDA graphs need `cuStreamBeginCapture_v2` (CUDA 11.4), and the driver",
    );
    said.expect("is for CUDA 12.9");
}

#[test]
fn a_null_stream_as_a_graph_is_refused() {
    let world = Worlds::new(1, 2).comm(CommWish {
        null_stream: true,
        ..CommWish::default()
    });
    let fault = refused(&world, graph(1));
    assert!(
        fault.message.contains("`-y`") && fault.message.contains("`-G`"),
        "{fault}"
    );
}

#[test]
fn every_operation_of_every_collective_lies_in_registered_buffers_that_are_given_up() {
    let test =
        "tweaks::every_operation_of_every_collective_lies_in_registered_buffers_that_are_given_up";
    let vars = [("STAND_IN_REGISTERED_ONLY", "1")];
    let Some((_, log)) = logged(test, &vars, || {
        let shifted = Tweaks {
            unalign_count: 3,
            ..registered(Registration::Local)
        };
        every_collective_is_right(registered(Registration::Symmetric));
        every_collective_is_right(shifted);
    }) else {
        return;
    };
    assert!(count(&log, "registered a window") > 0 && count(&log, "registered a buffer") > 0);
    let made = count(&log, " registered a");
    assert_eq!(count(&log, "deregistered"), made);
    // two buffers of each rank: 10 collectives on three shapes, one on one
    assert_eq!(made, 2 * 2 * (10 * (1 + 3 + 3) + 1));
}

#[test]
fn buffers_that_are_not_registered_are_noticed_where_they_must_be() {
    let test = "tweaks::buffers_that_are_not_registered_are_noticed_where_they_must_be";
    let vars = [("STAND_IN_REGISTERED_ONLY", "1")];
    let Some((said, _)) = logged(test, &vars, || {
        let trial = crate::trial::Trial::all_reduce(DataType::Float, RedOp::Sum, 1001);
        Worlds::new(2, 1).run_and_print(&[trial]);
    }) else {
        return;
    };
    said.expect("a buffer of an operation is not registered");
}

#[test]
fn windows_that_nccl_accepts_and_does_not_make_are_told() {
    let test = "tweaks::windows_that_nccl_accepts_and_does_not_make_are_told";
    let vars = [("STAND_IN_NO_WINDOWS", "1")];
    let Some((said, log)) = logged(test, &vars, || {
        let said = Worlds::new(1, 2).on_threads(|seat, plane| {
            let mut session = backend::ALL[0].open(seat, plane).unwrap();
            let spec = spec("allreduce", registered(Registration::Symmetric));
            sweep::prepare(&spec, session.as_mut(), seat, plane).unwrap()
        });
        println!("{:?}", said[0]);
    }) else {
        return;
    };
    said.expect("accepted 4 buffers for symmetric windows (`-R 2`) and made none of 4");
    assert_eq!(count(&log, "registered"), 0);
}

#[test]
fn iterations_are_timed_by_events_in_every_way_of_waiting() {
    let test = "tweaks::iterations_are_timed_by_events_in_every_way_of_waiting";
    let vars = [("STAND_IN_SLOW", "1:2000")];
    let Some((said, log)) = logged(test, &vars, || {
        let tweaks = Tweaks {
            per_iteration: Some(0),
            ..Tweaks::default()
        };
        for blocking in Blocking::ALL {
            let spec = PlanSpec {
                blocking,
                ..spec("allreduce", tweaks)
            };
            let (_, samples) = run(&Worlds::new(1, 2), &spec);
            for sample in samples {
                let [series] = sample.iterations_us.as_slice() else {
                    panic!("{sample:?}")
                };
                assert_eq!(series.len(), 3);
                // each of the two operations of an iteration takes 2 ms longer on rank 1
                assert!(series.iter().all(|time| *time >= 2000.0), "{series:?}");
                let loop_us = sample.time_us[0] * 6.0;
                let sum: f64 = series.iter().map(|time| time * 2.0).sum();
                // each of the two ranks' iterations lie in the loop, unless a barrier follows each
                let within = blocking == Blocking::BarrierOutside || sum <= 2.0 * loop_us;
                assert!(within, "{series:?} in {loop_us}");
            }
            println!("{blocking:?} timed");
        }
    }) else {
        return;
    };
    said.expect("BarrierOutside timed");
    // 4 marks that neighbours share, or 6; on two ranks; kept from one placement to the next
    assert_eq!(count(&log, "event made"), 2 * (4 + 4 + 4 + 6));
    assert_eq!(count(&log, "event destroyed"), count(&log, "event made"));
}

#[test]
fn shifted_buffers_give_right_results_in_every_collective() {
    every_collective_is_right(Tweaks {
        unalign_count: 3,
        ..Tweaks::default()
    });
}

#[test]
fn the_null_stream_is_used_where_it_is_wished() {
    let test = "tweaks::the_null_stream_is_used_where_it_is_wished";
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
    let test = "tweaks::a_policy_and_few_peers_are_in_the_configuration";
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
    let test = "tweaks::a_library_before_2_30_is_not_told_of_peers";
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
