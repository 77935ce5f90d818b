//! The decision rule: from a difference of two groups of launches to pass, regress or inconclusive.

use super::pairing::Pair;
use super::rules::Rules;
use crate::base::stats::launches::{self, Difference, difference};
use crate::base::stats::random::Random;
use crate::record::verdict::{Band, BandVerdict, Change, Decision, MoreLaunches};

/// The most launches that a reader is told to add.
const MOST: u32 = 60;

/// How much launches usually vary, where nothing shows it: one percent.
const USUAL_SPREAD: f64 = 0.01;

/// Launches that must be judged before anything regresses: one bad launch is confirmed by another.
const CONFIRMED: usize = 2;

/// What is asked of a group of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    pub(super) launches: [usize; 2],
    /// Difference of logarithms of speed, below zero.
    pub(super) log_limit: f64,
    /// Confidences, one-sided.
    pub(super) regress: f64,
    pub(super) pass: f64,
}

impl Question {
    pub(super) fn answer(&self, difference: &Difference) -> Decision {
        if self.launches[1] >= CONFIRMED && difference.at_most(self.regress) < self.log_limit {
            Decision::Regress
        } else if difference.at_least(self.pass) > self.log_limit {
            Decision::Pass
        } else {
            Decision::Inconclusive
        }
    }

    /// How many launches like these would settle it: of what is judged where those suffice, else also
    /// for the baseline.
    fn needs(&self, difference: &Difference) -> Option<MoreLaunches> {
        let mut known = *difference;
        if !known.error.is_finite() {
            known.spread = [USUAL_SPREAD; 2];
        }
        let alone = (1..=MOST).map(|now| MoreLaunches { now, baseline: 0 });
        let both = (1..=MOST).map(|more| MoreLaunches {
            now: more,
            baseline: more,
        });
        alone.chain(both).find(|more| {
            self.with(*more).answer(&self.grown(&known, *more)) != Decision::Inconclusive
        })
    }

    fn with(&self, more: MoreLaunches) -> Self {
        let [baseline, now] = self.launches;
        Self {
            launches: [baseline + more.baseline as usize, now + more.now as usize],
            ..*self
        }
    }

    fn grown(&self, difference: &Difference, more: MoreLaunches) -> Difference {
        difference.with_launches(self.with(more).launches)
    }
}

/// Geometric means over rows: each launch's logarithms, averaged.
pub(super) fn averaged(pairs: &[&Pair<'_>], side: usize) -> Vec<launches::Launch> {
    let n_launches = pairs.first().map_or(0, |pair| pair.logs[side].len());
    (0..n_launches)
        .map(|launch| {
            let rows: Vec<_> = pairs.iter().map(|pair| &pair.logs[side][launch]).collect();
            average(&rows)
        })
        .collect()
}

/// Figure by figure; a row without repetitions counts with its own figure everywhere.
#[expect(clippy::cast_precision_loss, reason = "numbers of rows")]
fn average(rows: &[&launches::Launch]) -> launches::Launch {
    let n_figures = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let figure = |index: usize| {
        let figures = rows.iter().map(|row| row.get(index).unwrap_or(&row[0]));
        figures.sum::<f64>() / rows.len() as f64
    };
    (0..n_figures).map(figure).collect()
}

/// The difference of a group of rows, from launches as they were and as they might have been.
pub(super) fn of_group(pairs: &[&Pair<'_>], name: &str, rules: &Rules) -> Option<Difference> {
    let sides = [0, 1].map(|side| averaged(pairs, side));
    let mut random = Random::named(rules.seed, name);
    difference(
        [&sides[0], &sides[1]],
        rules.least_spread,
        rules.draws,
        &mut random,
    )
}

/// A band, over all collectives.
pub(super) fn band(band: Band, pairs: &[&Pair<'_>], rules: &Rules) -> Option<BandVerdict> {
    let found = of_group(pairs, band.name(), rules)?;
    let question = Question {
        launches: [0, 1].map(|side| pairs[0].logs[side].len()),
        log_limit: rules.log_limit(band),
        regress: rules.regress,
        pass: rules.pass,
    };
    let decision = question.answer(&found);
    let open = decision == Decision::Inconclusive;
    let launches_needed = if open { question.needs(&found) } else { None };
    Some(BandVerdict {
        band,
        collective: None,
        rows: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        change: change(&found, rules.regress),
        ruled_out_percent: ruled_out(&found, rules.pass),
        limit_percent: rules.limit(band) * 100.0,
        decision,
        launches_needed,
        why: why(&question, &found, decision, launches_needed),
    })
}

/// One collective's rows of a band: they cannot make a pass, but they can rule one out, so that a
/// loss of one collective is not hidden by the others. `n_parts` are looked at in all.
pub(super) fn part(
    band: Band,
    collective: &str,
    pairs: &[&Pair<'_>],
    n_parts: usize,
    rules: &Rules,
) -> Option<BandVerdict> {
    let found = of_group(pairs, &format!("{} {collective}", band.name()), rules)?;
    #[expect(clippy::cast_precision_loss, reason = "a number of collectives")]
    let question = Question {
        launches: [0, 1].map(|side| pairs[0].logs[side].len()),
        log_limit: rules.log_limit(band),
        regress: 1.0 - (1.0 - rules.regress) / n_parts.max(1) as f64,
        pass: rules.pass,
    };
    let (decision, why) = match question.answer(&found) {
        Decision::Regress => (Decision::Regress, "the whole interval is beyond the limit"),
        _ if found.estimate > question.log_limit => (Decision::Pass, "within the limit"),
        _ => (
            Decision::Inconclusive,
            "beyond the limit, but not for certain",
        ),
    };
    let open = decision == Decision::Inconclusive;
    Some(BandVerdict {
        band,
        collective: Some(collective.to_owned()),
        rows: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        change: change(&found, rules.regress),
        ruled_out_percent: ruled_out(&found, rules.pass),
        limit_percent: rules.limit(band) * 100.0,
        decision,
        launches_needed: if open { question.needs(&found) } else { None },
        why: why.to_owned(),
    })
}

fn why(
    question: &Question,
    found: &Difference,
    decision: Decision,
    needed: Option<MoreLaunches>,
) -> String {
    let beyond = found.at_most(question.regress) < question.log_limit;
    match (decision, needed) {
        (Decision::Pass, _) => "a loss as large as the limit is ruled out".to_owned(),
        (Decision::Regress, _) => "the whole interval is beyond the limit".to_owned(),
        _ if !found.error.is_finite() => {
            "one launch a side does not show how launches vary".to_owned()
        }
        (_, Some(_)) if beyond => {
            "beyond the limit in one launch; another one must confirm it".to_owned()
        }
        (_, Some(_)) => "the interval is too wide for an answer".to_owned(),
        (_, None) => "so close to the limit that launches do not settle it".to_owned(),
    }
}

fn ruled_out(found: &Difference, confidence: f64) -> Option<f64> {
    found
        .error
        .is_finite()
        .then(|| -percent(found.at_least(confidence)))
}

/// A difference of logarithms as a change in percent.
pub(super) fn percent(log: f64) -> f64 {
    log.exp_m1() * 100.0
}

/// A change with its interval at `confidence` on each side.
pub(super) fn change(found: &Difference, confidence: f64) -> Change {
    let known = |end: f64| Some(percent(end)).filter(|_| found.error.is_finite());
    Change {
        percent: percent(found.estimate),
        low_percent: known(found.at_least(confidence)),
        high_percent: known(found.at_most(confidence)),
    }
}
