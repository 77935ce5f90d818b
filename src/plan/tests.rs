//! Plans in nccl-tests' order, and what tells them apart.

use super::*;
use crate::collective;
use crate::record::InPlace;
use crate::record::Tweaks;

fn spec(name: &str) -> PlanSpec {
    PlanSpec {
        collective: collective::by_name(name).unwrap(),
        dtypes: vec![DataType::Float],
        redops: vec![RedOp::Sum],
        roots: crate::plan::Roots::One(crate::base::Rank(0)),
        uneven: crate::base::Uneven::default(),
        rank_bytes: false,
        sweep: Sweep::new(Bytes(8), Bytes(16 << 30), Step::Factor(2)).unwrap(),
        list: Vec::new(),
        placements: crate::base::Placement::ALL.to_vec(),
        effort: crate::plan::Effort::default(),
        iterations: 20,
        ops_per_batch: 3,
        warmup: 2,
        checks: 1,
        blocking: Blocking::None,
        cycles: 1,
        tweaks: Tweaks::default(),
    }
}

fn measured(jobs: &[Job]) -> Vec<&Case> {
    let measured = jobs.iter().filter(|job| job.work == Work::Measure);
    measured.map(|job| &job.case).collect()
}

#[test]
fn eight_bytes_to_16_gib_is_32_sizes_in_both_placements_after_the_warm_up() {
    let jobs = jobs(&spec("allreduce"), World(3), 0).unwrap();
    let (warm, rest) = jobs.split_at(32);
    assert!(warm.iter().all(|job| job.work == Work::WarmUp));
    assert!(
        warm.iter()
            .all(|job| job.case.placement == Placement::OutOfPlace)
    );
    assert_eq!(
        (warm[0].case.iterations, warm[0].case.ops_per_batch),
        (2, 1)
    );
    assert_eq!(
        (warm[31].case.requested, warm[31].case.checks),
        (Bytes(16 << 30), 0)
    );
    assert_eq!(measured(rest).len(), 64);
    for (index, pair) in rest.chunks(2).enumerate() {
        let size = Bytes(8 << index);
        assert_eq!(
            (pair[0].case.requested, pair[1].case.requested),
            (size, size)
        );
        assert_eq!(
            [pair[0].case.placement, pair[1].case.placement],
            Placement::ALL
        );
        assert_eq!(
            (pair[0].case.iterations, pair[0].case.ops_per_batch),
            (20, 3)
        );
    }
}

#[test]
fn only_the_first_repetition_warms_up_and_each_says_which_it_is() {
    let mut spec = spec("allreduce");
    let again = jobs(&spec, World(2), 4).unwrap();
    assert_eq!(measured(&again).len(), again.len());
    assert!(again.iter().all(|job| job.case.cycle == 4));
    spec.warmup = 0;
    assert_eq!(jobs(&spec, World(2), 0).unwrap().len(), 64);
}

#[test]
fn types_and_operators_nest_and_a_collective_without_operator_runs_once() {
    let mut spec = spec("allreduce");
    spec.sweep = Sweep::new(Bytes(64), Bytes(64), Step::Factor(2)).unwrap();
    spec.dtypes = vec![DataType::Half, DataType::Int8];
    spec.redops = vec![RedOp::Max, RedOp::Avg];
    spec.warmup = 0;
    let all = jobs(&spec, World(5), 0).unwrap();
    let kinds: Vec<_> = measured(&all)
        .iter()
        .step_by(2)
        .map(|case| (case.dtype, case.redop.unwrap()))
        .collect();
    assert_eq!(
        kinds,
        [
            (DataType::Half, RedOp::Max),
            (DataType::Half, RedOp::Avg),
            (DataType::Int8, RedOp::Max),
            (DataType::Int8, RedOp::Avg),
        ]
    );
    spec.collective = collective::by_name("alltoall").unwrap();
    let once = jobs(&spec, World(5), 0).unwrap();
    assert_eq!(once.len(), 4);
    assert!(once.iter().all(|job| job.case.redop.is_none()));
}

#[test]
fn roots_are_innermost_and_each_warms_up() {
    let mut spec = spec("reduce");
    spec.sweep = Sweep::new(Bytes(64), Bytes(64), Step::Factor(2)).unwrap();
    spec.redops = vec![RedOp::Max, RedOp::Avg];
    spec.roots = Roots::All;
    let all = jobs(&spec, World(3), 0).unwrap();
    let warm_ups = all.iter().filter(|job| job.work == Work::WarmUp).count();
    let kinds: Vec<_> = measured(&all)
        .iter()
        .step_by(2)
        .map(|case| (case.redop.unwrap(), case.root.unwrap()))
        .collect();
    let both = [RedOp::Max, RedOp::Avg].into_iter();
    let expected: Vec<_> = both
        .flat_map(|redop| [0, 1, 2].map(|root| (redop, root)))
        .collect();
    assert_eq!((kinds, warm_ups), (expected, 6));
}

#[test]
fn a_root_that_is_no_rank_is_refused_where_there_is_one() {
    let mut spec = spec("scatter");
    spec.roots = Roots::One(Rank(5));
    let fault = jobs(&spec, World(5), 0).unwrap_err();
    assert!(fault.message.contains("0 to 4"), "{fault}");
    assert_eq!(
        measured(&jobs(&spec, World(6), 0).unwrap())[0].root,
        Some(5)
    );
    spec.collective = collective::by_name("allgather").unwrap();
    assert_eq!(measured(&jobs(&spec, World(5), 0).unwrap())[0].root, None);
}

#[test]
fn a_collective_that_only_names_an_operator_runs_for_each_and_reduces_nothing() {
    let mut spec = spec("sendrecv");
    spec.redops = vec![RedOp::Sum, RedOp::Prod];
    let jobs = jobs(&spec, World(3), 1).unwrap();
    assert_eq!(jobs.len(), 2 * 64);
    assert!(
        jobs.iter()
            .all(|job| job.case.redop.is_some() && !job.reduces())
    );
}

#[test]
fn the_bytes_of_each_rank_are_in_the_case_where_they_differ_and_were_asked_for() {
    let mut spec = spec("alltoallv");
    let last = |spec: &PlanSpec| jobs(spec, World(3), 1).unwrap().pop().unwrap().case;
    assert_eq!(last(&spec).rank_bytes, Vec::<[u64; 2]>::new());
    spec.rank_bytes = true;
    let case = last(&spec);
    assert_eq!(case.rank_bytes, [[case.size.0; 2]; 3]);
    assert!(case.size <= case.requested && case.size.0 > case.requested.0 - 64);
}

#[test]
fn a_case_holds_the_collectives_numbers_for_an_odd_world() {
    let jobs = jobs(&spec("alltoall"), World(3), 4).unwrap();
    let case = &jobs[2 * 17].case;
    assert_eq!(
        (case.requested, case.size),
        (Bytes(1 << 20), Bytes(1_048_560))
    );
    assert_eq!(
        (case.count, case.send_count, case.recv_count),
        (87_380, 262_140, 262_140)
    );
    assert_eq!((case.in_place, case.checkable), (InPlace::Same, false));
    assert!((case.bus_factor - 2.0 / 3.0).abs() < 1e-12);
    assert!(
        jobs.iter()
            .all(|job| job.case.size <= max_bytes(&spec("alltoall")))
    );
}

#[test]
fn a_sweep_that_nobody_could_wait_for_is_refused() {
    let mut spec = spec("allreduce");
    spec.sweep = Sweep::new(Bytes(8), Bytes(16 << 30), Step::Bytes(8)).unwrap();
    let fault = jobs(&spec, World(2), 0).unwrap_err();
    assert!(fault.message.contains("4294967296 measurements"), "{fault}");
    spec.dtypes = DataType::ALL.to_vec();
    spec.redops = RedOp::ALL.to_vec();
    spec.sweep = Sweep::new(Bytes(8), Bytes(16 << 30), Step::Factor(2)).unwrap();
    assert!(jobs(&spec, World(2), 0).is_ok());
}

#[test]
fn the_digest_tells_plans_apart_by_everything_that_ranks_must_agree_on() {
    let first = spec("allreduce");
    let mut digests = vec![digest(&first, World(2)), digest(&first, World(3))];
    let changes: [fn(&mut PlanSpec); 11] = [
        |spec| spec.collective = collective::by_name("alltoall").unwrap(),
        |spec| spec.dtypes = vec![DataType::Half],
        |spec| spec.redops = vec![RedOp::Max],
        |spec| spec.sweep.max = Bytes(8 << 30),
        |spec| spec.iterations = 21,
        |spec| spec.ops_per_batch = 4,
        |spec| spec.warmup = 3,
        |spec| spec.checks = 2,
        |spec| spec.blocking = Blocking::Wait,
        |spec| spec.roots = Roots::All,
        |spec| spec.uneven = Uneven::Spread(0.5),
    ];
    for change in changes {
        let mut other = spec("allreduce");
        change(&mut other);
        digests.push(digest(&other, World(2)));
    }
    assert_eq!(digests[0], digest(&spec("allreduce"), World(2)));
    assert!(digests.iter().all(|digest| digest.len() == 16));
    let count = digests.len();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

#[test]
fn the_listing_has_one_line_for_each_measurement() {
    let jobs = jobs(&spec("alltoall"), World(3), 0).unwrap();
    let text = listing(&jobs);
    assert_eq!(text.lines().count(), 2 + 64);
    let last: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(
        last,
        [
            "17179869184",
            "17179869168",
            "1431655764",
            "float",
            "none",
            "-1",
            "in-place"
        ]
    );
}
