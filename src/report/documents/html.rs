//! HTML: one file with everything in it, light and dark, sortable, printable, without a network.

use super::Document;
use super::judged;
use super::page::{Cell, Column, Table, page};
use super::tables::{Cells, Tally, counts, ending, figure, in_full};
use crate::base::Fault;
use crate::base::counted;
use crate::record::{Header, Run};
use crate::report::about;
use crate::report::material::{Material, Named, Wish};
use crate::report::plot;
use crate::report::plot::picture::clean;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) const DOCUMENT: Document = Document {
    name: "html",
    ending: "html",
    summary: "one self-contained page: verdict, plots, sortable tables, light and dark, printable",
    text,
};

/// Kinds of rows that get plots of their own.
const MOST_KINDS: usize = 8;

/// Text for a page, also within quotes.
pub(super) fn safe(text: &str) -> String {
    plot::escaped(&clean(text))
}

fn text(material: &Material<'_>) -> Result<String, Fault> {
    let title = material
        .title
        .clone()
        .unwrap_or_else(|| "Runs of ncclbench".to_owned());
    let mut body = String::new();
    head(&mut body, material, &title);
    if let Some(verdict) = material.verdict {
        judged::section(&mut body, verdict);
    }
    doubts(&mut body, material);
    body.push_str("<main>\n<h2>Runs</h2>\n");
    body.push_str(&runs(material));
    body.push_str(&figures(material)?);
    rows(&mut body, material);
    body.push_str("</main>\n");
    foot(&mut body, material);
    Ok(page(&title, &body))
}

fn head(body: &mut String, material: &Material<'_>, title: &str) {
    let headers: Vec<&Header> = material
        .runs
        .iter()
        .map(|named| &named.run.header)
        .collect();
    let _ = writeln!(
        body,
        "<header><div><h1>{}</h1>\n<p class=\"muted\">{}<br>{} · {}</p></div>\n<button type=\"button\" id=\"theme\" hidden>theme</button></header>",
        safe(title),
        safe(&about::common(&headers, "places", about::place)),
        safe(&about::moments(&headers)),
        safe(&about::common(
            &headers,
            "sets of versions",
            about::versions
        )),
    );
}

/// What makes the whole page doubtful, where something does.
fn doubts(body: &mut String, material: &Material<'_>) {
    for Named { label, run } in &material.runs {
        let label = safe(label);
        if let Some(stamp) = about::stamp(&run.header) {
            let _ = writeln!(
                body,
                "<p class=\"card bad\"><span class=\"badge\">not measured</span> {label}: {stamp}; its numbers say nothing about any machine.</p>"
            );
        }
        let wrong = Tally::of(run).wrong;
        if wrong > 0 {
            let _ = writeln!(
                body,
                "<p class=\"card bad\"><span class=\"badge\">wrong data</span> {label}: {}.</p>",
                counted(wrong, "row", "rows")
            );
        }
    }
}

fn runs(material: &Material<'_>) -> String {
    const COLUMNS: &[Column] = &[
        ("run", false),
        ("started", false),
        ("collective", false),
        ("where", false),
        ("versions", false),
        ("rows", true),
        ("mean busbw, GB/s", true),
        ("ended", false),
    ];
    let mut table = Table::new(COLUMNS);
    for Named { label, run } in &material.runs {
        let tally = Tally::of(run);
        let class = if tally.wrong > 0 { "wrong" } else { "" };
        table.row(
            class,
            &[
                Cell::text(label),
                Cell::whole(&about::moment(&run.header)),
                Cell::word(&run.header.collective),
                Cell::text(&about::place(&run.header)),
                Cell::text(&about::versions(&run.header)),
                Cell::number(
                    &counts(&tally),
                    u32::try_from(run.rows.len()).ok().map(f64::from),
                ),
                Cell::number(&figure(tally.busbw_gbps()), tally.busbw_gbps()),
                Cell::word(&ending(run)),
            ],
        );
    }
    table.html()
}

/// A plot where there is something to draw.
fn figure_of(kind: &str, material: &Material<'_>) -> Result<String, Fault> {
    let Some(kind) = plot::by_name(kind) else {
        return Ok(String::new());
    };
    match (kind.draw)(material) {
        Ok(picture) => Ok(format!("<figure>{}</figure>\n", plot::svg(&picture)?)),
        Err(fault) => Ok(format!(
            "<p class=\"muted\">No plot of {}: {}.</p>\n",
            kind.name,
            safe(&fault.message)
        )),
    }
}

fn figures(material: &Material<'_>) -> Result<String, Fault> {
    let material = &Material {
        title: None,
        ..material.clone()
    };
    let mut text = "<h2>Plots</h2>\n<div class=\"figures\">\n".to_owned();
    if material.verdict.is_some() {
        text += &figure_of("change", material)?;
    }
    if material
        .verdict
        .is_some_and(|verdict| !verdict.history.is_empty())
        || material.runs.len() > 2
    {
        text += &figure_of("history", material)?;
    }
    let (shown, left) = in_full(material);
    let some = Material {
        runs: shown.into_iter().cloned().collect(),
        title: None,
        ..material.clone()
    };
    let kinds = kinds(&some);
    let count = kinds.len();
    for wish in kinds.into_iter().take(MOST_KINDS) {
        let one = Material {
            wish,
            ..some.clone()
        };
        text += &figure_of("busbw", &one)?;
        text += &figure_of("latency", &one)?;
    }
    if material.matrix.is_some() {
        text += &figure_of("matrix", material)?;
    }
    text.push_str("</div>\n");
    if count > MOST_KINDS {
        let _ = writeln!(
            text,
            "<p class=\"muted\">{} kinds of rows (collective, datatype, operator) are in the tables only.</p>",
            count - MOST_KINDS
        );
    }
    if left > 0 {
        let _ = writeln!(
            text,
            "<p class=\"muted\">Plots over size show the latest {} runs.</p>",
            super::tables::IN_FULL
        );
    }
    Ok(text)
}

/// A wish for each collective, datatype and operator among the rows, in the order of their first rows.
fn kinds(material: &Material<'_>) -> Vec<Wish> {
    let mut seen = BTreeMap::new();
    for row in material.runs.iter().flat_map(|named| &named.run.rows) {
        let case = &row.case;
        if material.wish.takes(case) {
            let place = seen.len();
            let key = (
                case.collective.clone(),
                case.dtype.name(),
                case.redop.map(crate::base::RedOp::name),
            );
            seen.entry(key).or_insert_with(|| {
                let wish = Wish {
                    collective: Some(case.collective.clone()),
                    dtype: Some(case.dtype),
                    redop: case.redop,
                    ..material.wish.clone()
                };
                (place, wish)
            });
        }
    }
    let mut all: Vec<_> = seen.into_values().collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, wish)| wish).collect()
}

fn rows(body: &mut String, material: &Material<'_>) {
    let (shown, left) = in_full(material);
    for named in shown {
        let _ = writeln!(body, "<h2>Rows of {}</h2>", safe(&named.label));
        for remark in about::remarks(named.run) {
            let _ = writeln!(body, "<p class=\"muted\">{}.</p>", safe(&remark));
        }
        body.push_str(&of_run(material, named.run));
        details(body, named.run);
    }
    if left > 0 {
        let _ = writeln!(
            body,
            "<p class=\"muted\">The rows of {left} earlier runs are not on this page.</p>"
        );
    }
}

fn of_run(material: &Material<'_>, run: &Run) -> String {
    const COLUMNS: &[Column] = &[
        ("collective", false),
        ("size", true),
        ("type", false),
        ("redop", false),
        ("placement", false),
        ("time, µs", true),
        ("algbw, GB/s", true),
        ("busbw, GB/s", true),
        ("wrong", true),
        ("remark", false),
    ];
    let rows = run.rows.iter().filter(|row| material.wish.takes(&row.case));
    let rows: Vec<Cells> = rows.map(Cells::of).collect();
    if rows.is_empty() {
        return "<p>No rows.</p>\n".to_owned();
    }
    let mut table = Table::new(COLUMNS);
    for row in rows {
        let class = match (row.is_wrong, row.is_waived) {
            (true, _) => "wrong",
            (_, true) => "waived",
            _ => "",
        };
        table.row(
            class,
            &[
                Cell::word(&row.collective),
                Cell::number(&row.size_text(), Some(real(row.size))),
                Cell::word(row.dtype),
                Cell::word(row.redop),
                Cell::word(&row.placement),
                Cell::number(&figure(row.time_us), row.time_us),
                Cell::number(&figure(row.algbw_gbps), row.algbw_gbps),
                Cell::number(&figure(row.busbw_gbps), row.busbw_gbps),
                Cell::number(&row.wrong, row.wrong.parse().ok()),
                Cell::text(&row.remark),
            ],
        );
    }
    table.html()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 bytes is past any message size"
)]
fn real(size: u64) -> f64 {
    size as f64
}

/// How the run was made, folded away.
fn details(body: &mut String, run: &Run) {
    const SEATS: usize = 64;
    let header = &run.header;
    body.push_str("<details><summary>How it was made</summary>\n<dl>\n");
    let mut entry = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(body, "<dt>{}</dt><dd>{}</dd>", safe(name), safe(value));
        }
    };
    entry("command", &header.args.join(" "));
    entry(
        "launcher",
        &format!("{} ({})", header.launcher, header.launcher_reason),
    );
    entry("time over ranks", &header.average);
    entry("call", header.call.as_deref().unwrap_or_default());
    entry(
        "seed",
        &header
            .seed
            .map_or_else(String::new, |seed| seed.to_string()),
    );
    entry("plan", &header.plan);
    for library in &header.libraries {
        entry(
            &library.name,
            &format!("{} from {}", library.version, library.path),
        );
    }
    for (name, value) in &header.environment {
        entry(name, value);
    }
    for (step, ms) in &header.init_ms {
        entry(
            &format!("initialisation: {step}"),
            &format!("{} ms", figure(Some(*ms))),
        );
    }
    for seat in header.seats.iter().take(SEATS) {
        let device = &seat.device;
        entry(
            &format!("rank {}", seat.rank),
            &format!(
                "{}, device {} ({}, {})",
                seat.host, device.ordinal, device.name, device.bus_id
            ),
        );
    }
    if header.seats.len() > SEATS {
        entry("more ranks", &(header.seats.len() - SEATS).to_string());
    }
    body.push_str("</dl></details>\n");
}

fn foot(body: &mut String, material: &Material<'_>) {
    let _ = writeln!(
        body,
        "<footer>Sizes are bytes for each rank, in powers of 1024; bandwidths in GB/s of 10⁹ bytes; times in µs for one operation. \
         {} runs. Made by ncclbench; this page loads nothing from anywhere.</footer>",
        material.runs.len()
    );
}
