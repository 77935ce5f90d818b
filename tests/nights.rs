//! Error rates of verdicts over simulated nights, as the project promises them.
//!
//! Seeds are fixed and nights are few, to be quick; `benches/verdict_nights.rs` runs many, and
//! `results/` holds what came of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a test fails by panicking, and sizes are below 2^53"
)]

#[path = "nights/mod.rs"]
mod nights;

use ncclbench::record::verdict::Band;
use nights::{Counts, Night, REALISTIC, count, loss};

fn of(launches: [usize; 2], loss: Option<(Band, f64)>, n: u32, seed: u64) -> Counts {
    let noise = REALISTIC;
    count(
        Night {
            launches,
            loss,
            noise,
        },
        n,
        seed,
    )
}

#[test]
fn a_clean_night_is_never_called_slower_and_mostly_passes() {
    let counts = of([5, 5], None, 200, 1);
    assert!(counts.regress <= 1, "{counts:?}");
    // four in five, less two standard deviations of what so few nights tell
    assert!(counts.share(counts.pass) >= 0.80 - 0.057, "{counts:?}");
    let few = of([3, 3], None, 100, 2);
    assert_eq!(few.regress, 0, "{few:?}");
}

#[test]
fn a_loss_of_twice_the_limit_in_one_band_is_found_with_five_launches_a_side() {
    for (band, by) in [
        (Band::Latency, 1.20),
        (Band::Middle, loss(6.0)),
        (Band::Bandwidth, loss(6.0)),
    ] {
        let counts = of([5, 5], Some((band, by)), 100, 3);
        assert!(counts.share(counts.regress) >= 0.95, "{band:?}: {counts:?}");
        assert_eq!(counts.pass, 0, "{band:?}: {counts:?}");
    }
}

#[test]
fn a_loss_of_three_times_the_limit_is_found_with_three() {
    for (band, by) in [
        (Band::Latency, 1.30),
        (Band::Middle, loss(10.0)),
        (Band::Bandwidth, loss(10.0)),
    ] {
        let counts = of([3, 3], Some((band, by)), 100, 4);
        assert!(counts.share(counts.regress) >= 0.99, "{band:?}: {counts:?}");
        assert_eq!(counts.pass, 0, "{band:?}: {counts:?}");
    }
}

#[test]
fn a_loss_just_beyond_the_limit_does_not_pass() {
    for (band, percent) in [
        (Band::Latency, 10.0),
        (Band::Middle, 3.0),
        (Band::Bandwidth, 3.0),
    ] {
        let counts = of([5, 5], Some((band, loss(percent))), 100, 5);
        assert!(counts.pass <= 1, "{band:?}: {counts:?}");
    }
}

#[test]
fn a_verdict_takes_no_more_than_its_rows_and_follows_from_its_seed() {
    let night = Night {
        launches: [3, 3],
        loss: None,
        noise: REALISTIC,
    };
    let verdict = nights::verdict(night, 9);
    assert_eq!(
        (verdict.rows.len(), verdict.bands.len(), verdict.parts.len()),
        (60, 3, 15)
    );
    assert_eq!(verdict, nights::verdict(night, 9));
    assert_ne!(verdict, nights::verdict(night, 10));
}
