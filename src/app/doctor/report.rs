//! The report as data: what `--json` prints and what the table is made of.

use crate::cli::DoctorArgs;
use crate::doctor::against::Acceptance;
use crate::doctor::against::Change;
use crate::doctor::drift;
use crate::doctor::drift::Drift;
use crate::record::Checkups;
use crate::record::Finding;
use crate::record::Health;
use serde::Serialize;

/// Raised where a key of the JSON changes its meaning.
const SCHEMA: u32 = 1;

/// What was found everywhere, what differs and what has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    /// This program's version.
    pub(super) ncclbench: String,
    /// The folder that was looked at instead of this machine.
    pub(super) root: Option<String>,
    /// The worst that was found.
    pub(super) health: Health,
    pub(super) hosts: Vec<HostPart>,
    /// Number of processes.
    pub(super) processes: usize,
    pub(super) findings: Vec<FindingPart>,
    pub(super) drift: Vec<Drift>,
    /// What has changed since the record, if one was named.
    pub(super) changes: Option<Vec<Change>>,
    pub(super) notes: Vec<String>,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct HostPart {
    pub(super) host: String,
    /// Its processes, by index.
    pub(super) processes: Vec<usize>,
}

/// A finding and who made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct FindingPart {
    #[serde(flatten)]
    pub(super) finding: Finding,
    /// Hosts by name.
    pub(super) hosts: Vec<String>,
    /// Processes by index.
    pub(super) processes: Vec<usize>,
    /// Their ranks as people read them, where not all of a host's made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ranks: Option<String>,
}

impl Report {
    pub(super) fn new(
        args: &DoctorArgs,
        checkups: &Checkups,
        notes: &[String],
        before: Option<&Acceptance>,
    ) -> Self {
        let drift = drift::between(checkups);
        let compared = before.map(|before| before.changes(checkups));
        let mut notes = notes.to_vec();
        let changes = compared.map(|(changes, more)| {
            notes.extend(more);
            changes
        });
        let hosts = hosts(checkups);
        let findings = checkups.findings.iter();
        let findings = findings.map(|one| part(checkups, &hosts, &one.finding, &one.members));
        let worst = drift.iter().map(|one| one.health).max();
        Self {
            schema: SCHEMA,
            ncclbench: env!("CARGO_PKG_VERSION").to_owned(),
            root: args.root.clone(),
            health: checkups.worst().max(worst.unwrap_or(Health::NotApplicable)),
            findings: findings.collect(),
            processes: checkups.members.len(),
            hosts,
            drift,
            changes,
            notes,
        }
    }

    /// Whether something is as it must not be.
    pub(super) fn is_failure(&self) -> bool {
        self.health == Health::Failure
    }
}

fn hosts(checkups: &Checkups) -> Vec<HostPart> {
    let first = checkups.hosts().into_iter();
    first
        .map(|first| {
            let identity = &checkups.members[first].identity;
            let all = checkups.members.iter().enumerate();
            let mine = all.filter(|(_, one)| one.identity == *identity);
            HostPart {
                host: checkups.members[first].host.clone(),
                processes: mine.map(|(member, _)| member).collect(),
            }
        })
        .collect()
}

fn part(
    checkups: &Checkups,
    hosts: &[HostPart],
    finding: &Finding,
    members: &[usize],
) -> FindingPart {
    let has_any = |host: &&HostPart| host.processes.iter().any(|one| members.contains(one));
    let mine: Vec<&HostPart> = hosts.iter().filter(has_any).collect();
    let everybodys = mine
        .iter()
        .all(|host| host.processes.iter().all(|one| members.contains(one)));
    // what the first of a host found is the host's
    let firsts = mine
        .iter()
        .all(|host| members.contains(&host.processes[0]) && members.len() == mine.len());
    let ranks = members
        .iter()
        .map(|&member| checkups.members[member].ranks.as_str());
    FindingPart {
        finding: finding.clone(),
        hosts: mine.iter().map(|host| host.host.clone()).collect(),
        processes: members.to_vec(),
        ranks: (!everybodys && !firsts).then(|| few(&ranks.collect::<Vec<_>>())),
    }
}

/// Up to eight, else the first and how many there are.
fn few(all: &[&str]) -> String {
    match all.len() {
        0..=8 => all.join(", "),
        many => format!("{}, … ({many} processes)", all[0]),
    }
}
