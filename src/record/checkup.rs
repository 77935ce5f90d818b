//! What came of examining a machine: the findings of `ncclbench doctor`.

use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How a check of a machine came out, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// There is nothing here that the check is about.
    NotApplicable,
    /// As it should be.
    Ok,
    /// It could not be looked at; the finding says why.
    Unknown,
    /// It may cost speed, or may become trouble.
    Warning,
    /// Runs will fail, be wrong or be several times slower.
    Failure,
}

impl Health {
    /// All of them, from the best to the worst.
    pub const ALL: &[Self] = &[
        Self::NotApplicable,
        Self::Ok,
        Self::Unknown,
        Self::Warning,
        Self::Failure,
    ];

    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotApplicable => "not applicable",
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// What one check found on one host, or in one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The check's name.
    pub check: String,
    /// How it came out.
    pub health: Health,
    /// What was seen, the worst first; where it is unknown or not applicable, why.
    pub evidence: Vec<String>,
    /// What should be the same on all hosts of a cluster, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shared: BTreeMap<String, String>,
    /// What belongs to this host alone and should stay as it is, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, String>,
    /// What to do, ready to copy, where something is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The findings of one process: all checks on the first of its host, those of a process on others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkup {
    /// The host's name.
    pub host: String,
    /// What tells hosts apart.
    pub identity: String,
    /// The ranks that the process would hold, as people read them: `rank 3`, `ranks 4–7`.
    pub ranks: String,
    /// In the order of the checks.
    pub findings: Vec<Finding>,
}

/// Who a process is, in a set of checkups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examined {
    /// The host's name.
    pub host: String,
    /// What tells hosts apart.
    pub identity: String,
    /// As in [`Checkup::ranks`].
    pub ranks: String,
}

/// A finding, and the processes that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFinding {
    /// What was found.
    pub finding: Finding,
    /// Indices of the processes, ascending.
    pub members: Vec<usize>,
}

/// The checkups of all processes, equal findings once: as long as hosts are alike it stays small.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkups {
    /// By process.
    pub members: Vec<Examined>,
    /// In the order of the checks, and in that of the first process of each.
    pub findings: Vec<SharedFinding>,
}

impl Checkups {
    /// Puts the checkups of all processes together.
    pub fn of(all: Vec<Checkup>) -> Self {
        let mut together = Self::default();
        let mut by_check: Vec<(String, Vec<SharedFinding>)> = Vec::new();
        for (member, one) in all.into_iter().enumerate() {
            for finding in one.findings {
                let place = by_check.iter().position(|(name, _)| *name == finding.check);
                let at = place.unwrap_or_else(|| {
                    by_check.push((finding.check.clone(), Vec::new()));
                    by_check.len() - 1
                });
                let same = &mut by_check[at].1;
                match same.iter_mut().find(|other| other.finding == finding) {
                    Some(other) => other.members.push(member),
                    None => same.push(SharedFinding {
                        finding,
                        members: vec![member],
                    }),
                }
            }
            together.members.push(Examined {
                host: one.host,
                identity: one.identity,
                ranks: one.ranks,
            });
        }
        together.findings = by_check.into_iter().flat_map(|(_, same)| same).collect();
        together
    }

    /// The first process of each host, in the order of processes.
    pub fn hosts(&self) -> Vec<usize> {
        let mut seen: Vec<&str> = Vec::new();
        let mut first = Vec::new();
        for (member, one) in self.members.iter().enumerate() {
            if !seen.contains(&one.identity.as_str()) {
                seen.push(&one.identity);
                first.push(member);
            }
        }
        first
    }

    /// The findings of one process.
    pub fn of_member(&self, member: usize) -> impl Iterator<Item = &Finding> {
        let mine = self.findings.iter();
        let mine = mine.filter(move |one| one.members.contains(&member));
        mine.map(|one| &one.finding)
    }

    /// The worst that was found.
    pub fn worst(&self) -> Health {
        let all = self.findings.iter().map(|one| one.finding.health);
        all.max().unwrap_or(Health::NotApplicable)
    }
}
