//! What a check puts together while it looks.

use super::Check;
use crate::record::Finding;
use crate::record::Health;
use std::collections::BTreeMap;

/// Lines of evidence, each with how it came out; the worst decides.
#[derive(Debug, Default)]
pub struct Look {
    lines: Vec<(Health, String)>,
    shared: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
    hint: Option<String>,
}

impl Look {
    /// There is nothing that the check is about, for this reason.
    pub fn none(why: impl Into<String>) -> Self {
        Self::default().and(Health::NotApplicable, why)
    }

    /// It cannot be looked at, for this reason.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::default().and(Health::Unknown, why)
    }

    /// Adds a line.
    #[must_use]
    pub fn and(mut self, health: Health, text: impl Into<String>) -> Self {
        self.add(health, text);
        self
    }

    /// Adds a line.
    pub fn add(&mut self, health: Health, text: impl Into<String>) {
        self.lines.push((health, text.into()));
    }

    /// Adds a line of what is as it should be.
    pub fn ok(&mut self, text: impl Into<String>) {
        self.add(Health::Ok, text);
    }

    /// Adds a line of what may become trouble.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.add(Health::Warning, text);
    }

    /// Adds a line of what will be trouble.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.add(Health::Failure, text);
    }

    /// Adds a line of what cannot be looked at.
    pub fn unclear(&mut self, text: impl Into<String>) {
        self.add(Health::Unknown, text);
    }

    /// Notes what should be the same on all hosts.
    pub fn share(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.shared.insert(name.into(), value.into());
    }

    /// Notes what is this host's own and should stay.
    pub fn own(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.own.insert(name.into(), value.into());
    }

    /// Says what to do in the place of the check's usual advice.
    pub fn hint(&mut self, advice: impl Into<String>) {
        self.hint = Some(advice.into());
    }

    /// Whether nothing was said yet.
    pub fn is_silent(&self) -> bool {
        self.lines.is_empty()
    }

    /// The finding of a check: worst lines first, advice only where something is to be done.
    pub(super) fn finding(mut self, check: &Check) -> Finding {
        self.lines
            .sort_by_key(|(health, _)| std::cmp::Reverse(*health));
        let health = self.lines.first().map_or(Health::Ok, |(health, _)| *health);
        let advice = self.hint.unwrap_or_else(|| check.hint.to_owned());
        Finding {
            check: check.name.to_owned(),
            health,
            evidence: self.lines.into_iter().map(|(_, text)| text).collect(),
            shared: self.shared,
            own: self.own,
            hint: (health >= Health::Warning).then_some(advice),
        }
    }
}

/// `0`, `0, 2`, `0–7`: indices as people read them.
pub(super) fn spans(all: &[u32]) -> String {
    crate::probe::cpu::list(all)
        .replace('-', "–")
        .replace(',', ", ")
}

/// Bytes as people read them, in the largest unit that leaves at least one.
pub(super) fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut at = 0;
    let mut left = count;
    while left >= 1024 && at + 1 < units.len() {
        left /= 1024;
        at += 1;
    }
    format!("{left} {}", units[at])
}
