//! From the times of single iterations to nccl-tests' figures of them (`-I`, `-K`); pure.

use crate::record::PerIteration;

/// The figures of a timed loop's iterations. `threads_us` has one series for each thread of the world,
/// in global order, and each process has `threads_each` of them. `None` where there is nothing to say:
/// no series, series of different lengths, fewer iterations than are skipped, or no usable time.
///
/// # Source
/// nccl-tests 2.19.6, `src/common.cu`, `GatherProcessMaxIterTimes` and `ReduceProcessMaxIterTimes`:
/// the longest over a process's threads and GPUs, then the longest over processes.
pub fn of(threads_us: &[Vec<f64>], skipped: u32, threads_each: usize) -> Option<PerIteration> {
    let process_us: Vec<Vec<f64>> = threads_us
        .chunks(threads_each.max(1))
        .map(longest)
        .collect::<Option<_>>()?;
    let times_us = longest(&process_us)?;
    let figures = figures(times_us.get(skipped as usize..)?)?;
    Some(PerIteration {
        skipped,
        times_us,
        process_us: if process_us.len() > 1 {
            process_us
        } else {
            Vec::new()
        },
        ..figures
    })
}

/// The longest of each iteration.
fn longest(series: &[Vec<f64>]) -> Option<Vec<f64>> {
    let (first, rest) = series.split_first()?;
    let usable = |time: &f64| time.is_finite() && *time >= 0.0;
    let same = rest.iter().all(|other| other.len() == first.len());
    if !same || !series.iter().flatten().all(usable) {
        return None;
    }
    let over_all = |index: usize| series.iter().map(|one| one[index]).fold(0.0, f64::max);
    Some((0..first.len()).map(over_all).collect())
}

/// Everything but the series.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `computeIterStats` and `percentileIndex`.
fn figures(times_us: &[f64]) -> Option<PerIteration> {
    let mut sorted = times_us.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let count = f64::from(u32::try_from(sorted.len()).ok()?);
    let avg_us = sorted.iter().sum::<f64>() / count;
    let squares = sorted.iter().map(|time| (time - avg_us).powi(2));
    let stdev_us = (squares.sum::<f64>() / count).sqrt();
    let percentile = |percent: usize| {
        let rank = (sorted.len() * percent).div_ceil(100) - 1;
        sorted[rank.min(sorted.len() - 1)]
    };
    Some(PerIteration {
        skipped: 0,
        min_us: first,
        max_us: last,
        avg_us,
        p50_us: sorted[sorted.len() / 2],
        p95_us: percentile(95),
        p99_us: percentile(99),
        stdev_us,
        cv_pct: if avg_us > 0.0 {
            stdev_us / avg_us * 100.0
        } else {
            0.0
        },
        times_us: Vec::new(),
        process_us: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_is_as_long_as_on_the_slowest_thread_of_the_slowest_process() {
        let threads = [
            vec![1.0, 9.0, 3.0],
            vec![2.0, 1.0, 4.0],
            vec![5.0, 1.0, 1.0],
            vec![1.0, 1.0, 1.0],
        ];
        let all = of(&threads, 0, 2).unwrap();
        assert_eq!(all.times_us, [5.0, 9.0, 4.0]);
        assert_eq!(all.process_us, [[2.0, 9.0, 4.0], [5.0, 1.0, 1.0]]);
        assert!(of(&threads, 0, 4).unwrap().process_us.is_empty());
    }

    /// Real figures: `out_of_place_per_iter` of a run with `-n 3`, from its `-J` file.
    #[test]
    fn the_figures_are_nccl_tests_own() {
        let text = include_str!("../../tests/golden/fixtures/iter.json");
        let json: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut compared = 0;
        for result in json["results"].as_array().unwrap() {
            for key in ["out_of_place_per_iter", "in_place_per_iter"] {
                let theirs = &result[key];
                let rows = theirs["per_process_max_times_us"].as_array().unwrap();
                let number = |value: &serde_json::Value| value.as_f64().unwrap();
                let series: Vec<Vec<f64>> = rows
                    .iter()
                    .map(|row| row.as_array().unwrap().iter().map(number).collect())
                    .collect();
                let ours = of(&series, 0, 1).unwrap();
                for (name, figure) in [
                    ("min_us", ours.min_us),
                    ("max_us", ours.max_us),
                    ("avg_us", ours.avg_us),
                    ("p50_us", ours.p50_us),
                    ("p95_us", ours.p95_us),
                    ("p99_us", ours.p99_us),
                    ("stdev_us", ours.stdev_us),
                    ("cv_pct", ours.cv_pct),
                ] {
                    let distance = (figure - number(&theirs[name])).abs();
                    assert!(distance < 2e-6, "{name}: {figure} and {}", theirs[name]);
                    compared += 1;
                }
                assert_eq!(ours.times_us.len(), 3);
            }
        }
        assert_eq!(compared, 3 * 2 * 8);
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank_and_the_median_is_the_upper_one() {
        let all = figures(&(1..=200).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert_eq!((all.p50_us, all.p95_us, all.p99_us), (101.0, 190.0, 198.0));
    }

    #[test]
    fn skipped_iterations_are_kept_and_not_counted() {
        let all = of(&[vec![100.0, 2.0, 4.0]], 1, 1).unwrap();
        assert_eq!((all.skipped, all.max_us, all.avg_us), (1, 4.0, 3.0));
        assert_eq!(all.times_us, [100.0, 2.0, 4.0]);
        assert_eq!(of(&[vec![100.0, 2.0]], 2, 1), None);
    }

    #[test]
    fn series_that_do_not_fit_together_and_times_that_are_none_say_nothing() {
        assert_eq!(of(&[], 0, 1), None);
        assert_eq!(of(&[vec![1.0], vec![1.0, 2.0]], 0, 1), None);
        assert_eq!(of(&[vec![f64::NAN]], 0, 1), None);
    }
}
