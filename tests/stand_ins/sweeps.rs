//! Every collective under the engine on the stand-ins, by the library's calls and composed.

use crate::sweep::{self, Outcome};
use crate::world::Worlds;
use ncclbench::backend;
use ncclbench::base::Placement;
use ncclbench::collective;

/// Threads and the ranks of each: 1, 2, 3 and 5 ranks.
const SHAPES: [(u32, u32); 5] = [(1, 1), (2, 1), (3, 1), (1, 3), (5, 1)];

fn outcomes(world: &Worlds, name: &str) -> (bool, Vec<Outcome>) {
    let specs = sweep::everything(name);
    let said = world.on_threads(|seat, plane| {
        let mut session = backend::ALL[0].open(seat, plane).unwrap();
        let native = session.ops(0).has_native(name);
        let outcomes = sweep::run(&specs, session.as_mut(), seat, plane);
        (native, outcomes)
    });
    said.into_iter().next().unwrap()
}

fn is_right_on_every_shape(name: &str) {
    for (threads, lanes) in SHAPES {
        let (native, outcomes) = outcomes(&Worlds::new(threads, lanes), name);
        assert_eq!(
            native,
            !["alltoallv", "sendrecv", "hypercube"].contains(&name)
        );
        sweep::expect_right(&outcomes);
    }
}

macro_rules! right {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            is_right_on_every_shape($name);
        })*
    };
}

right! {
    every_rank_gathers_all_parts: "allgather",
    every_rank_gets_its_part_of_every_reduction: "reducescatter",
    every_rank_gets_every_roots_elements: "broadcast",
    every_root_gets_every_reduction_and_the_others_outputs_are_left_alone: "reduce",
    every_root_gathers_all_parts_and_the_others_outputs_are_left_alone: "gather",
    every_rank_gets_its_part_from_every_root: "scatter",
    every_rank_gets_the_elements_of_the_one_before: "sendrecv",
    parts_of_different_sizes_arrive: "alltoallv",
    equal_parts_arrive: "alltoall",
}

#[test]
fn a_hypercube_is_right_on_powers_of_two_and_waived_elsewhere_with_the_reason() {
    for (threads, lanes) in SHAPES.into_iter().chain([(2, 2), (1, 4), (1, 8)]) {
        let (_, outcomes) = outcomes(&Worlds::new(threads, lanes), "hypercube");
        if (threads * lanes).is_power_of_two() {
            sweep::expect_right(&outcomes);
            continue;
        }
        assert!(!outcomes.is_empty());
        for (_, outcome) in outcomes {
            let reason = outcome.unwrap_err();
            assert!(reason.contains("power of two"), "{reason}");
        }
    }
}

#[test]
fn what_an_old_library_lacks_is_composed_and_right() {
    for name in ["gather", "scatter", "alltoall"] {
        for (threads, lanes) in [(3, 1), (1, 3)] {
            let world = Worlds::new(threads, lanes).library("old/libnccl.so.2");
            let (native, outcomes) = outcomes(&world, name);
            assert!(!native, "{name}");
            let wide = outcomes
                .into_iter()
                .filter(|(case, _)| case.dtype.size() > 1 || !case.dtype.is_float());
            sweep::expect_right(&wide.collect::<Vec<_>>());
        }
    }
}

#[test]
fn the_in_place_form_is_measured_and_not_checked_where_nccl_does_not_define_it() {
    for what in collective::ALL {
        let (_, outcomes) = outcomes(&Worlds::new(2, 1), what.name());
        let defined = !["alltoall", "alltoallv", "sendrecv"].contains(&what.name());
        let checked = |(case, outcome): &Outcome| {
            (case.placement == Placement::InPlace).then(|| outcome.clone().unwrap().is_some())
        };
        assert!(
            outcomes
                .iter()
                .filter_map(checked)
                .all(|checked| checked == defined)
        );
    }
}
