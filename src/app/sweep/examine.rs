//! The doctor's examination as the first step of a sweep, before anything is opened.

use super::Stop;
use crate::app::say;
use crate::base::Fault;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::doctor;
use crate::doctor::Scene;
use crate::doctor::Selection;
use crate::doctor::drift;
use crate::record::Checkup;
use crate::record::Checkups;
use crate::record::Health;

/// The step's name.
const NAME: &str = "doctor";

/// What this process is to examine, and as which part of its host.
#[derive(Debug)]
pub(in crate::app) struct Patient {
    pub(in crate::app) scene: Scene,
    pub(in crate::app) host: String,
    pub(in crate::app) identity: String,
    pub(in crate::app) ranks: String,
    /// The first process of its host looks at what all share.
    pub(in crate::app) is_first: bool,
}

/// Examines all processes' machines; why not to go on, if something is as it must not be. Every
/// process calls it.
///
/// # Errors
/// As [`Bootstrap::decide`].
pub(in crate::app) fn examine(
    plane: &dyn Bootstrap,
    step: Step<'_>,
    patient: Patient,
) -> Result<Option<Stop>, Fault> {
    let checks = Selection::default().checks()?;
    let mine = Checkup {
        findings: doctor::examine(&checks, &patient.scene, patient.is_first),
        host: patient.host,
        identity: patient.identity,
        ranks: patient.ranks,
    };
    let said = plane.decide(step, &bootstrap::encode(&mine)?, &|all| {
        let all: Result<Vec<Checkup>, Fault> =
            all.iter().map(|bytes| bootstrap::decode(bytes)).collect();
        bootstrap::encode(&failures(&Checkups::of(all?)))
    })?;
    let why: Vec<String> = bootstrap::decode(&said)?;
    Ok((!why.is_empty()).then(|| Stop {
        step: NAME.to_owned(),
        why,
        code: 6,
    }))
}

/// Says how the examination came out, and how the sweep ends if it ends there.
pub(in crate::app) fn tell(sweep: &str, stop: Option<&Stop>) {
    let Some(stop) = stop else {
        return say(&format!("step `{NAME}`: passed"));
    };
    say(&format!("step `{NAME}`: not passed"));
    for line in &stop.why {
        say(line);
    }
    say(&format!(
        "sweep `{sweep}`: NO-GO: it stopped at step `{NAME}`"
    ));
}

/// What is as it must not be, with hosts and hint.
fn failures(all: &Checkups) -> Vec<String> {
    let bad = all
        .findings
        .iter()
        .filter(|one| one.finding.health == Health::Failure);
    let of_checks = bad.map(|one| {
        let hosts: Vec<_> = one
            .members
            .iter()
            .filter_map(|&member| all.members.get(member))
            .map(|member| format!("{} ({})", member.host, member.ranks))
            .collect();
        let finding = &one.finding;
        let hint = finding.hint.as_ref().map(|hint| format!("; hint: {hint}"));
        format!(
            "{} on {}: {}{}",
            finding.check,
            hosts.join(", "),
            finding.evidence.join("; "),
            hint.unwrap_or_default()
        )
    });
    let drifts = drift::between(all)
        .into_iter()
        .filter(|one| one.health == Health::Failure);
    let of_drift = drifts.map(|one| format!("hosts differ: {one:?}"));
    of_checks.chain(of_drift).collect()
}
