//! A verdict as text: one sentence on top, a table of bands, then what stands out.

use super::grid::grid;
use crate::record::Verdict;
use crate::record::history::{Series, SeriesOf};
use crate::record::verdict::{BandVerdict, Change, Decision, GateResult, RowLook, RowVerdict};
use std::fmt::Write as _;

/// The most lines of a list where not all are asked for.
const MOST: usize = 12;

/// The text of a verdict; with `all` every row, else those that stand out.
pub fn text(verdict: &Verdict, all: bool) -> String {
    let mut text = format!("{}\n\n{}\n", verdict.sentence, bands(verdict));
    section(&mut text, "rows", rows(verdict, all));
    section(
        &mut text,
        "rows that were not compared",
        missing(verdict, all),
    );
    section(
        &mut text,
        "history",
        verdict.history.iter().flat_map(history).collect(),
    );
    if !verdict.gate.is_empty() {
        section(&mut text, "gate", verdict.gate.iter().map(floor).collect());
    }
    for note in &verdict.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = write!(text, "{}", origin(verdict));
    text
}

fn section(text: &mut String, title: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:");
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
    text.push('\n');
}

fn words(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn bands(verdict: &Verdict) -> String {
    let heading = [
        "<band",
        "rows",
        "change",
        "95 % interval",
        "ruled out",
        "limit",
        "<verdict",
        "<why",
    ];
    let objections = verdict
        .parts
        .iter()
        .filter(|part| part.decision != Decision::Pass);
    let lines = verdict.bands.iter().chain(objections).map(band);
    grid(
        &std::iter::once(words(&heading))
            .chain(lines)
            .collect::<Vec<_>>(),
    )
}

fn band(band: &BandVerdict) -> Vec<String> {
    let name = match &band.collective {
        Some(collective) => format!("  {collective}, {}", band.band.name()),
        None => band.band.name().to_owned(),
    };
    let ruled_out = band.ruled_out_percent.map_or_else(
        || "-".to_owned(),
        |loss| format!("> {:.1} % loss", loss.max(0.0)),
    );
    vec![
        name,
        band.rows.to_string(),
        format!("{} %", signed(band.change.percent)),
        interval(band.change),
        ruled_out,
        format!("-{} %", band.limit_percent),
        band.decision.word().to_owned(),
        band.why.clone(),
    ]
}

/// A change with its sign, and nothing without one.
fn signed(percent: f64) -> String {
    let text = format!("{percent:+.1}");
    if matches!(text.as_str(), "-0.0" | "+0.0") {
        return "0.0".to_owned();
    }
    text
}

fn interval(change: Change) -> String {
    match (change.low_percent, change.high_percent) {
        (Some(low), Some(high)) => format!("{} to {}", signed(low), signed(high)),
        _ => "-".to_owned(),
    }
}

/// Rows with something to say, the worst first; all of them as the table sorts them.
fn rows(verdict: &Verdict, all: bool) -> Vec<String> {
    let mut shown: Vec<&RowVerdict> = verdict
        .rows
        .iter()
        .filter(|row| all || row.look != RowLook::Steady)
        .collect();
    let n_shown = shown.len();
    if !all {
        shown.sort_by(|a, b| a.change.percent.total_cmp(&b.change.percent));
        shown.truncate(MOST);
    }
    if shown.is_empty() {
        return Vec::new();
    }
    let heading = [
        "<row",
        "before us",
        "now us",
        "before GB/s",
        "now GB/s",
        "change",
        "95 % interval",
        "z",
        "<look",
        "<why",
    ];
    let lines = std::iter::once(words(&heading)).chain(shown.into_iter().map(row));
    let mut lines: Vec<String> = grid(&lines.collect::<Vec<_>>())
        .lines()
        .map(str::to_owned)
        .collect();
    if !all && n_shown > MOST {
        lines.push(format!(
            "… and {} more; `--all` shows every row",
            n_shown - MOST
        ));
    }
    lines
}

fn row(row: &RowVerdict) -> Vec<String> {
    let look = match row.look {
        RowLook::Steady => "",
        RowLook::Slower => "slower",
        RowLook::Faster => "faster",
        RowLook::Watch => "watch",
        RowLook::Bimodal => "bimodal",
    };
    vec![
        row.key.to_string(),
        format!("{:.2}", row.baseline.time_us),
        format!("{:.2}", row.now.time_us),
        format!("{:.2}", row.baseline.busbw_gbps),
        format!("{:.2}", row.now.busbw_gbps),
        format!("{} %", signed(row.change.percent)),
        interval(row.change),
        row.z.map_or_else(|| "-".to_owned(), |z| format!("{z:+.1}")),
        look.to_owned(),
        row.why.clone(),
    ]
}

fn missing(verdict: &Verdict, all: bool) -> Vec<String> {
    let lost = verdict.missing.iter().filter(|row| row.lost || all);
    let mut lines: Vec<String> = lost
        .map(|row| format!("{}: {}", row.key, row.why))
        .collect();
    let rest = lines.len().saturating_sub(MOST);
    if rest > 0 && !all {
        lines.truncate(MOST);
        lines.push(format!("… and {rest} more; `--all` shows every row"));
    }
    lines
}

/// Alarms and steps; a series without them says nothing.
fn history(series: &Series) -> Vec<String> {
    let what = match &series.of {
        SeriesOf::Band(band) => format!("{} band", band.name()),
        SeriesOf::Row(key) => key.to_string(),
    };
    let alarm = series.z.filter(|_| series.alarm).map(|z| {
        format!("{what}: alarm, {z:.1} robust standard deviations below what was accepted")
    });
    let steps = series.change_points.iter().filter_map(|step| {
        let point = series.points.get(step.index as usize)?;
        let (change, at, p) = (step.change_percent, &point.at, step.p);
        Some(format!(
            "{what}: step of {change:+.1} % at {at} ({}, p = {p:.3})",
            point.run
        ))
    });
    alarm.into_iter().chain(steps).collect()
}

fn floor(result: &GateResult) -> String {
    let word = if result.met { "met" } else { "NOT MET" };
    match result.got {
        Some(got) => format!("{word}: {} (got {got:.2})", result.asks),
        None => format!(
            "{word}: {} (no such row was measured in every launch)",
            result.asks
        ),
    }
}

/// Who says that what it was compared with is normal.
fn origin(verdict: &Verdict) -> String {
    let baseline = &verdict.baseline;
    let date = baseline.accepted.get(..10).unwrap_or(&baseline.accepted);
    let over = match verdict.over_ranks.as_str() {
        "mean" => "mean over ranks",
        _ => "slowest rank",
    };
    format!(
        "# changes are of speed, below zero is slower; times are those of the {over}\n\
         # baseline `{}`, entry {}: accepted by {} on {date}: {}\n",
        baseline.name, baseline.entry, baseline.author, baseline.reason
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{judged, run, sizes};
    use super::*;

    #[test]
    fn the_sentence_is_on_top_and_every_row_is_there_if_it_is_asked_for() {
        let run = run(&sizes());
        let verdict = judged::verdict(&run, -6.0);
        let (short, long) = (text(&verdict, false), text(&verdict, true));
        assert!(
            short.starts_with(&format!(
                "{}

band",
                verdict.sentence
            )),
            "{short}"
        );
        assert!(
            short.contains("NOT MET: ") && short.contains("REGRESS"),
            "{short}"
        );
        for row in &verdict.rows {
            assert!(long.contains(&row.key.to_string()), "{long}");
        }
    }

    #[test]
    fn nothing_has_a_sign_that_is_none() {
        assert_eq!(
            [signed(-0.04), signed(0.01), signed(-0.06)],
            ["0.0", "0.0", "-0.1"]
        );
    }
}
