//! The verdict as a section of the HTML page.

use super::html::safe;
use super::page::{Cell, Column, Table};
use super::tables::figure;
use crate::base::counted;
use crate::record::verdict::{BandVerdict, Decision, Verdict};
use crate::report::plot::scale::percent;
use std::fmt::Write as _;

fn class(decision: Decision) -> &'static str {
    match decision {
        Decision::Pass => "good",
        Decision::Regress => "bad",
        Decision::Inconclusive => "open",
    }
}

fn badge(decision: Decision) -> String {
    format!(
        "<span class=\"badge {}\">{}</span>",
        class(decision),
        decision.word()
    )
}

/// The verdict, its bands and what else it says.
pub(super) fn section(body: &mut String, verdict: &Verdict) {
    let baseline = &verdict.baseline;
    let _ = writeln!(
        body,
        "<section class=\"card {}\">\n<p>{} {}</p>\n<p class=\"muted\">{} against baseline {} (entry {}, {}, accepted {} by {}: {}). Compared was the {} time over ranks; {}.</p>",
        class(verdict.decision),
        badge(verdict.decision),
        safe(verdict.reasons()),
        counted(verdict.runs.len(), "launch", "launches"),
        safe(&baseline.name),
        baseline.entry,
        counted(baseline.launches as usize, "launch", "launches"),
        safe(baseline.accepted.get(..10).unwrap_or(&baseline.accepted)),
        safe(&baseline.author),
        safe(&baseline.reason),
        safe(&verdict.over_ranks),
        safe(&verdict.summary),
    );
    body.push_str(&bands(&verdict.bands));
    if !verdict.parts.is_empty() {
        body.push_str("<details><summary>By collective</summary>\n");
        body.push_str(&bands(&verdict.parts));
        body.push_str("</details>\n");
    }
    particulars(body, verdict);
    body.push_str("</section>\n");
}

/// What a verdict says besides its bands.
fn particulars(body: &mut String, verdict: &Verdict) {
    body.push_str("<ul>\n");
    for gate in &verdict.gate {
        let (class, word) = if gate.met {
            ("good", "met")
        } else {
            ("bad", "not met")
        };
        let got = format!("{} {}", figure(gate.got), gate.unit);
        let _ = writeln!(
            body,
            "<li>Gate: {}: {} <span class=\"badge {class}\">{word}</span></li>",
            safe(&gate.asks),
            safe(&got)
        );
    }
    for row in &verdict.missing {
        let word = if row.lost { "Lost" } else { "New" };
        let _ = writeln!(
            body,
            "<li>{word}: {}: {}</li>",
            safe(&row.key.to_string()),
            safe(&row.why)
        );
    }
    for difference in &verdict.forced {
        let value = |value: &Option<String>| safe(value.as_deref().unwrap_or("not known"));
        let _ = writeln!(
            body,
            "<li>Compared although {} differs: {} before, {} now</li>",
            safe(&difference.field),
            value(&difference.baseline),
            value(&difference.now)
        );
    }
    for note in &verdict.notes {
        let _ = writeln!(body, "<li>{}</li>", safe(note));
    }
    body.push_str("</ul>\n");
}

fn bands(all: &[BandVerdict]) -> String {
    const COLUMNS: &[Column] = &[
        ("band", false),
        ("collective", false),
        ("rows", true),
        ("change of speed", true),
        ("interval", true),
        ("limit", true),
        ("decision", false),
        ("why", false),
    ];
    let mut table = Table::new(COLUMNS);
    for band in all {
        let interval = match (band.change.low_percent, band.change.high_percent) {
            (Some(low), Some(high)) => format!("{} … {}", percent(low), percent(high)),
            _ => "–".to_owned(),
        };
        let decision = badge(band.decision);
        table.row(
            "",
            &[
                Cell::word(band.band.name()),
                Cell::word(band.collective.as_deref().unwrap_or("all")),
                Cell::number(&band.rows.to_string(), Some(f64::from(band.rows))),
                Cell::number(&percent(band.change.percent), Some(band.change.percent)),
                Cell::number(&interval, band.change.low_percent),
                Cell::number(&percent(-band.limit_percent), Some(-band.limit_percent)),
                Cell::html(decision),
                Cell::text(&band.why),
            ],
        );
    }
    table.html()
}
