//! Error rates of verdicts, from simulated nights: many more than the tests run.
//!
//! `cargo bench --bench verdict_nights [NIGHTS]`; `results/` holds what it printed.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a bench prints, and fails by panicking"
)]

#[path = "../tests/nights/mod.rs"]
mod nights;

use ncclbench::record::verdict::Band;
use nights::noise::{Shifts, Summary};
use nights::{Counts, Night, Noise, REALISTIC, count, loss};

fn main() {
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let n = words
        .next()
        .map_or(2000, |word| word.parse().expect("a number of nights"));
    let wanted: Vec<String> = words.collect();
    println!("# {n} nights of 60 rows for each line; limits: latency 10 %, others 3 %; seed 1");
    for (name, noise) in kinds() {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word)) {
            table(name, noise, n);
        }
    }
}

/// Kinds of noise, each with one thing changed.
fn kinds() -> [(&'static str, Noise); 6] {
    let mut per_band = REALISTIC;
    per_band.shifts = Shifts::PerBand;
    let mut heavy = REALISTIC;
    heavy.heavy_launches = true;
    let summed = |summary| {
        let mut noise = REALISTIC;
        noise.summary = summary;
        noise
    };
    [
        ("realistic", REALISTIC),
        ("summary: mean of the loop", summed(Summary::LoopMean)),
        (
            "summary: median of iterations",
            summed(Summary::IterationMedian),
        ),
        ("summary: fastest iteration", summed(Summary::Fastest)),
        ("harder: each band shifts by itself", per_band),
        ("harder: launches with heavy tails", heavy),
    ]
}

fn table(name: &str, noise: Noise, n: u32) {
    println!("\n## {name}");
    for launches in [[5, 5], [3, 3], [2, 2], [20, 1], [20, 3]] {
        line("clean", noise, launches, None, n);
    }
    for (band, small, large, limit) in [
        (Band::Latency, 1.20, 1.30, 10.0),
        (Band::Middle, loss(6.0), loss(10.0), 3.0),
        (Band::Bandwidth, loss(6.0), loss(10.0), 3.0),
    ] {
        let name = band.name();
        line(
            &format!("{name} loses 6 % (20 %)"),
            noise,
            [5, 5],
            Some((band, small)),
            n,
        );
        line(
            &format!("{name} loses 10 % (30 %)"),
            noise,
            [3, 3],
            Some((band, large)),
            n,
        );
        let beyond = Some((band, loss(limit + 1.0)));
        line(
            &format!("{name} loses 1 % more than the limit"),
            noise,
            [5, 5],
            beyond,
            n,
        );
        for launches in [[5, 5], [3, 3], [20, 3]] {
            let at = Some((band, loss(limit)));
            line(
                &format!("{name} loses just the limit"),
                noise,
                launches,
                at,
                n,
            );
        }
    }
}

fn line(what: &str, noise: Noise, launches: [usize; 2], loss: Option<(Band, f64)>, n: u32) {
    let night = Night {
        launches,
        loss,
        noise,
    };
    let counts = count(night, n, 1);
    println!(
        "{what:<42} {:>2} v {:<2} {}",
        launches[0],
        launches[1],
        text(counts)
    );
}

fn text(counts: Counts) -> String {
    let part = |name: &str, count: u32| {
        format!("{name} {count:>6} ({:>6.2} %)", counts.share(count) * 100.0)
    };
    format!(
        "{} {} {}",
        part("pass", counts.pass),
        part("regress", counts.regress),
        part("inconclusive", counts.inconclusive)
    )
}
