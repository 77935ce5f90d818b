//! Odd launches: repetitions, modes, times that are none, drifts.

use super::*;

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
