//! Why a row may not be trusted: marks with reasons, from what was measured beside the headline.

use crate::record::{Doubt, Mark, Outcome, Quality, Sample, Sampling, Stop};

/// Issue time by time from which on the host is what is measured.
const LAUNCH_BOUND: f64 = 0.9;
/// 90th percentile by median from which on times scatter too much.
const SCATTER: f64 = 1.3;
/// Headline by mean of the distribution pass from which on the headline was cold.
const COLD: f64 = 1.2;

/// The row's quality: what the engine saw, and what it gives reason to doubt.
pub(super) fn quality(sample: &Sample, outcome: &Outcome) -> Quality {
    let mut quality = Quality::clone(&sample.quality);
    let Outcome::Measured { time, issue, .. } = outcome else {
        return quality;
    };
    let issue = issue.as_ref().filter(|_| !sample.launches_block);
    let marks = [
        unstable(&quality),
        cold(&quality, sample.is_cold),
        throttled(&sample.throttled),
        issue.and_then(|issue| launch_bound(time.max_us, issue.max_us)),
    ];
    quality.marks.extend(marks.into_iter().flatten());
    quality
}

fn mark(doubt: Doubt, reason: String) -> Mark {
    Mark { doubt, reason }
}

fn unstable(quality: &Quality) -> Option<Mark> {
    let sampling = quality.sampling.as_ref().and_then(wide);
    sampling.or_else(|| {
        let slowest = quality.distribution.as_ref()?.slowest;
        (slowest.p90_us > SCATTER * slowest.p50_us).then(|| {
            let reason = format!(
                "one of ten operations takes {:.2} times the median or more",
                slowest.p90_us / slowest.p50_us
            );
            mark(Doubt::Unstable, reason)
        })
    })
}

/// The median is known less well than was asked for.
fn wide(sampling: &Sampling) -> Option<Mark> {
    if sampling.stop == Stop::Narrow {
        return None;
    }
    let batches = sampling.batch_us.len();
    let target = sampling.target * 100.0;
    let reason = match sampling.half_width {
        Some(width) => format!(
            "the median is known to ±{:.1} % after {batches} batches, ±{target} % was asked for",
            width * 100.0
        ),
        None => format!("{batches} batches are too few to say how well the median is known"),
    };
    Some(mark(Doubt::Unstable, reason))
}

/// How many ranks whose clocks are held back are named.
const NAMED: usize = 4;

fn throttled(reasons: &[String]) -> Option<Mark> {
    let named = reasons.get(..NAMED.min(reasons.len()))?;
    let others = match reasons.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more ranks"),
    };
    (!named.is_empty()).then(|| {
        let reason = format!("right after the timed loop: {}{others}", named.join("; "));
        mark(Doubt::ClocksThrottled, reason)
    })
}

fn launch_bound(time_us: f64, issue_us: f64) -> Option<Mark> {
    (issue_us >= LAUNCH_BOUND * time_us && time_us > 0.0).then(|| {
        let reason = format!(
            "enqueueing took {issue_us:.2} of {time_us:.2} us: the host was measured, not the network"
        );
        mark(Doubt::LaunchBound, reason)
    })
}

/// A first row without a warm-up, unless the same operations were as slow a moment later.
fn cold(quality: &Quality, is_cold: bool) -> Option<Mark> {
    let first = "it is the first row, and nothing was warmed up before it";
    let reason = match &quality.distribution {
        _ if !is_cold || quality.sampling.is_some() => return None,
        None => first.to_owned(),
        Some(later) => {
            let times = 1.0 / (1.0 + later.perturbation);
            if times < COLD {
                return None;
            }
            format!("{first}; a moment later it took {times:.1} times less")
        }
    };
    Some(mark(Doubt::Cold, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Distribution, Percentiles};

    fn sampling(stop: Stop, half_width: Option<f64>) -> Sampling {
        Sampling {
            iterations: 120,
            batch_iterations: 20,
            batch_us: vec![1.0; 6],
            median_us: 1.0,
            interval_us: None,
            half_width,
            target: 0.01,
            lag1: None,
            merged: 1,
            stop,
        }
    }

    fn distribution(p90_us: f64, perturbation: f64) -> Distribution {
        Distribution {
            clock: "host clock".to_owned(),
            operations: 200,
            slowest: Percentiles {
                p50_us: 10.0,
                p90_us,
                ..Percentiles::default()
            },
            ranks: Vec::new(),
            perturbation,
        }
    }

    fn doubts_of(sample: &Sample, time_us: f64, issue_us: f64) -> Vec<Doubt> {
        let spread = |value| crate::record::Spread {
            mean_us: value,
            min_us: value,
            max_us: value,
            rank0_us: value,
        };
        let outcome = Outcome::Measured {
            time_us: crate::base::Micros(time_us),
            time: spread(time_us),
            issue: Some(spread(issue_us)),
            algbw_gbps: crate::base::GBps(1.0),
            busbw_gbps: crate::base::GBps(1.0),
            wrong: None,
            wrong_threads: 0,
            unchecked: None,
            bad: Vec::new(),
            per_iteration: None,
        };
        let quality = super::quality(sample, &outcome);
        quality.marks.iter().map(|mark| mark.doubt).collect()
    }

    fn doubts(quality: Quality, time_us: f64, issue_us: f64) -> Vec<Doubt> {
        let sample = Sample {
            quality: Box::new(quality),
            ..Sample::default()
        };
        doubts_of(&sample, time_us, issue_us)
    }

    #[test]
    fn a_row_that_nothing_speaks_against_has_no_mark() {
        let quality = Quality {
            sampling: Some(sampling(Stop::Narrow, Some(0.009))),
            distribution: Some(distribution(11.0, 0.03)),
            ..Quality::default()
        };
        assert_eq!(doubts(quality, 10.0, 3.0), []);
    }

    #[test]
    fn a_median_that_is_known_too_badly_or_not_at_all_is_unstable() {
        for half_width in [Some(0.08), None] {
            let quality = Quality {
                sampling: Some(sampling(Stop::Budget, half_width)),
                ..Quality::default()
            };
            assert_eq!(doubts(quality, 10.0, 3.0), [Doubt::Unstable]);
        }
    }

    #[test]
    fn operations_that_scatter_are_unstable() {
        let quality = Quality {
            distribution: Some(distribution(14.0, 0.0)),
            ..Quality::default()
        };
        assert_eq!(doubts(quality, 10.0, 3.0), [Doubt::Unstable]);
    }

    #[test]
    fn a_host_that_enqueues_as_long_as_it_takes_is_what_is_measured() {
        assert_eq!(doubts(Quality::default(), 10.0, 9.5), [Doubt::LaunchBound]);
        assert_eq!(doubts(Quality::default(), 10.0, 8.0), []);
        let blocking = Sample {
            launches_block: true,
            ..Sample::default()
        };
        assert_eq!(doubts_of(&blocking, 10.0, 10.0), []);
    }

    #[test]
    fn clocks_that_are_held_back_are_named_by_rank() {
        let throttled = |ranks: u32| Sample {
            throttled: (0..ranks)
                .map(|rank| format!("rank {rank}: power cap"))
                .collect(),
            ..Sample::default()
        };
        assert_eq!(
            doubts_of(&throttled(1), 10.0, 1.0),
            [Doubt::ClocksThrottled]
        );
        assert_eq!(doubts_of(&throttled(0), 10.0, 1.0), []);
        let mark = super::throttled(&throttled(6).throttled).unwrap();
        assert!(
            mark.reason.ends_with("rank 3: power cap and 2 more ranks"),
            "{mark:?}"
        );
    }

    #[test]
    fn a_first_row_is_cold_unless_what_followed_was_as_slow() {
        let cold = |distribution| Sample {
            is_cold: true,
            quality: Box::new(Quality {
                distribution,
                ..Quality::default()
            }),
            ..Sample::default()
        };
        assert_eq!(doubts_of(&cold(None), 10.0, 1.0), [Doubt::Cold]);
        let slower = Some(distribution(11.0, -0.4));
        assert_eq!(doubts_of(&cold(slower), 10.0, 1.0), [Doubt::Cold]);
        let alike = Some(distribution(11.0, 0.02));
        assert_eq!(doubts_of(&cold(alike), 10.0, 1.0), []);
    }
}
