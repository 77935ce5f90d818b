//! The report as people read it: one row for each check, the trouble at length.

use super::report::FindingPart;
use super::report::Report;
use crate::base::counted;
use crate::doctor::against::Change;
use crate::doctor::drift::Drift;
use crate::doctor::drift::Side;
use crate::record::Health;
use std::fmt::Write as _;

/// How much of what is well is shown on its row.
const ROW: usize = 110;

/// The most different kinds of trouble of one check that are shown.
const MOST_KINDS: usize = 8;

/// The whole report.
pub(super) fn of(report: &Report) -> String {
    let mut text = opening(report);
    let mut checks: Vec<&str> = Vec::new();
    for part in &report.findings {
        if !checks.contains(&part.finding.check.as_str()) {
            checks.push(&part.finding.check);
        }
    }
    let widest = checks.iter().map(|name| name.len()).max().unwrap_or(0);
    for check in checks {
        let parts = report.findings.iter();
        let parts: Vec<&FindingPart> = parts.filter(|one| one.finding.check == check).collect();
        rows(&mut text, report, (check, widest), &parts);
    }
    drift(&mut text, &report.drift);
    if let Some(changes) = &report.changes {
        changed(&mut text, changes);
    }
    for note in &report.notes {
        line(&mut text, 0, &format!("note: {note}"));
    }
    closing(&mut text, report);
    text
}

fn line(text: &mut String, indent: usize, what: &str) {
    // writing to a String cannot fail
    let _ = writeln!(text, "{:indent$}{what}", "");
}

fn opening(report: &Report) -> String {
    let mut text = String::new();
    let processes = counted(report.processes, "process", "processes");
    let hosts = match &report.hosts[..] {
        [one] => format!("host {}", one.host),
        all => counted(all.len(), "host", "hosts"),
    };
    let root = report.root.as_deref();
    let root = root.map_or_else(String::new, |root| format!(", as copied to {root}"));
    line(
        &mut text,
        0,
        &format!(
            "ncclbench {} doctor: {processes} on {hosts}{root}",
            report.ncclbench
        ),
    );
    line(&mut text, 0, "");
    text
}

/// The rows of one check: those of trouble one by one, what is well in one.
fn rows(text: &mut String, report: &Report, (check, width): (&str, usize), parts: &[&FindingPart]) {
    let mut trouble: Vec<&FindingPart> = Vec::new();
    // what belongs to a host alone is no reason for a row of its own
    let alike = |one: &&FindingPart, other: &&FindingPart| {
        (one.finding.health, &one.finding.evidence)
            == (other.finding.health, &other.finding.evidence)
    };
    let mut merged: Vec<(&FindingPart, Vec<&str>)> = Vec::new();
    for part in parts
        .iter()
        .filter(|one| one.finding.health >= Health::Warning)
    {
        trouble.push(part);
        let hosts = part.hosts.iter().map(String::as_str);
        match merged.iter_mut().find(|(one, _)| alike(one, part)) {
            Some((_, others)) => others.extend(hosts),
            None => merged.push((part, hosts.collect())),
        }
    }
    for (part, hosts) in merged.iter().take(MOST_KINDS) {
        troubled(text, report, (check, width), part, hosts);
    }
    if merged.len() > MOST_KINDS {
        let more = merged.len() - MOST_KINDS;
        line(
            text,
            2,
            &format!("… and {more} more of `{check}`; `--json` has all"),
        );
    }
    let well: Vec<&FindingPart> = parts
        .iter()
        .filter(|one| one.finding.health < Health::Warning)
        .copied()
        .collect();
    healthy(text, report, (check, width), &well, !trouble.is_empty());
}

fn troubled(
    text: &mut String,
    report: &Report,
    (check, width): (&str, usize),
    part: &FindingPart,
    hosts: &[&str],
) {
    let finding = &part.finding;
    let head = format!("{:<8} {check:<width$} ", finding.health);
    let who = who(report, hosts, part.ranks.as_deref());
    let mut evidence = finding.evidence.iter();
    let first = evidence.next().map_or("", String::as_str);
    line(text, 0, &format!("{head} {who}{first}"));
    for more in evidence {
        line(text, head.chars().count() + 1, more);
    }
    if let Some(hint) = &finding.hint {
        line(text, head.chars().count() + 1, &format!("hint: {hint}"));
    }
}

/// `node1, node2 (ranks 0–7): `; nothing where there is one host only.
fn who(report: &Report, hosts: &[&str], ranks: Option<&str>) -> String {
    let is_all = hosts.len() == report.hosts.len();
    let hosts = match hosts.len() {
        _ if report.hosts.len() == 1 => String::new(),
        _ if is_all => "all hosts".to_owned(),
        0..=4 => hosts.join(", "),
        many => format!("{}, … ({many} hosts)", hosts[..3].join(", ")),
    };
    match (hosts.is_empty(), ranks) {
        (true, None) => String::new(),
        (false, None) => format!("{hosts}: "),
        (true, Some(ranks)) => format!("{ranks}: "),
        (false, Some(ranks)) => format!("{hosts} ({ranks}): "),
    }
}

/// One row for all that are well, with the evidence of the first of them.
fn healthy(
    text: &mut String,
    report: &Report,
    (check, width): (&str, usize),
    parts: &[&FindingPart],
    has_trouble: bool,
) {
    let Some(worst) = parts.iter().max_by_key(|one| one.finding.health) else {
        return;
    };
    let mut hosts: Vec<&str> = parts
        .iter()
        .flat_map(|one| &one.hosts)
        .map(String::as_str)
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let differ = parts
        .iter()
        .any(|one| one.finding.evidence != worst.finding.evidence);
    let mut what = worst.finding.evidence.join("; ");
    if worst.finding.health != Health::Unknown {
        what = cut(&what);
    }
    if differ {
        let first = worst.hosts.first().map_or("", String::as_str);
        what = format!("{first}: {what}; others differ");
    } else if has_trouble {
        what = format!("{}{what}", who(report, &hosts, worst.ranks.as_deref()));
    }
    let health = match worst.finding.health {
        Health::NotApplicable => "-",
        other => other.words(),
    };
    line(text, 0, &format!("{health:<8} {check:<width$}  {what}"));
}

fn cut(text: &str) -> String {
    if text.chars().count() <= ROW {
        return text.to_owned();
    }
    let kept: String = text.chars().take(ROW - 2).collect();
    format!("{kept} …")
}

fn drift(text: &mut String, all: &[Drift]) {
    if all.is_empty() {
        return;
    }
    line(text, 0, "");
    line(text, 0, "hosts differ:");
    for one in all {
        let sides: Vec<String> = one.sides.iter().map(side).collect();
        let named = if one.check == one.what {
            one.what.clone()
        } else {
            format!("{} ({})", one.what, one.check)
        };
        let told = sides.join("; ");
        line(text, 0, &format!("{:<8} {named}: {told}", one.health));
    }
}

fn side(side: &Side) -> String {
    let value =
        side.value.as_deref().map_or(
            "not told",
            |value| {
                if value.is_empty() { "none" } else { value }
            },
        );
    let hosts = match side.hosts.len() {
        0..=6 => side.hosts.join(", "),
        many => format!("{}, … ({many} hosts)", side.hosts[..3].join(", ")),
    };
    format!("{value} on {hosts}")
}

fn changed(text: &mut String, changes: &[Change]) {
    line(text, 0, "");
    if changes.is_empty() {
        line(text, 0, "nothing has changed since the record");
        return;
    }
    line(text, 0, "changed since the record:");
    for one in changes {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        let (before, now) = (shown(&one.before), shown(&one.now));
        line(
            text,
            2,
            &format!(
                "{}: {}: {}: {before} → {now}",
                one.host, one.check, one.what
            ),
        );
    }
}

fn closing(text: &mut String, report: &Report) {
    let count = |health: Health| {
        let mut checks: Vec<&str> = report
            .findings
            .iter()
            .filter(|one| one.finding.health == health)
            .map(|one| one.finding.check.as_str())
            .collect();
        checks.dedup();
        checks.len()
            + report
                .drift
                .iter()
                .filter(|one| one.health == health)
                .count()
    };
    line(text, 0, "");
    let parts = [
        counted(count(Health::Failure), "failure", "failures"),
        counted(count(Health::Warning), "warning", "warnings"),
        format!("{} unknown", count(Health::Unknown)),
    ];
    line(text, 0, &parts.join(", "));
}
