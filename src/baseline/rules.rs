//! What a verdict is decided by: limits, confidences, and how hard the bootstrap works.

use crate::record::Limits;
use crate::record::verdict::Band;

/// Largest requested size of the latency band, in bytes.
const LATENCY_TO: u64 = 64 << 10;

/// Smallest requested size of the bandwidth band, in bytes.
const BANDWIDTH_FROM: u64 = 64 << 20;

/// The band of a requested size.
///
/// # Source
/// Bands are judged because single sizes tested one by one need many more launches; `docs/METHOD.md`.
pub fn band(requested: u64) -> Band {
    match requested {
        0..=LATENCY_TO => Band::Latency,
        BANDWIDTH_FROM.. => Band::Bandwidth,
        _ => Band::Middle,
    }
}

/// The rules of a verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Losses that matter, as fractions: latency, middle, bandwidth.
    pub limits: [f64; 3],
    /// Confidence, one-sided, with which a loss beyond the limit is shown before a band regresses.
    pub regress: f64,
    /// Confidence, one-sided, with which such a loss is ruled out before a band passes.
    pub pass: f64,
    /// What launches vary by at the least, as a fraction.
    pub least_spread: f64,
    /// Draws of the bootstrap for a band.
    pub draws: usize,
    /// Draws of the bootstrap for a row.
    pub row_draws: usize,
    /// Where all randomness comes from: the same launches give the same verdict.
    pub seed: u64,
}

impl Rules {
    /// The rules with the limits that were asked for, and the usual ones for the rest.
    pub fn with(limits: Limits) -> Self {
        Self {
            limits: [
                limits.latency.unwrap_or(0.10),
                limits.middle.unwrap_or(0.03),
                limits.bandwidth.unwrap_or(0.03),
            ],
            regress: 0.975,
            pass: 0.9945,
            least_spread: 0.0025,
            draws: 1000,
            row_draws: 200,
            seed: 0x6e63_636c,
        }
    }

    /// The loss that matters in a band, as a fraction.
    pub fn limit(&self, band: Band) -> f64 {
        self.limits[band as usize]
    }

    /// The limit as a difference of logarithms of speed, below zero.
    pub fn log_limit(&self, band: Band) -> f64 {
        (1.0 - self.limit(band)).ln()
    }
}
