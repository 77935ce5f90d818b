//! nccl-tests' rarer options on the stand-ins: graphs, registered buffers, events. What was done is counted in the stand-ins' journal.

use crate::child::{Printed, child};
use crate::stand_ins::library;
use crate::sweep::{self, Outcome};
use crate::world::Worlds;
use ncclbench::backend::{self, CommWish};
use ncclbench::base::sweep::{Step, Sweep};
use ncclbench::base::{Bytes, DataType, Env, Fault, Kind, Rank, RedOp};
use ncclbench::collective;
use ncclbench::ffi::cuda::Driver;
use ncclbench::plan::{PlanSpec, Roots};
use ncclbench::record::{Blocking, Registration, Sample, Tweaks};

/// Threads and the ranks of each.
const SHAPES: [(u32, u32); 3] = [(1, 1), (3, 1), (1, 3)];

/// 3 iterations of 2 operations on one odd size, one round of checking, no warm-up.
pub(crate) fn spec(name: &str, tweaks: Tweaks) -> PlanSpec {
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
pub(crate) fn run(world: &Worlds, spec: &PlanSpec) -> (Vec<Outcome>, Vec<Sample>) {
    let said = world.on_threads(|seat, plane| {
        let mut session = backend::ALL[0].open(seat, plane).unwrap();
        let specs = std::slice::from_ref(spec);
        sweep::run_with_samples(specs, session.as_mut(), seat, plane)
    });
    said.into_iter().next().unwrap()
}

pub(crate) fn expect_right(outcomes: &[Outcome]) {
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

/// Runs `body` in a child with variables set and a journal; gives what it printed and the journal's lines.
pub(crate) fn logged(
    test: &str,
    variables: &[(&str, &str)],
    body: fn(),
) -> Option<(Printed, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let path_text = path.to_str().unwrap();
    let mut all = vec![("STAND_IN_JOURNAL", path_text)];
    all.extend_from_slice(variables);
    let printed = child(test, &all, body)?;
    let log = std::fs::read_to_string(&path).unwrap_or_default();
    Some((printed, log.lines().map(str::to_owned).collect()))
}

pub(crate) fn count(log: &[String], part: &str) -> usize {
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
        let specs = [spec("allreduce", tweaks)];
        let engine = sweep::engine(&specs, session.as_mut(), seat, plane);
        engine.prepare(tweaks.registration).unwrap_err()
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
            let specs = [spec("allreduce", registered(Registration::Symmetric))];
            let engine = sweep::engine(&specs, session.as_mut(), seat, plane);
            engine.prepare(Registration::Symmetric).unwrap()
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
