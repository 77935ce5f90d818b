//! `JUnit` XML: each row a test case, for continuous integration that shows such files.
//!
//! Wrong data, a regression, a lost row and a floor that was not met are failures; what could not be
//! decided or was cut short is an error; a waived row is skipped.

use super::Document;
use super::tables::remark;
use crate::record::verdict::Decision;
use crate::record::{Outcome, Row, RowKey, Run, Verdict};
use crate::report::about;
use crate::report::material::{Material, Named};
use crate::report::plot::picture::clean;
use crate::report::plot::scale::percent;
use std::fmt::Write as _;

pub(super) const DOCUMENT: Document = Document {
    name: "junit",
    ending: "xml",
    summary: "JUnit XML: each row and each verdict a test case, for continuous integration",
    text: |material| Ok(text(material)),
};

/// What came of a test case.
enum Came {
    Good,
    Failed(String),
    Undecided(String),
    Skipped(String),
}

struct TestCase {
    class: String,
    name: String,
    seconds: f64,
    came: Came,
}

fn text(material: &Material<'_>) -> String {
    let mut suites: Vec<String> = Vec::new();
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    let runs = material.runs.iter().map(|named| {
        (
            named.label.clone(),
            named.run.header.started.clone(),
            of_run(material, named),
        )
    });
    let verdict = material.verdict.map(|verdict| {
        (
            format!("baseline {}", verdict.baseline.name),
            verdict.started.clone(),
            of_verdict(verdict),
        )
    });
    for (name, started, cases) in runs.chain(verdict) {
        let count =
            |wanted: fn(&Came) -> bool| cases.iter().filter(|case| wanted(&case.came)).count();
        let (failed, undecided) = (
            count(|came| matches!(came, Came::Failed(_))),
            count(|came| matches!(came, Came::Undecided(_))),
        );
        let skipped = count(|came| matches!(came, Came::Skipped(_)));
        tests += cases.len();
        failures += failed;
        errors += undecided;
        let seconds: f64 = cases.iter().map(|case| case.seconds).sum();
        let started = started
            .split('.')
            .next()
            .unwrap_or_default()
            .trim_end_matches('Z')
            .to_owned();
        let mut suite = format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"{undecided}\" skipped=\"{skipped}\" time=\"{seconds:.6}\" timestamp=\"{}\">\n",
            safe(&name),
            cases.len(),
            safe(&started)
        );
        suite.extend(cases.iter().map(of_case));
        suite.push_str("  </testsuite>\n");
        suites.push(suite);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ncclbench\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n{}</testsuites>\n",
        suites.concat()
    )
}

fn safe(text: &str) -> String {
    crate::report::plot::escaped(&clean(text))
}

fn of_case(case: &TestCase) -> String {
    let mut text = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6}\"",
        safe(&case.class),
        safe(&case.name),
        case.seconds
    );
    let (element, message) = match &case.came {
        Came::Good => {
            text.push_str("/>\n");
            return text;
        }
        Came::Failed(message) => ("failure", message),
        Came::Undecided(message) => ("error", message),
        Came::Skipped(message) => ("skipped", message),
    };
    let _ = write!(
        text,
        ">\n      <{element} message=\"{}\"/>\n    </testcase>\n",
        safe(message)
    );
    text
}

fn of_run(material: &Material<'_>, named: &Named<'_>) -> Vec<TestCase> {
    let run = named.run;
    let stamp = about::stamp(&run.header).map_or_else(String::new, |stamp| format!(" ({stamp})"));
    let rows = run.rows.iter().filter(|row| material.wish.takes(&row.case));
    let mut cases: Vec<TestCase> = rows
        .map(|row| TestCase {
            class: format!("ncclbench.{}{stamp}", row.case.collective),
            name: name(row),
            seconds: seconds(row),
            came: of_row(row),
        })
        .collect();
    cases.push(TestCase {
        class: format!("ncclbench.run{stamp}"),
        name: "the run ended by itself and measured something".to_owned(),
        seconds: 0.0,
        came: of_ending(run),
    });
    cases
}

fn name(row: &Row) -> String {
    let key = RowKey::of(&row.case).to_string();
    match row.case.cycle {
        0 => key,
        cycle => format!("{key} repetition {}", cycle + 1),
    }
}

/// How long the timed loop took.
#[expect(clippy::cast_precision_loss, reason = "no loop has 2^53 iterations")]
fn seconds(row: &Row) -> f64 {
    let sampled = row
        .quality
        .sampling
        .as_ref()
        .map(|sampling| sampling.iterations);
    let iterations = sampled.unwrap_or(u64::from(row.case.iterations)) as f64;
    match &row.outcome {
        Outcome::Measured { time_us, .. } => {
            time_us.0 * iterations * f64::from(row.case.ops_per_batch) / 1e6
        }
        Outcome::Waived { .. } => 0.0,
    }
}

fn of_row(row: &Row) -> Came {
    match &row.outcome {
        Outcome::Waived { reason } => Came::Skipped(reason.clone()),
        Outcome::Measured {
            wrong: Some(wrong), ..
        } if *wrong > 0 => Came::Failed(format!("{wrong} wrong elements; {}", remark(row))),
        Outcome::Measured { .. } => Came::Good,
    }
}

fn of_ending(run: &Run) -> Came {
    let measured = run
        .rows
        .iter()
        .any(|row| matches!(row.outcome, Outcome::Measured { .. }));
    match &run.footer {
        None => Came::Undecided("it was cut short: there is no footer".to_owned()),
        Some(footer) => match &footer.fault {
            Some(fault) => Came::Undecided(fault.clone()),
            None if !measured => Came::Undecided("no row was measured".to_owned()),
            None => Came::Good,
        },
    }
}

fn of_verdict(verdict: &Verdict) -> Vec<TestCase> {
    let case = |name: String, came: Came| TestCase {
        class: "ncclbench.verdict".to_owned(),
        name,
        seconds: 0.0,
        came,
    };
    let came = |decision: Decision, why: String| match decision {
        Decision::Pass => Came::Good,
        Decision::Regress => Came::Failed(why),
        Decision::Inconclusive => Came::Undecided(why),
    };
    let mut cases = vec![case(
        "the whole".to_owned(),
        came(verdict.decision, verdict.sentence.clone()),
    )];
    for band in &verdict.bands {
        let why = format!(
            "{}: {}, limit {}: {}",
            band.decision.word(),
            super::markdown::change(&band.change),
            percent(-band.limit_percent),
            band.why
        );
        cases.push(case(
            format!("{} band", band.band.name()),
            came(band.decision, why),
        ));
    }
    for row in verdict.missing.iter().filter(|row| row.lost) {
        cases.push(case(
            format!("{} is there", row.key),
            Came::Failed(row.why.clone()),
        ));
    }
    for gate in &verdict.gate {
        let got = gate.got.map_or_else(
            || "no row answers to it".to_owned(),
            |got| format!("got {got} {}", gate.unit),
        );
        let came = if gate.met {
            Came::Good
        } else {
            Came::Failed(got)
        };
        cases.push(case(format!("gate: {}", gate.asks), came));
    }
    cases
}
