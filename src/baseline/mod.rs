//! Run against run to a verdict: is it worse than before?
//!
//! Pure: launches come in as values, a [`Verdict`] goes out; nothing here reads a file, prints, or
//! knows the time. `docs/METHOD.md` describes the method and its error rates.

mod decide;
pub mod fingerprint;
mod gate;
pub mod launch;
mod pairing;
mod past;
mod rows;
mod rules;
mod sentence;
#[cfg(test)]
mod tests;

pub use gate::gate;
pub use rules::{Rules, band};

use crate::base::{Fault, Kind};
use crate::record::baseline::{BaselineEntry, Launch};
use crate::record::verdict::{
    Band, BandVerdict, BaselineRef, Decision, Difference, MissingRow, MoreLaunches, RowVerdict,
};
use crate::record::{Fingerprint, Floor, Verdict};
use pairing::{OverRanks, Pair};
use past::Past;
use std::collections::BTreeSet;

/// The most rows whose history is drawn.
const MOST_SERIES: usize = 12;

/// What is to be judged, and by what.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    /// What is normal.
    pub baseline: &'q BaselineEntry,
    /// The launches of one night.
    pub now: &'q [Launch],
    /// What these launches have in common.
    pub fingerprint: &'q Fingerprint,
    /// Earlier launches with the same fingerprint, for the history; any order.
    pub earlier: &'q [Launch],
    /// Floors for single sizes.
    pub floors: &'q [Floor],
    /// Compare although fingerprints differ.
    pub force: bool,
}

/// Judges launches.
///
/// # Errors
/// `Unlike`, where the fingerprints differ and it was not forced, where only one side knows the time of
/// its slowest rank and the other only the mean, or where no row is on both sides. `Usage`, where there
/// is no launch or the baseline is retired.
pub fn judge(question: &Question<'_>, rules: &Rules) -> Result<Verdict, Fault> {
    let forced = comparable(question)?;
    let sides = [question.baseline.launches.as_slice(), question.now];
    let over = OverRanks::common(sides)?;
    let paired = pairing::pair(sides, over, rules);
    if paired.pairs.is_empty() {
        return Err(nothing_in_common(question.baseline, &paired.missing));
    }
    let (bands, parts) = (bands(&paired.pairs, rules), parts(&paired.pairs, rules));
    let decision = decided(&bands, &parts, &paired.missing);
    let rows = rows::looks(&paired.pairs, rules);
    let past = Past::of(question.earlier, sides[0], sides[1], over);
    let history = history(&past, &paired.pairs, &rows, rules);
    let open = bands
        .iter()
        .chain(&parts)
        .filter_map(|band| band.launches_needed);
    let is_open = decision == Decision::Inconclusive;
    let mut verdict = Verdict {
        decision,
        sentence: String::new(),
        baseline: reference(question.baseline),
        runs: question
            .now
            .iter()
            .map(|launch| launch.run.clone())
            .collect(),
        started: question
            .now
            .iter()
            .map(|launch| launch.started.clone())
            .min()
            .unwrap_or_default(),
        over_ranks: over.name().to_owned(),
        summary: "median over a launch's repetitions, mean over launches".to_owned(),
        confidence_percent: (1.0 - 2.0 * (1.0 - rules.regress)) * 100.0,
        pass_confidence_percent: rules.pass * 100.0,
        launches_needed: open.reduce(more).filter(|_| is_open),
        bands,
        parts,
        rows,
        missing: paired.missing,
        gate: gate(question.floors, question.now),
        forced,
        history,
        notes: Vec::new(),
    };
    verdict.sentence = sentence(&verdict, question.now.len());
    verdict.notes = notes(question, &verdict, over);
    Ok(verdict)
}

fn more(a: MoreLaunches, b: MoreLaunches) -> MoreLaunches {
    MoreLaunches {
        now: a.now.max(b.now),
        baseline: a.baseline.max(b.baseline),
    }
}

fn sentence(verdict: &Verdict, n_launches: usize) -> String {
    let facts = sentence::Facts {
        decision: verdict.decision,
        baseline: &verdict.baseline,
        n_launches,
        bands: &verdict.bands,
        parts: &verdict.parts,
        missing: &verdict.missing,
        launches_needed: verdict.launches_needed,
    };
    facts.sentence()
}

/// What differs, where that was forced.
fn comparable(question: &Question<'_>) -> Result<Vec<Difference>, Fault> {
    let baseline = question.baseline;
    if baseline.retired {
        return Err(Fault::usage(format!(
            "baseline `{}` was retired by {}: {}",
            baseline.name, baseline.author, baseline.reason
        ))
        .hint("accept a new one with `ncclbench baseline accept`"));
    }
    if question.now.is_empty() || baseline.launches.is_empty() {
        return Err(Fault::usage("there is no launch to compare"));
    }
    distinct(baseline.launches.iter().chain(question.now))?;
    let differences = fingerprint::differences(&baseline.fingerprint, question.fingerprint);
    if differences.is_empty() || question.force {
        return Ok(differences);
    }
    let text = format!("not comparable with baseline `{}`", baseline.name);
    let lines = fingerprint::in_words(&differences);
    Err(lines
        .into_iter()
        .fold(Fault::new(Kind::Unlike, text), Fault::detail)
        .hint("accept a baseline of its own for what is different")
        .hint("compare all the same with `--force`"))
}

fn nothing_in_common(baseline: &BaselineEntry, missing: &[MissingRow]) -> Fault {
    let text = format!(
        "no row of baseline `{}` was measured on both sides",
        baseline.name
    );
    let lines = missing
        .iter()
        .take(8)
        .map(|row| format!("{}: {}", row.key, row.why));
    lines.fold(Fault::new(Kind::Unlike, text), Fault::detail)
}

fn reference(baseline: &BaselineEntry) -> BaselineRef {
    BaselineRef {
        name: baseline.name.clone(),
        entry: baseline.entry,
        author: baseline.author.clone(),
        accepted: baseline.at.clone(),
        reason: baseline.reason.clone(),
        launches: u32::try_from(baseline.launches.len()).unwrap_or(u32::MAX),
    }
}

fn of_band<'p, 'l>(pairs: &'p [Pair<'l>], band: Band) -> Vec<&'p Pair<'l>> {
    pairs.iter().filter(|pair| pair.band == band).collect()
}

fn bands(pairs: &[Pair<'_>], rules: &Rules) -> Vec<BandVerdict> {
    let with_rows = Band::ALL.map(|band| (band, of_band(pairs, band)));
    with_rows
        .iter()
        .filter(|(_, pairs)| !pairs.is_empty())
        .filter_map(|(band, pairs)| decide::band(*band, pairs, rules))
        .collect()
}

/// One collective's rows of a band, in bands that have several collectives.
fn parts(pairs: &[Pair<'_>], rules: &Rules) -> Vec<BandVerdict> {
    let names: BTreeSet<(Band, &str)> = pairs
        .iter()
        .map(|pair| (pair.band, pair.key.collective.as_str()))
        .collect();
    let alone = |band: Band| names.iter().filter(|(other, _)| *other == band).count() < 2;
    let names: Vec<_> = names.iter().filter(|(band, _)| !alone(*band)).collect();
    let part = |&&(band, collective): &&(Band, &str)| {
        let rows: Vec<_> = of_band(pairs, band)
            .into_iter()
            .filter(|pair| pair.key.collective == collective)
            .collect();
        decide::part(band, collective, &rows, names.len(), rules)
    };
    names.iter().filter_map(part).collect()
}

/// Refuses a launch that is there twice, under whatever name: it would count as two that agree.
///
/// # Errors
/// `Usage`, naming both.
pub fn distinct<'l>(launches: impl IntoIterator<Item = &'l Launch>) -> Result<(), Fault> {
    let mut seen: Vec<&Launch> = Vec::new();
    for launch in launches {
        let same = |other: &&Launch| other.started == launch.started && other.rows == launch.rows;
        if let Some(other) = seen.iter().copied().find(|other| same(other)) {
            let text = format!(
                "`{}` and `{}` are one and the same run",
                other.run, launch.run
            );
            return Err(Fault::usage(text).hint("give each launch once"));
        }
        seen.push(launch);
    }
    Ok(())
}

/// A regression anywhere is one; a pass needs every band, no objection and every row of the baseline.
fn decided(bands: &[BandVerdict], parts: &[BandVerdict], missing: &[MissingRow]) -> Decision {
    let all = || bands.iter().chain(parts);
    if all().any(|band| band.decision == Decision::Regress) {
        Decision::Regress
    } else if all().all(|band| band.decision == Decision::Pass)
        && !missing.iter().any(|row| row.lost)
    {
        Decision::Pass
    } else {
        Decision::Inconclusive
    }
}

fn history(
    past: &Past<'_>,
    pairs: &[Pair<'_>],
    rows: &[RowVerdict],
    rules: &Rules,
) -> Vec<crate::record::history::Series> {
    let bands = Band::ALL.into_iter().filter_map(|band| {
        let rows = of_band(pairs, band);
        (!rows.is_empty()).then(|| past.band(band, &rows, rules))
    });
    let odd = pairs
        .iter()
        .zip(rows)
        .filter(|(pair, row)| rows::stands_out(row, rules.log_limit(pair.band)));
    bands
        .chain(odd.take(MOST_SERIES).map(|(pair, _)| past.row(pair, rules)))
        .collect()
}

/// What a reader must know besides the table.
fn notes(question: &Question<'_>, verdict: &Verdict, over: OverRanks) -> Vec<String> {
    let mut notes = Vec::new();
    if over == OverRanks::Mean {
        notes.push(
            "times are means over ranks on both sides, because one side has no others".to_owned(),
        );
    }
    let unknown = fingerprint::unknown(&question.baseline.fingerprint, question.fingerprint);
    if !unknown.is_empty() {
        notes.push(format!(
            "not known on either side, so that it may differ: {}",
            unknown.join(", ")
        ));
    }
    for line in fingerprint::in_words(&verdict.forced) {
        notes.push(format!("compared although it differs: {line}"));
    }
    let n_new = verdict.missing.iter().filter(|row| !row.lost).count();
    if n_new > 0 {
        notes.push(format!(
            "{n_new} rows are not in the baseline and were not judged"
        ));
    }
    for launch in question.now.iter().filter(|launch| launch.wrong > 0) {
        notes.push(format!(
            "{}: {} measurements gave wrong data",
            launch.run, launch.wrong
        ));
    }
    for launch in question.now {
        if let Some(why) = &launch.cut_short {
            notes.push(format!("{} is not whole: {why}", launch.run));
        }
    }
    notes
}
