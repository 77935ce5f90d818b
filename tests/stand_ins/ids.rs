//! Worlds that are initialised with several of NCCL's ids, with a limit that is low enough to see it.

use crate::child::child;
use crate::trial::Trial;
use crate::world::{Worlds, wish};
use ncclbench::backend::{self, Wish};
use ncclbench::base::{DataType, RedOp, World};

#[test]
fn a_world_that_joins_by_several_ids_of_several_ranks_reduces_right() {
    for (threads, lanes) in [(5, 1), (3, 2), (1, 3)] {
        let trials = [Trial::all_reduce(DataType::Int32, RedOp::Sum, 1001)];
        Worlds::new(threads, lanes)
            .variable("NCCLBENCH_RANKS_FOR_EACH_ID", "2")
            .run(&trials);
    }
}

#[test]
fn an_older_library_joins_a_large_world_by_one_id_and_the_record_says_so() {
    let mut large = wish("libnccl.so.2");
    let with = [("NCCLBENCH_RANKS_FOR_EACH_ID", "2")];
    let all = large.env.iter().chain(with);
    let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
    large.env = all.collect();
    let note = |wish: &Wish| backend::ALL[0].joining(wish, World(5)).unwrap();
    assert_eq!(
        note(&large),
        "NCCL was initialised by ncclCommInitRankScalable with 3 ids, one for at most 2 ranks"
    );
    large.nccl_lib = wish("old/libnccl.so.2").nccl_lib;
    let said = note(&large);
    assert!(said.ends_with("one rank's id serves all 5 ranks"), "{said}");
    Worlds::new(3, 1)
        .library("old/libnccl.so.2")
        .variable("NCCLBENCH_RANKS_FOR_EACH_ID", "2")
        .run(&[Trial::all_reduce(DataType::Int32, RedOp::Sum, 7)]);
    assert_eq!(
        backend::ALL[0].joining(&wish("libnccl.so.2"), World(512)),
        None
    );
}

#[test]
fn several_ids_go_to_the_call_that_takes_several() {
    let vars = [("STAND_IN_INIT", "0:3,1:3")];
    let Some(said) = child(
        "ids::several_ids_go_to_the_call_that_takes_several",
        &vars,
        || {
            let fault = Worlds::new(2, 1)
                .variable("NCCLBENCH_RANKS_FOR_EACH_ID", "1")
                .open()
                .unwrap_err();
            println!("{fault}");
        },
    ) else {
        return;
    };
    said.expect("ncclCommInitRankScalable failed");
}
