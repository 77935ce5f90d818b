//! What a sweep comes to: each step by its data and its floors, the whole by all floors and the baseline.

use crate::base::Fault;
use crate::baseline;
use crate::baseline::Question;
use crate::baseline::Rules;
use crate::baseline::fingerprint;
use crate::baseline::launch;
use crate::cli::Config;
use crate::cli::SweepArgs;
use crate::record::Floor;
use crate::record::Header;
use crate::record::Judgement;
use crate::record::Row;
use crate::record::Verdict;
use crate::record::baseline::BaselineEntry;
use crate::record::baseline::Launch;
use crate::record::verdict::BandVerdict;
use crate::record::verdict::Decision;
use crate::record::verdict::GateResult;
use crate::store::Store;
use serde::Deserialize;
use serde::Serialize;

/// Why a sweep does not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct Stop {
    /// The step that was not passed.
    pub(in crate::app) step: String,
    /// What was seen.
    pub(in crate::app) why: Vec<String>,
    /// The exit code that it calls for.
    pub(in crate::app) code: u8,
}

impl Stop {
    /// The bytes went another way than is required.
    pub(in crate::app) fn path() -> Self {
        Self {
            step: "path".to_owned(),
            why: Vec::new(),
            code: 6,
        }
    }
}

/// What a sweep came to.
#[derive(Debug, PartialEq)]
pub(in crate::app) struct Judged {
    pub(in crate::app) judgement: Judgement,
    /// The whole in one sentence.
    pub(in crate::app) sentence: String,
    /// The exit code that it calls for.
    pub(in crate::app) code: u8,
}

/// Judges a step by its rows: wrong data, and floors that name any of them.
pub(in crate::app) fn step(config: &Config, step: usize, rows: &[Row]) -> Option<Stop> {
    let name = &config.steps[step].name;
    let stop = |why: Vec<String>, code| {
        (!why.is_empty()).then(|| Stop {
            step: name.clone(),
            why,
            code,
        })
    };
    let wrong = rows.iter().filter(|row| row.is_wrong());
    let wrong = wrong.map(|row| format!("wrong data: {}", crate::record::RowKey::of(&row.case)));
    let floors = config
        .floors
        .iter()
        .filter(|floor| rows.iter().any(|row| names(floor, row)));
    let floors: Vec<Floor> = floors.cloned().collect();
    let launch = launch_of("", "", rows);
    stop(wrong.collect(), 5).or_else(|| stop(unmet(&baseline::gate(&floors, &[launch])), 6))
}

/// Whether a floor is about a row.
fn names(floor: &Floor, row: &Row) -> bool {
    let case = &row.case;
    floor.collective == case.collective
        && floor.dtype.is_none_or(|dtype| dtype == case.dtype)
        && floor
            .placement
            .is_none_or(|placement| placement == case.placement)
        && (floor.from..=floor.to).contains(&case.requested)
}

fn launch_of(run: &str, started: &str, rows: &[Row]) -> Launch {
    let mut builder = launch::Builder::new(run, started);
    for row in rows {
        builder.row(launch::of_row(row, launch::Known::Both), row.is_wrong());
    }
    builder.finish(None)
}

/// What is said of each floor that is not met.
fn unmet(results: &[GateResult]) -> Vec<String> {
    let unmet = results.iter().filter(|result| !result.met);
    let text = |result: &GateResult| match result.got {
        Some(got) => format!("not met: {}: it is {got:.2} {}", result.asks, result.unit),
        None => format!("not met: {}: no row has it", result.asks),
    };
    unmet.map(text).collect()
}

/// A sweep that a step has ended.
pub(in crate::app) fn stopped(stop: &Stop) -> Judged {
    Judged {
        sentence: format!("NO-GO: it stopped at step `{}`", stop.step),
        judgement: Judgement {
            verdict: "no-go".to_owned(),
            stopped_at: Some(stop.step.clone()),
            why: stop.why.clone(),
        },
        code: stop.code,
    }
}

/// A sweep that could not be judged: its rows are whole all the same, and are kept.
pub(in crate::app) fn unjudged(fault: &Fault) -> Judged {
    Judged {
        judgement: Judgement {
            verdict: "unjudged".to_owned(),
            stopped_at: None,
            why: fault.to_string().lines().map(str::to_owned).collect(),
        },
        sentence: "kept, but it could not be judged".to_owned(),
        code: fault.kind.exit_code(),
    }
}

/// Whether the baseline that is named is there, before a night is spent on it.
///
/// # Errors
/// Those of reading the store.
pub(in crate::app) fn require_baseline(wish: &SweepArgs) -> Result<(), Fault> {
    match &wish.config.baseline {
        Some(name) => Store::at(&wish.store).baseline(name).map(drop),
        None => Ok(()),
    }
}

/// Judges a sweep that went to its end: by all its floors, then by the baseline, where there is one.
/// `code` is what the rows alone call for.
///
/// # Errors
/// Those of reading the store, and of comparing with a baseline that was named.
pub(in crate::app) fn whole(
    wish: &SweepArgs,
    header: &Header,
    run: &str,
    rows: &[Row],
    code: u8,
) -> Result<Judged, Fault> {
    let launch = launch_of(run, &header.started, rows);
    let config = &wish.config;
    let missed = unmet(&baseline::gate(
        &config.floors,
        std::slice::from_ref(&launch),
    ));
    if !missed.is_empty() || matches!(code, 3 | 5 | 6) {
        let stop = Stop {
            step: "floors".to_owned(),
            why: missed,
            code: 6,
        };
        let judged = stopped(&stop);
        let (sentence, stopped_at) = match code {
            5 => ("NO-GO: data was wrong".to_owned(), None),
            3 => ("nothing could be measured".to_owned(), None),
            _ if stop.why.is_empty() => (
                "NO-GO: the path is not the one that is required".to_owned(),
                Some("path".to_owned()),
            ),
            _ => ("NO-GO: floors were not met".to_owned(), Some(stop.step)),
        };
        let judgement = Judgement {
            stopped_at,
            ..judged.judgement
        };
        return Ok(Judged {
            sentence,
            judgement,
            code: if code == 0 { 6 } else { code },
        });
    }
    let found = fingerprint::of(header);
    match baseline_of(wish, &found)? {
        Some(entry) => against(wish, &entry, launch, &found),
        None => Ok(without_baseline(config)),
    }
}

fn baseline_of(
    wish: &SweepArgs,
    found: &crate::record::Fingerprint,
) -> Result<Option<BaselineEntry>, Fault> {
    let store = Store::at(&wish.store);
    match &wish.config.baseline {
        Some(name) => store.baseline(name).map(Some),
        None => store.baseline_for(found).map(|(entry, _)| entry),
    }
}

fn without_baseline(config: &Config) -> Judged {
    let gated = config.doctor || config.path.is_some() || !config.floors.is_empty();
    let (verdict, sentence) = if gated {
        ("go", "GO: everything that was asked for is met".to_owned())
    } else {
        (
            "kept",
            "kept; no baseline fits, so that there was nothing to compare with".to_owned(),
        )
    };
    Judged {
        judgement: Judgement {
            verdict: verdict.to_owned(),
            ..Judgement::default()
        },
        sentence,
        code: 0,
    }
}

fn against(
    wish: &SweepArgs,
    entry: &BaselineEntry,
    launch: Launch,
    found: &crate::record::Fingerprint,
) -> Result<Judged, Fault> {
    let (earlier, _) = Store::at(&wish.store).launches_of(&fingerprint::digest(found))?;
    let earlier: Vec<Launch> = earlier
        .into_iter()
        .filter(|one| one.run != launch.run)
        .collect();
    let question = Question {
        baseline: entry,
        now: &[launch],
        fingerprint: found,
        earlier: &earlier,
        floors: &[],
        force: false,
    };
    baseline::judge(&question, &Rules::with(wish.config.limits)).map(judged)
}

fn judged(verdict: Verdict) -> Judged {
    let (word, code) = match verdict.decision {
        Decision::Pass => ("pass", 0),
        Decision::Regress => ("regress", 1),
        Decision::Inconclusive => ("inconclusive", 7),
    };
    let lost = verdict.missing.iter().filter(|row| row.lost);
    let lost = lost.map(|row| format!("missing: {}: {}", row.key, row.why));
    Judged {
        judgement: Judgement {
            verdict: word.to_owned(),
            stopped_at: None,
            why: verdict.bands.iter().map(band).chain(lost).collect(),
        },
        sentence: verdict.sentence,
        code,
    }
}

/// `bandwidth: +0.4 % (-0.8 to +1.5), limit -3 %: PASS`
fn band(band: &BandVerdict) -> String {
    let change = band.change;
    let interval = match (change.low_percent, change.high_percent) {
        (Some(low), Some(high)) => format!(" ({low:+.1} to {high:+.1})"),
        _ => String::new(),
    };
    format!(
        "{}: {:+.1} %{interval}, limit -{} %: {}",
        band.band.name(),
        change.percent,
        band.limit_percent,
        band.decision.word()
    )
}
