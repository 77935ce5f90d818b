//! Markdown: the verdict, the runs and their rows as tables, for tickets and pull requests.

use super::Document;
use super::tables::{Cells, Tally, counts, ending, figure, in_full};
use crate::record::Verdict;
use crate::record::verdict::Change;
use crate::report::about;
use crate::report::material::{Material, Named};
use crate::report::plot::scale::percent;
use std::fmt::Write as _;

pub(super) const DOCUMENT: Document = Document {
    name: "md",
    ending: "md",
    summary: "verdict, runs and rows as Markdown tables, for tickets",
    text: |material| Ok(text(material)),
};

fn text(material: &Material<'_>) -> String {
    let mut text = String::new();
    let title = material.title.as_deref().unwrap_or("Runs of ncclbench");
    let _ = writeln!(text, "# {}\n", safe(title));
    if let Some(verdict) = material.verdict {
        of_verdict(&mut text, verdict);
    }
    of_runs(&mut text, material);
    let (shown, left) = in_full(material);
    for named in shown {
        of_rows(&mut text, material, named);
    }
    if left > 0 {
        let _ = writeln!(text, "The rows of the {left} earlier runs are not shown.");
    }
    text
}

/// Text that neither a table nor HTML takes for its own.
fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' => safe.extend(['\\', character]),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            _ if character.is_control() => safe.push(' '),
            _ => safe.push(character),
        }
    }
    safe
}

/// A change with its interval.
pub(super) fn change(change: &Change) -> String {
    let estimate = percent(change.percent);
    match (change.low_percent, change.high_percent) {
        (Some(low), Some(high)) => format!("{estimate} ({} … {})", percent(low), percent(high)),
        _ => estimate,
    }
}

fn of_verdict(text: &mut String, verdict: &Verdict) {
    let _ = writeln!(
        text,
        "**{}**: {}\n",
        verdict.decision.word(),
        safe(verdict.reasons())
    );
    text.push_str(
        "| band | rows | change of speed | limit | decision | why |\n|---|--:|--:|--:|---|---|\n",
    );
    for band in &verdict.bands {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            band.band.name(),
            band.rows,
            change(&band.change),
            percent(-band.limit_percent),
            band.decision.word(),
            safe(&band.why)
        );
    }
    text.push('\n');
    for gate in &verdict.gate {
        let met = if gate.met { "met" } else { "not met" };
        let _ = writeln!(
            text,
            "- gate: {}: {} {}, {met}",
            safe(&gate.asks),
            figure(gate.got),
            gate.unit
        );
    }
    for row in &verdict.missing {
        let what = if row.lost { "lost" } else { "new" };
        let _ = writeln!(
            text,
            "- {what}: {}: {}",
            safe(&row.key.to_string()),
            safe(&row.why)
        );
    }
    for note in &verdict.notes {
        let _ = writeln!(text, "- {}", safe(note));
    }
    text.push('\n');
}

fn of_runs(text: &mut String, material: &Material<'_>) {
    text.push_str("| run | started | where | versions | rows | mean busbw, GB/s | ended |\n|---|---|---|---|---|--:|---|\n");
    for Named { label, run } in &material.runs {
        let tally = Tally::of(run);
        let stamp = about::stamp(&run.header).map_or_else(String::new, |stamp| {
            format!(" (**{stamp}**, not a measurement)")
        });
        let _ = writeln!(
            text,
            "| {}{stamp} | {} | {} | {} | {} | {} | {} |",
            safe(label),
            safe(&about::moment(&run.header)),
            safe(&about::place(&run.header)),
            safe(&about::versions(&run.header)),
            counts(&tally),
            figure(tally.busbw_gbps()),
            ending(run)
        );
    }
    text.push('\n');
}

fn of_rows(text: &mut String, material: &Material<'_>, named: &Named<'_>) {
    let _ = writeln!(text, "## {}\n", safe(&named.label));
    for remark in about::remarks(named.run) {
        let _ = writeln!(text, "- {}", safe(&remark));
    }
    let rows = named
        .run
        .rows
        .iter()
        .filter(|row| material.wish.takes(&row.case));
    let rows: Vec<Cells> = rows.map(Cells::of).collect();
    if rows.is_empty() {
        text.push_str("\nNo rows.\n\n");
        return;
    }
    text.push_str("\n| collective | size | type | redop | placement | time, µs | algbw, GB/s | busbw, GB/s | wrong | remark |\n");
    text.push_str("|---|--:|---|---|---|--:|--:|--:|--:|---|\n");
    for row in rows {
        let wrong = if row.is_wrong {
            format!("**{}**", row.wrong)
        } else {
            row.wrong.clone()
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {wrong} | {} |",
            safe(&row.collective),
            row.size_text(),
            row.dtype,
            row.redop,
            row.placement,
            figure(row.time_us),
            figure(row.algbw_gbps),
            figure(row.busbw_gbps),
            safe(&row.remark)
        );
    }
    text.push('\n');
}
