//! Backend `nccl` on the stand-in libraries: the real loading, launching and checking code, without a GPU.
//!
//! A stand-in is steered by variables, which a test cannot set in its own process; such a test
//! runs its body in a child process of the same program and looks at what that prints.

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and a child tells its parent by printing"
)]

#[path = "stand_ins/child.rs"]
mod child;
#[path = "stand_ins/comm.rs"]
mod comm;
#[path = "stand_ins/ids.rs"]
mod ids;
#[path = "common/stand_ins.rs"]
mod stand_ins;
#[path = "common/sweep.rs"]
mod sweep;
#[path = "stand_ins/sweeps.rs"]
mod sweeps;
#[path = "stand_ins/trial.rs"]
mod trial;
#[path = "stand_ins/tweaks.rs"]
mod tweaks;
#[path = "stand_ins/world.rs"]
mod world;

use child::child;
use ncclbench::backend;
use ncclbench::base::{DataType, Kind, RedOp};
use trial::Trial;
use world::{Worlds, probe, wish};

/// Odd counts around what an operation splits and a kernel vectorises.
const COUNTS: [u64; 4] = [0, 1, 1001, 4099];

/// Every way of putting 1, 2, 3 and 5 ranks on threads.
const SHAPES: [(u32, u32); 6] = [(1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (5, 1)];

#[test]
fn both_libraries_are_found_and_say_that_they_are_stand_ins() {
    let equipment = probe(&wish("libnccl.so.2")).unwrap();
    let names: Vec<_> = equipment
        .libraries
        .iter()
        .map(|library| library.name.as_str())
        .collect();
    assert_eq!(names, ["cuda driver", "nccl"]);
    for library in &equipment.libraries {
        assert!(library.stand_in && library.path.contains("stand-ins"));
    }
    assert_eq!(equipment.libraries[1].version, "2.30.7");
    assert_eq!(equipment.libraries[1].code, Some(23007));
    assert_eq!(equipment.devices.len(), 8);
    assert_eq!(equipment.devices[3].bus_id, "0000:1d:00");
    assert_eq!(equipment.devices[3].memory_bytes, Some(4 << 30));
    assert!(
        equipment.devices[3]
            .uuid
            .as_ref()
            .unwrap()
            .starts_with("GPU-")
    );
}

#[test]
fn every_datatype_and_operator_is_reduced_right_on_every_shape() {
    for (threads, lanes) in SHAPES {
        let trials: Vec<_> = DataType::ALL
            .iter()
            .flat_map(|&dtype| RedOp::ALL.iter().map(move |&redop| (dtype, redop)))
            .flat_map(|(dtype, redop)| COUNTS.map(|count| Trial::all_reduce(dtype, redop, count)))
            .collect();
        for said in Worlds::new(threads, lanes).run(&trials) {
            said.expect_right();
        }
    }
}

#[test]
fn every_datatype_is_exchanged_right_on_every_shape() {
    for (threads, lanes) in SHAPES {
        let trials: Vec<_> = DataType::ALL
            .iter()
            .flat_map(|&dtype| [0, 16, 1008].map(|count| Trial::all_to_all(dtype, count)))
            .collect();
        for said in Worlds::new(threads, lanes).run(&trials) {
            said.expect_right();
        }
    }
}

#[test]
fn without_the_librarys_all_to_all_it_is_composed_of_sends_and_receives() {
    for (threads, lanes) in SHAPES {
        let world = Worlds::new(threads, lanes).library("old/libnccl.so.2");
        for said in world.run(&[Trial::all_to_all(DataType::Float, 1008)]) {
            assert!(!said.native, "the old stand-in has no ncclAlltoAll");
            said.expect_right();
        }
    }
}

#[test]
fn eight_bit_floats_on_an_old_library_are_a_waived_row_that_names_its_version() {
    let world = Worlds::new(3, 1).library("old/libnccl.so.2");
    let trials = [
        Trial::all_reduce(DataType::F8e4m3, RedOp::Sum, 1001),
        Trial::all_to_all(DataType::F8e5m2, 16),
        Trial::all_reduce(DataType::Float, RedOp::Sum, 1001),
    ];
    let said = world.run(&trials);
    for waived in said.iter().filter(|said| said.trial != 2) {
        let fault = waived.result.as_ref().unwrap_err();
        assert_eq!(fault.kind, Kind::Unsupported);
        assert!(
            fault.message.contains("2.24") && fault.message.contains("2.18.5"),
            "{fault}"
        );
    }
    for other in said.iter().filter(|said| said.trial == 2) {
        other.expect_right();
    }
}

#[test]
fn in_place_reductions_are_right_too() {
    let mut trials = Vec::new();
    for &redop in RedOp::ALL {
        trials.push(Trial::all_reduce(DataType::Bfloat16, redop, 4099).in_place());
    }
    for said in Worlds::new(3, 1).run(&trials) {
        said.expect_right();
    }
}

#[test]
fn a_collective_that_was_never_run_leaves_every_element_unwritten() {
    let trial = Trial::all_reduce(DataType::Int32, RedOp::Sum, 1001).not_run();
    for said in Worlds::new(2, 1).run(&[trial]) {
        let found = said.result.unwrap();
        assert_eq!(found.wrong, 1001);
        assert_eq!(found.first.len(), 16);
        assert_eq!(found.first[0].index, 0);
        assert!(
            found.first[0].class.contains("unwritten"),
            "{:?}",
            found.first[0]
        );
    }
}

#[test]
fn more_memory_than_there_is_is_a_fault_of_the_call_that_names_the_rank() {
    let fault = Worlds::new(1, 2).alloc_fault(8 << 30);
    assert_eq!(fault.kind, Kind::Call);
    assert!(
        fault
            .message
            .starts_with("ncclMemAlloc failed: unhandled cuda error"),
        "{fault}"
    );
    assert!(fault.place.is_some());
}

#[test]
fn the_library_is_refused_where_threads_have_loaded_different_ones() {
    let fault = Worlds::new(2, 1)
        .open_with(&["libnccl.so.2", "old/libnccl.so.2"])
        .unwrap_err();
    assert_eq!(fault.kind, Kind::Disagree);
    assert!(
        fault.message.contains("23007") && fault.message.contains("21805"),
        "{fault}"
    );
}

#[test]
fn a_variable_that_would_make_communicators_non_blocking_is_refused() {
    let fault = Worlds::new(1, 1)
        .variable("NCCL_COMM_BLOCKING", "0")
        .open()
        .unwrap_err();
    assert_eq!(fault.kind, Kind::Usage);
    assert!(fault.message.contains("NCCL_COMM_BLOCKING"), "{fault}");
}

#[test]
fn a_flipped_bit_is_found_and_named_on_its_rank() {
    let vars = [("STAND_IN_CORRUPT", "1:*:777:5")];
    let Some(said) = child(
        "a_flipped_bit_is_found_and_named_on_its_rank",
        &vars,
        || {
            Worlds::new(3, 1).run_and_print(&[Trial::all_reduce(
                DataType::Int32,
                RedOp::Sum,
                1001,
            )]);
        },
    ) else {
        return;
    };
    said.expect("rank 0 wrong 0\n");
    said.expect("rank 1 wrong 1\n");
    said.expect("rank 1 element 777 bit flip (bit 5)\n");
    said.expect("rank 2 wrong 0\n");
}

#[test]
fn a_call_that_fails_says_the_librarys_words_and_code() {
    let vars = [("STAND_IN_ERROR", "2:2:2")];
    let Some(said) = child(
        "a_call_that_fails_says_the_librarys_words_and_code",
        &vars,
        || {
            let trial = Trial::all_reduce(DataType::Float, RedOp::Sum, 1001);
            Worlds::new(3, 1).run_and_print(&[trial.clone(), trial]);
        },
    ) else {
        return;
    };
    said.expect(
        "rank 2 fault rank 2 (test, gpu 2): ncclAllReduce failed: unhandled system error \
         (run with NCCL_DEBUG=INFO for details) (ncclSystemError, 2)\n  \
         NCCL's last message, which may predate this call: stand-in: a call was told to fail\n\n\
         hint: run once more with `NCCL_DEBUG=WARN`\n",
    );
}

#[test]
fn an_operation_that_fails_after_it_was_accepted_is_noticed_while_polling() {
    let vars = [("STAND_IN_ERROR", "1:1:6:later")];
    let name = "an_operation_that_fails_after_it_was_accepted_is_noticed_while_polling";
    let Some(said) = child(name, &vars, || {
        Worlds::new(2, 1).run_and_print(&[Trial::all_reduce(DataType::Float, RedOp::Sum, 1001)]);
    }) else {
        return;
    };
    said.expect("rank 1 fault rank 1 (test, gpu 1): an operation that NCCL had accepted failed: ");
    said.expect("(ncclRemoteError, 6)");
}

#[test]
fn a_call_that_never_returns_ends_with_the_abort() {
    let vars = [("STAND_IN_HANG", "1:1")];
    let Some(said) = child(
        "a_call_that_never_returns_ends_with_the_abort",
        &vars,
        || {
            Worlds::new(3, 1).run_and_print(&[Trial::all_reduce(
                DataType::Float,
                RedOp::Sum,
                1001,
            )]);
        },
    ) else {
        return;
    };
    said.expect("rank 1 fault rank 1 (test, gpu 1): ncclAllReduce failed: ");
    for rank in [0, 2] {
        said.expect(&format!("rank {rank} fault the communicator was aborted"));
    }
}

#[test]
fn an_operation_that_never_completes_ends_with_the_abort() {
    let vars = [("STAND_IN_HANG", "0:1:stream")];
    let Some(said) = child(
        "an_operation_that_never_completes_ends_with_the_abort",
        &vars,
        || {
            Worlds::new(1, 3).run_and_print(&[Trial::all_to_all(DataType::Float, 16)]);
        },
    ) else {
        return;
    };
    said.expect("rank 0 fault the communicator was aborted");
}

#[test]
fn an_initialisation_that_never_returns_is_given_up_at_its_limit() {
    let vars = [("STAND_IN_INIT", "1:hang")];
    let Some(said) = child(
        "an_initialisation_that_never_returns_is_given_up_at_its_limit",
        &vars,
        || {
            let fault = Worlds::new(2, 1).limit_ms(300).open().unwrap_err();
            println!("{fault}");
        },
    ) else {
        return;
    };
    said.expect("ncclCommInitRankConfig has not come back within 0.3 s");
}

#[test]
fn an_initialisation_that_fails_says_the_librarys_words() {
    let vars = [("STAND_IN_INIT", "0:3")];
    let Some(said) = child(
        "an_initialisation_that_fails_says_the_librarys_words",
        &vars,
        || {
            let fault = Worlds::new(1, 2).open().unwrap_err();
            println!("{fault}");
        },
    ) else {
        return;
    };
    said.expect("ncclCommInitRankConfig failed: internal error");
    said.expect("(ncclInternalError, 3)");
}

#[test]
fn a_machine_without_a_visible_gpu_is_told_so() {
    let vars = [("CUDA_VISIBLE_DEVICES", "")];
    let Some(said) = child("a_machine_without_a_visible_gpu_is_told_so", &vars, || {
        let fault = probe(&wish("libnccl.so.2")).unwrap_err();
        println!("{:?} {fault}", fault.kind);
    }) else {
        return;
    };
    said.expect(
        "Missing cuInit failed: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE, 100)",
    );
    said.expect("--backend host");
}

#[test]
fn only_the_visible_gpus_are_listed() {
    let vars = [
        ("CUDA_VISIBLE_DEVICES", "5,2"),
        ("STAND_IN_CUDA_DEVICES", "6"),
    ];
    let Some(said) = child("only_the_visible_gpus_are_listed", &vars, || {
        for device in probe(&wish("libnccl.so.2")).unwrap().devices {
            println!("{} {}", device.ordinal, device.bus_id);
        }
    }) else {
        return;
    };
    said.expect("0 0000:1f:00\n1 0000:1c:00\n");
}

#[test]
fn eight_bit_floats_are_not_reduced_on_gpus_that_nccl_does_not_reduce_them_on() {
    let vars = [("STAND_IN_CUDA_CAPABILITY", "80")];
    let name = "eight_bit_floats_are_not_reduced_on_gpus_that_nccl_does_not_reduce_them_on";
    let Some(said) = child(name, &vars, || {
        let reduced = Trial::all_reduce(DataType::F8e4m3, RedOp::Sum, 16);
        let copied = Trial::all_to_all(DataType::F8e4m3, 16);
        Worlds::new(2, 1).run_and_print(&[reduced, copied]);
    }) else {
        return;
    };
    said.expect("compute capability 9.0 on, and a GPU of this run has 8.0");
    said.expect("rank 1 wrong 0\n");
}

#[test]
fn a_library_older_than_2_18_is_refused() {
    let vars = [("STAND_IN_NCCL_VERSION", "21701")];
    let Some(said) = child("a_library_older_than_2_18_is_refused", &vars, || {
        println!("{}", probe(&wish("old/libnccl.so.2")).unwrap_err());
    }) else {
        return;
    };
    said.expect("NCCL 2.17.1 (");
    said.expect("is too old: 2.18 or newer is needed");
}

#[test]
fn missing_libraries_are_named_with_every_name_tried() {
    let mut nowhere = wish("libnccl.so.2");
    nowhere.nccl_lib = Some("/nowhere/libnccl.so.2".to_owned());
    let fault = probe(&nowhere).unwrap_err();
    assert_eq!(fault.kind, Kind::Missing);
    assert!(fault.message.contains("NCCL"), "{fault}");
    assert_eq!(fault.details.len(), 1);
}

#[test]
fn the_backend_is_listed_first_and_measures() {
    assert_eq!(backend::ALL[0].name(), "nccl");
    assert!(backend::ALL[0].lanes_share_a_thread() && backend::ALL[0].measures());
}
