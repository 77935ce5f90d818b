//! Verdicts on launches that are written down by hand.

use super::*;
use crate::base::{Bytes, DataType, Placement};
use crate::record::Limits;
use crate::record::RowKey;
use crate::record::baseline::{LaunchRow, Measure};
use crate::record::fingerprint::Field;
use crate::record::history::SeriesOf;
use crate::record::verdict::RowLook;

const SIZES: [u64; 6] = [8, 4096, 1 << 20, 8 << 20, 256 << 20, 4 << 30];

fn key(collective: &str, size: u64) -> RowKey {
    RowKey {
        collective: collective.to_owned(),
        dtype: DataType::Float,
        redop: None,
        root: None,
        placement: Placement::OutOfPlace,
        requested: Bytes(size),
    }
}

fn row(collective: &str, size: u64, time_us: f64) -> LaunchRow {
    let (measure, waived) = launch::of_times(&[], time_us, time_us * 0.99, launch::Known::Both);
    LaunchRow {
        key: key(collective, size),
        algo_bytes: Bytes(size),
        bus_factor: 1.5,
        measure,
        waived,
    }
}

/// A launch whose times are `factor(row)` times the usual, moved by `percent`.
fn launch(name: &str, percent: f64, factor: impl Fn(&str, u64) -> f64) -> Launch {
    let mut builder = launch::Builder::new(name, &format!("2026-11-01T00:00:{name}Z"));
    for collective in ["allreduce", "alltoall"] {
        for size in SIZES {
            let usual = 100.0 * (1.0 + percent / 100.0);
            builder.row(
                row(collective, size, usual * factor(collective, size)),
                false,
            );
        }
    }
    builder.finish(None)
}

/// Launches that scatter by about half a percent.
fn side(first: usize, n: usize, factor: impl Fn(&str, u64) -> f64) -> Vec<Launch> {
    let scatter = [0.0, 0.6, -0.5, 0.3, -0.4, 0.5, -0.6, 0.1, -0.2, 0.4];
    (0..n)
        .map(|index| {
            launch(
                &format!("{:02}", first + index),
                scatter[index % 10],
                &factor,
            )
        })
        .collect()
}

fn usual(_: &str, _: u64) -> f64 {
    1.0
}

fn entry(launches: Vec<Launch>) -> BaselineEntry {
    BaselineEntry {
        schema: 1,
        name: "night".to_owned(),
        entry: 3,
        retired: false,
        author: "ada".to_owned(),
        at: "2026-11-01T00:00:00.000Z".to_owned(),
        reason: "new driver".to_owned(),
        fingerprint: Fingerprint::default(),
        launches,
    }
}

fn judged(baseline: Vec<Launch>, now: &[Launch]) -> Result<Verdict, Fault> {
    judged_with(baseline, now, &[])
}

fn judged_with(
    baseline: Vec<Launch>,
    now: &[Launch],
    earlier: &[Launch],
) -> Result<Verdict, Fault> {
    let entry = entry(baseline);
    let question = Question {
        baseline: &entry,
        now,
        fingerprint: &entry.fingerprint,
        earlier,
        floors: &[],
        force: false,
    };
    judge(&question, &Rules::with(Limits::default()))
}

#[test]
fn a_night_like_the_baseline_passes_and_says_what_is_ruled_out() {
    let verdict = judged(side(0, 5, usual), &side(10, 5, usual)).unwrap();
    assert_eq!(verdict.decision, Decision::Pass, "{verdict:#?}");
    assert_eq!((verdict.bands.len(), verdict.rows.len()), (3, 12));
    assert!(
        verdict
            .sentence
            .starts_with("PASS: no band is slower than baseline `night`")
    );
    assert!(
        verdict.sentence.ends_with("; 5 launches against 5."),
        "{}",
        verdict.sentence
    );
    assert!(verdict.launches_needed.is_none() && verdict.over_ranks == "max");
    for band in &verdict.bands {
        let ruled_out = band.ruled_out_percent.unwrap();
        assert!(
            ruled_out > 0.0 && ruled_out < band.limit_percent,
            "{band:?}"
        );
    }
}

#[test]
fn a_loss_in_one_band_is_a_regression_of_that_band_alone() {
    let slow = |_: &str, size: u64| if size >= 64 << 20 { 1.08 } else { 1.0 };
    let verdict = judged(side(0, 5, usual), &side(10, 5, slow)).unwrap();
    assert_eq!(verdict.decision, Decision::Regress);
    let decisions: Vec<_> = verdict.bands.iter().map(|band| band.decision).collect();
    assert_eq!(
        decisions,
        [Decision::Pass, Decision::Pass, Decision::Regress]
    );
    assert!(
        verdict
            .sentence
            .contains("the bandwidth band is 7.4 % slower"),
        "{}",
        verdict.sentence
    );
    let slower = verdict
        .rows
        .iter()
        .filter(|row| row.look == RowLook::Slower);
    assert!(slower.count() >= 2);
}

#[test]
fn one_collectives_loss_is_not_hidden_by_the_others() {
    let slow = |name: &str, size: u64| {
        if name == "alltoall" && size >= 64 << 20 {
            1.05
        } else {
            1.0
        }
    };
    let verdict = judged(side(0, 5, usual), &side(10, 5, slow)).unwrap();
    let bandwidth = verdict.bands.last().unwrap();
    assert!(
        bandwidth.change.percent > -3.0,
        "the band hides it: {bandwidth:?}"
    );
    assert_ne!(verdict.decision, Decision::Pass);
    let part = verdict
        .parts
        .iter()
        .find(|part| part.decision != Decision::Pass)
        .unwrap();
    assert_eq!(part.collective.as_deref(), Some("alltoall"));
    assert!(
        verdict.sentence.contains("alltoall in the bandwidth band"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn a_lost_or_waived_row_rules_out_a_pass_and_a_new_one_does_not() {
    let mut lost = side(10, 5, usual);
    lost[2].rows.remove(3);
    let verdict = judged(side(0, 5, usual), &lost).unwrap();
    assert_eq!(verdict.decision, Decision::Inconclusive);
    assert!(verdict.missing[0].lost && verdict.missing[0].why.contains("1 of 5"));
    assert!(
        verdict
            .sentence
            .contains("1 row of the baseline could not be compared")
    );

    let mut waived = side(10, 5, usual);
    for launch in &mut waived {
        launch.rows[0].measure = None;
        launch.rows[0].waived = Some("no memory".to_owned());
    }
    let verdict = judged(side(0, 5, usual), &waived).unwrap();
    assert_eq!(verdict.decision, Decision::Inconclusive);
    assert!(verdict.missing[0].why.contains("waived: no memory"));

    let mut new = side(10, 5, usual);
    for launch in &mut new {
        launch.rows.push(row("broadcast", 8, 5.0));
    }
    let verdict = judged(side(0, 5, usual), &new).unwrap();
    assert_eq!(verdict.decision, Decision::Pass);
    assert!(
        !verdict.missing[0].lost && verdict.notes[0].contains("1 row"),
        "{:?}",
        verdict.notes
    );
}

#[test]
fn a_regression_is_one_although_rows_are_missing() {
    let mut slow = side(10, 5, |_, _| 1.5);
    slow[0].rows.remove(0);
    let verdict = judged(side(0, 5, usual), &slow).unwrap();
    assert_eq!(verdict.decision, Decision::Regress);
}

#[test]
fn one_launch_a_side_decides_nothing_and_says_how_many_would() {
    let verdict = judged(side(0, 1, usual), &side(10, 1, |_, _| 1.4)).unwrap();
    assert_eq!(verdict.decision, Decision::Inconclusive);
    assert!(verdict.launches_needed.is_some());
    assert!(
        verdict
            .bands
            .iter()
            .all(|band| band.change.low_percent.is_none())
    );
    assert!(
        verdict.sentence.contains("would settle it"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn one_slow_launch_against_many_must_be_confirmed_by_another() {
    let baseline = || side(0, 10, usual);
    let once = judged(baseline(), &side(20, 1, |_, _| 1.4)).unwrap();
    assert_eq!(once.decision, Decision::Inconclusive);
    assert_eq!(once.launches_needed.unwrap().now, 1);
    assert!(
        once.sentence.contains("another one must confirm it"),
        "{}",
        once.sentence
    );
    assert!(once.history.iter().all(|series| !series.alarm));
    let twice = judged(baseline(), &side(20, 2, |_, _| 1.4)).unwrap();
    assert_eq!(twice.decision, Decision::Regress);
    assert!(twice.history[0].alarm && twice.history[0].z.unwrap() < -4.0);
}

#[test]
fn a_calm_launch_against_many_passes_by_itself() {
    let verdict = judged(side(0, 10, usual), &side(20, 1, usual)).unwrap();
    assert_eq!(verdict.decision, Decision::Pass, "{}", verdict.sentence);
}

#[test]
fn equal_times_are_compared_and_divide_by_nothing() {
    let same = |first: usize| -> Vec<Launch> {
        (0..3)
            .map(|index| launch(&format!("{:02}", first + index), 0.0, usual))
            .collect()
    };
    let verdict = judged(same(0), &same(10)).unwrap();
    assert_eq!(verdict.decision, Decision::Pass, "{}", verdict.sentence);
    assert!(serde_json::to_string(&verdict).is_ok_and(|text| !text.contains("null,\"high")));
}

#[test]
fn times_that_are_no_times_are_missing_rows_and_not_figures() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut now = side(10, 3, usual);
        now[0].rows[0] = row("allreduce", 8, bad);
        let verdict = judged(side(0, 3, usual), &now).unwrap();
        assert_ne!(verdict.decision, Decision::Pass);
        assert!(
            verdict.missing[0].why.contains("not above zero"),
            "{:?}",
            verdict.missing
        );
    }
}

#[test]
fn repetitions_are_one_launch_and_not_several() {
    let repeated = |name: &str, percent: f64| {
        let mut builder = launch::Builder::new(name, name);
        for time in [99.0, 100.0, 140.0] {
            builder.row(
                row("allreduce", 1 << 20, time * (1.0 + percent / 100.0)),
                false,
            );
        }
        builder.finish(None)
    };
    let one = repeated("a", 0.0);
    assert_eq!(one.rows.len(), 1);
    assert_eq!(one.rows[0].measure.as_ref().unwrap().max_us.len(), 3);
    let verdict = judged(vec![one.clone()], &[repeated("b", 0.0)]).unwrap();
    assert_eq!(verdict.decision, Decision::Inconclusive);
    assert!((verdict.rows[0].baseline.time_us - 100.0).abs() < 1e-9);
}

#[test]
fn many_repetitions_are_averaged_by_neighbours() {
    let batches: Vec<f64> = (1..=100).map(f64::from).collect();
    let (measure, _) = launch::of_times(&batches, 1.0, 1.0, launch::Known::Both);
    let mut builder = launch::Builder::new("a", "a");
    builder.row(
        LaunchRow {
            measure,
            ..row("allreduce", 8, 1.0)
        },
        false,
    );
    let kept = builder.finish(None).rows[0].measure.clone().unwrap().max_us;
    assert_eq!(kept.len(), 25);
    assert!((kept[0] - 2.5).abs() < 1e-12);
}

#[test]
fn means_are_compared_where_one_side_has_no_others_and_that_is_said() {
    let mut baseline = side(0, 5, usual);
    for row in baseline.iter_mut().flat_map(|launch| &mut launch.rows) {
        row.measure.as_mut().unwrap().max_us.clear();
    }
    let verdict = judged(baseline.clone(), &side(10, 5, usual)).unwrap();
    assert_eq!(verdict.over_ranks, "mean");
    assert!(
        verdict.notes[0].contains("means over ranks"),
        "{:?}",
        verdict.notes
    );
    let mut now = side(10, 5, usual);
    for row in now.iter_mut().flat_map(|launch| &mut launch.rows) {
        row.measure.as_mut().unwrap().mean_us.clear();
    }
    assert_eq!(judged(baseline, &now).unwrap_err().kind, Kind::Unlike);
}

#[test]
fn a_row_with_two_modes_is_called_so() {
    let flips = |name: &str, first: bool| {
        let mut launch = launch(name, 0.0, usual);
        let times: Vec<f64> = (0..10)
            .map(|index| if first && index % 3 == 0 { 120.0 } else { 100.0 } + f64::from(index) / 10.0)
            .collect();
        launch.rows[4].measure = Some(Measure {
            max_us: times,
            mean_us: vec![100.0],
        });
        launch
    };
    let baseline: Vec<_> = ["00", "01", "02"].map(|name| flips(name, true)).to_vec();
    let now: Vec<_> = ["10", "11", "12"].map(|name| flips(name, false)).to_vec();
    let verdict = judged(baseline, &now).unwrap();
    let row = verdict
        .rows
        .iter()
        .find(|row| row.key == key("allreduce", 256 << 20))
        .unwrap();
    assert_eq!(row.look, RowLook::Bimodal);
    assert!(
        row.why.contains("120.") && row.why.contains("40 %"),
        "{}",
        row.why
    );
    assert!(
        verdict
            .history
            .iter()
            .any(|series| series.of == SeriesOf::Row(row.key.clone()))
    );
}

#[test]
fn a_drift_is_a_step_in_the_history_although_the_night_passes() {
    let mut earlier = side(30, 30, |_, _| 1.0 / 1.02);
    for (index, launch) in earlier.iter_mut().enumerate() {
        launch.started = format!("2026-10-{:02}T00:00:00Z", index + 1);
        launch.run = format!("old-{index}");
    }
    let verdict = judged_with(side(0, 10, usual), &side(20, 3, usual), &earlier).unwrap();
    assert_eq!(verdict.decision, Decision::Pass, "{}", verdict.sentence);
    let series = &verdict.history[2];
    assert_eq!((series.points.len(), series.change_points.len()), (43, 1));
    let step = series.change_points[0];
    assert!(
        step.index.abs_diff(30) <= 1 && (step.change_percent + 2.0).abs() < 0.5,
        "{step:?}"
    );
}

#[test]
fn the_same_launches_give_the_same_verdict() {
    let verdict = || judged(side(0, 3, usual), &side(10, 4, |_, _| 1.02)).unwrap();
    assert_eq!(verdict(), verdict());
}

fn named(fields: &[(&str, Option<&str>)]) -> Fingerprint {
    let fields = fields.iter().map(|(name, value)| Field {
        name: (*name).to_owned(),
        value: value.map(str::to_owned),
    });
    Fingerprint {
        fields: fields.collect(),
    }
}

fn compared(baseline: &Fingerprint, now: &Fingerprint, force: bool) -> Result<Verdict, Fault> {
    let entry = BaselineEntry {
        fingerprint: baseline.clone(),
        ..entry(side(0, 3, usual))
    };
    let launches = side(10, 3, usual);
    let question = Question {
        baseline: &entry,
        now: &launches,
        fingerprint: now,
        earlier: &[],
        floors: &[],
        force,
    };
    judge(&question, &Rules::with(Limits::default()))
}

#[test]
fn unlike_fingerprints_are_refused_with_the_field_unless_forced() {
    let old = named(&[("nccl", Some("2.27.7")), ("topology", None)]);
    let new = named(&[
        ("nccl", Some("2.28.3")),
        ("topology", None),
        ("env NCCL_ALGO", Some("Ring")),
    ]);
    let fault = compared(&old, &new, false).unwrap_err();
    assert_eq!(fault.kind, Kind::Unlike);
    let text = fault.to_string();
    assert!(
        text.contains("nccl: baseline `2.27.7`, now `2.28.3`"),
        "{text}"
    );
    assert!(
        text.contains("env NCCL_ALGO: baseline `not set`, now `Ring`"),
        "{text}"
    );
    let forced = compared(&old, &new, true).unwrap();
    assert_eq!(forced.forced.len(), 2);
    assert!(
        forced.notes.iter().any(|note| note.contains("topology")),
        "{:?}",
        forced.notes
    );
}

#[test]
fn what_neither_knows_is_a_note_and_what_one_side_knows_is_a_difference() {
    let (known, unknown) = (named(&[("nccl", Some("2.28.3"))]), named(&[("nccl", None)]));
    assert!(compared(&unknown, &unknown, false).unwrap().notes[0].contains("nccl"));
    let fault = compared(&known, &unknown, false).unwrap_err().to_string();
    assert!(
        fault.contains("nccl: baseline `2.28.3`, now unknown"),
        "{fault}"
    );
    assert_ne!(fingerprint::digest(&known), fingerprint::digest(&unknown));
}

#[test]
fn a_retired_baseline_judges_nothing() {
    let entry = BaselineEntry {
        retired: true,
        ..entry(side(0, 3, usual))
    };
    let question = Question {
        baseline: &entry,
        now: &side(10, 3, usual),
        fingerprint: &entry.fingerprint,
        earlier: &[],
        floors: &[],
        force: true,
    };
    let fault = judge(&question, &Rules::with(Limits::default())).unwrap_err();
    assert!(
        fault.to_string().contains("retired by ada: new driver"),
        "{fault}"
    );
}

#[test]
fn without_a_common_row_there_is_nothing_to_judge() {
    let mut now = side(10, 3, usual);
    for row in now.iter_mut().flat_map(|launch| &mut launch.rows) {
        row.key.collective = "broadcast".to_owned();
    }
    let fault = judged(side(0, 3, usual), &now).unwrap_err();
    assert_eq!(fault.kind, Kind::Unlike);
    assert!(judged(side(0, 3, usual), &[]).is_err() && judged(Vec::new(), &now).is_err());
}

fn floor(from: u64, to: u64) -> Floor {
    Floor {
        collective: "allreduce".to_owned(),
        dtype: None,
        placement: None,
        from: Bytes(from),
        to: Bytes(to),
        busbw_gbps: None,
        algbw_gbps: None,
        time_us: None,
    }
}

#[test]
fn a_floor_is_held_against_every_row_it_names_and_fails_where_there_is_none() {
    let now = side(10, 3, usual);
    // 4 GiB in 100 us is 42,950 GB/s, times 1.5 on the bus
    let mut asks = floor(1 << 20, 8 << 30);
    asks.busbw_gbps = Some(64_000.0);
    let found = gate(&[asks.clone()], &now);
    assert_eq!(
        found.iter().map(|row| row.met).collect::<Vec<_>>(),
        [false, false, false, true]
    );
    assert_eq!(
        found[3].asks,
        "allreduce float out-of-place 4 GiB busbw ≥ 64000 GB/s"
    );
    let mut fast = floor(0, 8);
    fast.time_us = Some(101.0);
    assert!(gate(&[fast], &now)[0].met);
    let mut nowhere = floor(16, 32);
    nowhere.algbw_gbps = Some(1.0);
    let found = gate(&[nowhere], &now);
    assert_eq!((found.len(), found[0].met, found[0].got), (1, false, None));
    let mut waived = now.clone();
    waived[1].rows[5].measure = None;
    assert!(!gate(&[asks], &waived)[3].met);
}
