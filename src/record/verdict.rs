//! What a comparison with a baseline came to: what `compare` prints and pictures draw.
//!
//! Every change is a change of *speed* (bus bandwidth, or one over the time) in percent: below zero is
//! slower, and −50 means twice the time. `docs/METHOD.md` says how each figure is made.

use super::history::Series;
use super::key::RowKey;
use serde::{Deserialize, Serialize};

/// The answer to "is it worse than before?".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The interval excludes the limit: a loss as large as the limit is ruled out.
    Pass,
    /// The whole interval lies beyond the limit.
    Regress,
    /// It cannot be known from these launches.
    Inconclusive,
}

impl Decision {
    /// The word that people read: `PASS`, `REGRESS`, `INCONCLUSIVE`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Regress => "REGRESS",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// Message sizes that are judged together, because different parts of the machine limit them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Band {
    /// Up to 64 KiB.
    Latency,
    /// Between the two.
    Middle,
    /// From 64 MiB.
    Bandwidth,
}

impl Band {
    /// All of them, by size.
    pub const ALL: [Self; 3] = [Self::Latency, Self::Middle, Self::Bandwidth];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Middle => "middle",
            Self::Bandwidth => "bandwidth",
        }
    }
}

/// A change of speed and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The estimate, in percent; below zero is slower.
    pub percent: f64,
    /// Lower end of the interval, in percent; none where there are too few launches for one.
    pub low_percent: Option<f64>,
    /// Upper end of the interval, in percent.
    pub high_percent: Option<f64>,
}

/// How many more launches would settle a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MoreLaunches {
    /// Of what is judged.
    pub now: u32,
    /// For the baseline; 0 where it has enough.
    pub baseline: u32,
}

/// Several rows judged together: a band, or one collective's rows of a band.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BandVerdict {
    /// Which sizes.
    pub band: Band,
    /// The collective whose rows these are; none where they are those of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective: Option<String>,
    /// Rows that both sides have.
    pub rows: u32,
    /// Geometric mean of the rows' changes, with its interval at a confidence of 95 %.
    pub change: Change,
    /// The loss that is ruled out, in percent: the interval that a pass is decided by is wider than
    /// the one that is shown. Negative where even a gain is certain; none where nothing is ruled out.
    pub ruled_out_percent: Option<f64>,
    /// Loss in percent that matters, above zero: the limit is a change of `-limit_percent`.
    pub limit_percent: f64,
    /// What follows.
    pub decision: Decision,
    /// How many more launches would settle it if they went on like these; none where it is settled or
    /// where launches do not help.
    pub launches_needed: Option<MoreLaunches>,
    /// Why, in a few words.
    pub why: String,
}

/// What a single row looks like. Rows explain a verdict; they do not make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowLook {
    /// Nothing to see.
    Steady,
    /// Its whole interval is beyond the limit.
    Slower,
    /// Its whole interval is above zero by as much as the limit.
    Faster,
    /// The estimate is beyond the limit, but the interval is not.
    Watch,
    /// Its times fall into two groups; an average of them means little.
    Bimodal,
}

/// One side of a row, over its launches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Launches that measured it.
    pub launches: u32,
    /// Median over launches of the time of one operation, in µs.
    pub time_us: f64,
    /// Fastest launch, in µs.
    pub fastest_us: f64,
    /// Slowest launch, in µs.
    pub slowest_us: f64,
    /// Bus bandwidth at `time_us`, in GB/s.
    pub busbw_gbps: f64,
}

/// A row that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowVerdict {
    /// Which row.
    pub key: RowKey,
    /// The band it belongs to.
    pub band: Band,
    /// The baseline's launches.
    pub baseline: Side,
    /// The launches that are judged.
    pub now: Side,
    /// How the speed changed.
    pub change: Change,
    /// The band's limit.
    pub limit_percent: f64,
    /// What it looks like.
    pub look: RowLook,
    /// Robust z-score of the judged launches among the baseline's launches, below zero is slower;
    /// none where the baseline has fewer than eight.
    pub z: Option<f64>,
    /// What a reader should know about it; empty where there is nothing.
    pub why: String,
}

/// A row that is not on both sides, or that one of them could not measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MissingRow {
    /// Which row.
    pub key: RowKey,
    /// True where the judged launches lack it, which rules out a pass; false where it is new.
    pub lost: bool,
    /// Why: not in the file, or waived with its reason, and in how many launches.
    pub why: String,
}

/// A floor of the gate and whether it was met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// What is asked, as people read it: `allreduce 1 GiB busbw ≥ 350 GB/s`.
    pub asks: String,
    /// What was measured, in the floor's unit; none where no row answers to it, which is not met.
    pub got: Option<f64>,
    /// The floor, or the ceiling of a time.
    pub bound: f64,
    /// Unit of both: `GB/s` or `us`.
    pub unit: String,
    /// Whether it was met.
    pub met: bool,
}

/// A field of the fingerprint in which the two sides differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The field's name.
    pub field: String,
    /// The baseline's value; none where it is not known.
    pub baseline: Option<String>,
    /// The judged launches' value; none where it is not known.
    pub now: Option<String>,
}

/// Who the judged launches were compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineRef {
    /// Its name.
    pub name: String,
    /// Which acceptance of that name, from 1.
    pub entry: u32,
    /// Who accepted it.
    pub author: String,
    /// When, RFC 3339 in UTC.
    pub accepted: String,
    /// Why.
    pub reason: String,
    /// How many launches it holds.
    pub launches: u32,
}

/// A comparison with a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The whole: a regression in any band, else a pass where all bands pass and no row is missing.
    pub decision: Decision,
    /// The one sentence that says it.
    pub sentence: String,
    /// What it was compared with.
    pub baseline: BaselineRef,
    /// Runs that were judged, each a launch: file names without folder.
    pub runs: Vec<String>,
    /// When the first of them began, RFC 3339 in UTC.
    pub started: String,
    /// Which time over ranks was compared: `max` or `mean`.
    pub over_ranks: String,
    /// How one launch's repetitions of a row were made one number, in words.
    pub summary: String,
    /// Confidence of the intervals, two-sided, in percent: 95.
    pub confidence_percent: f64,
    /// Confidence, one-sided, with which a loss is ruled out before a band passes, in percent.
    pub pass_confidence_percent: f64,
    /// The bands that have rows, by size.
    pub bands: Vec<BandVerdict>,
    /// One collective's rows of a band, where a band has several collectives.
    pub parts: Vec<BandVerdict>,
    /// Every row that both sides have, as a table sorts them.
    pub rows: Vec<RowVerdict>,
    /// Every row that they have not.
    pub missing: Vec<MissingRow>,
    /// The gate's floors, where there is a gate.
    pub gate: Vec<GateResult>,
    /// How many more launches would settle it; none where it is settled or where launches do not help.
    pub launches_needed: Option<MoreLaunches>,
    /// What differed and was compared all the same (`--force`).
    pub forced: Vec<Difference>,
    /// Earlier launches and these, by band, and by row where a row stands out.
    pub history: Vec<Series>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

impl Verdict {
    /// The sentence without the word that it opens with, for whoever shows that word apart.
    pub fn reasons(&self) -> &str {
        let rest = self.sentence.strip_prefix(self.decision.word());
        rest.map_or(&self.sentence, |rest| rest.trim_start_matches([':', ' ']))
    }
}
