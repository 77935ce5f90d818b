//! Verdicts on launches that are written down by hand.

mod alike;
mod edges;

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
