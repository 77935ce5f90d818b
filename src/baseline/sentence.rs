//! The one sentence on top of a verdict.

use crate::base::counted;
use crate::record::verdict::{
    BandVerdict, BaselineRef, Change, Decision, MissingRow, MoreLaunches,
};

/// What the sentence is made of.
#[derive(Debug)]
pub(super) struct Facts<'f> {
    pub(super) decision: Decision,
    pub(super) baseline: &'f BaselineRef,
    pub(super) n_launches: usize,
    pub(super) bands: &'f [BandVerdict],
    pub(super) parts: &'f [BandVerdict],
    pub(super) missing: &'f [MissingRow],
    pub(super) launches_needed: Option<MoreLaunches>,
}

impl Facts<'_> {
    /// `REGRESS: the bandwidth band is 6.1 % slower than baseline …`
    pub(super) fn sentence(&self) -> String {
        let said = match self.decision {
            Decision::Pass => self.pass(),
            Decision::Regress => self.regress(),
            Decision::Inconclusive => self.inconclusive(),
        };
        let launches = format!(
            "{} against {}",
            counted(self.n_launches, "launch", "launches"),
            self.baseline.launches
        );
        format!("{}: {said}; {launches}.", self.decision.word())
    }

    fn pass(&self) -> String {
        let worst = self
            .bands
            .iter()
            .max_by(|a, b| share(a).total_cmp(&share(b)));
        let name = &self.baseline.name;
        let worst = worst.map_or_else(String::new, |band| {
            let ruled_out = band.ruled_out_percent.unwrap_or(f64::NAN).max(0.0);
            format!(
                "; closest is {}, {}, where a loss over {ruled_out:.1} % is ruled out (limit {} %)",
                named(band),
                moved(band.change.percent),
                band.limit_percent
            )
        });
        format!("no band is slower than baseline `{name}` by its limit{worst}")
    }

    fn regress(&self) -> String {
        let guilty = self.with(Decision::Regress);
        let said: Vec<String> = guilty
            .iter()
            .map(|band| {
                format!(
                    "{} is {} ({}, limit {} %)",
                    named(band),
                    moved(band.change.percent),
                    interval(band.change),
                    band.limit_percent
                )
            })
            .collect();
        format!(
            "against baseline `{}` {}",
            self.baseline.name,
            said.join(", ")
        )
    }

    fn inconclusive(&self) -> String {
        let open = self.with(Decision::Inconclusive);
        let mut said: Vec<String> = open
            .iter()
            .map(|band| {
                let (change, limit) = (moved(band.change.percent), band.limit_percent);
                format!(
                    "{} is {change} ({}, limit {limit} %): {}",
                    named(band),
                    interval(band.change),
                    band.why
                )
            })
            .collect();
        let n_lost = self.missing.iter().filter(|row| row.lost).count();
        if n_lost > 0 {
            let rows = counted(n_lost, "row", "rows");
            said.push(format!("{rows} of the baseline could not be compared"));
        }
        if let Some(more) = self.launches_needed {
            said.push(needed(more));
        }
        format!(
            "against baseline `{}` {}",
            self.baseline.name,
            said.join("; ")
        )
    }

    /// Bands first; a part only where no band of the same sizes says it already.
    fn with(&self, decision: Decision) -> Vec<&BandVerdict> {
        let bands: Vec<_> = self
            .bands
            .iter()
            .filter(|band| band.decision == decision)
            .collect();
        let said = |part: &&BandVerdict| !bands.iter().any(|band| band.band == part.band);
        let parts = self
            .parts
            .iter()
            .filter(|part| part.decision == decision)
            .filter(said);
        bands.iter().copied().chain(parts).collect()
    }
}

/// How much of its limit the loss takes that is not ruled out.
fn share(band: &BandVerdict) -> f64 {
    band.ruled_out_percent.unwrap_or(f64::INFINITY) / band.limit_percent
}

fn named(band: &BandVerdict) -> String {
    let sizes = band.band.name();
    match &band.collective {
        Some(collective) => format!("{collective} in the {sizes} band"),
        None => format!("the {sizes} band"),
    }
}

fn moved(percent: f64) -> String {
    if percent.abs() < 0.05 {
        return "unchanged".to_owned();
    }
    let way = if percent < 0.0 { "slower" } else { "faster" };
    format!("{:.1} % {way}", percent.abs())
}

fn interval(change: Change) -> String {
    match (change.low_percent, change.high_percent) {
        (Some(low), Some(high)) => format!("95 % interval {low:+.1} to {high:+.1} %"),
        _ => "no interval".to_owned(),
    }
}

/// `3 more launches would settle it`
pub(super) fn needed(more: MoreLaunches) -> String {
    let now = more.now as usize;
    if more.baseline == 0 {
        return format!(
            "{} would settle it",
            counted(now, "more launch", "more launches")
        );
    }
    format!(
        "{} on each side would settle it",
        counted(now, "more launch", "more launches")
    )
}
