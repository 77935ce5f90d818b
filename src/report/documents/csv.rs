//! CSV: one line for each row of every run, with full precision, for spreadsheets and scripts.

use super::Document;
use super::tables::remark;
use crate::base::{Fault, Kind};
use crate::record::{Header, Outcome, Row};
use crate::report::material::{Material, Named};
use std::collections::BTreeSet;

pub(super) const DOCUMENT: Document = Document {
    name: "csv",
    ending: "csv",
    summary: "one line for each row of every run, for spreadsheets and scripts",
    text,
};

const COLUMNS: [&str; 28] = [
    "run",
    "started",
    "backend",
    "measured",
    "stand_in",
    "ranks",
    "hosts",
    "device",
    "nccl",
    "ncclbench",
    "collective",
    "dtype",
    "redop",
    "root",
    "placement",
    "requested_bytes",
    "size_bytes",
    "count",
    "cycle",
    "outcome",
    "time_us",
    "time_min_us",
    "time_max_us",
    "algbw_gbps",
    "busbw_gbps",
    "wrong",
    "remark",
    "at",
];

fn text(material: &Material<'_>) -> Result<String, Fault> {
    let refuse = |error: String| Fault::new(Kind::Output, error).while_doing("writing CSV");
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(COLUMNS)
        .map_err(|error| refuse(error.to_string()))?;
    for named in &material.runs {
        let of_run = of_run(named);
        let rows = named
            .run
            .rows
            .iter()
            .filter(|row| material.wish.takes(&row.case));
        for row in rows {
            let cells = of_run.iter().cloned().chain(of_row(row));
            writer
                .write_record(cells)
                .map_err(|error| refuse(error.to_string()))?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| refuse(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| refuse(error.to_string()))
}

fn of_run(named: &Named<'_>) -> Vec<String> {
    let header: &Header = &named.run.header;
    let hosts: BTreeSet<&str> = header.seats.iter().map(|seat| seat.host.as_str()).collect();
    let device = header
        .seats
        .first()
        .map_or("", |seat| seat.device.name.as_str());
    let nccl = header
        .libraries
        .iter()
        .find(|library| library.name == "nccl");
    vec![
        named.label.clone(),
        header.started.clone(),
        header.backend.clone(),
        header.measured.to_string(),
        header.stand_in.to_string(),
        header.seats.len().to_string(),
        hosts.len().to_string(),
        device.to_owned(),
        nccl.map_or_else(String::new, |library| library.version.clone()),
        header.ncclbench.clone(),
    ]
}

fn of_row(row: &Row) -> Vec<String> {
    let case = &row.case;
    let mut cells = vec![
        case.collective.clone(),
        case.dtype.name().to_owned(),
        case.redop
            .map_or_else(String::new, |redop| redop.name().to_owned()),
        case.root.map_or_else(String::new, |root| root.to_string()),
        case.placement.to_string(),
        case.requested.0.to_string(),
        case.size.0.to_string(),
        case.count.to_string(),
        case.cycle.to_string(),
    ];
    match &row.outcome {
        Outcome::Measured {
            time_us,
            time,
            algbw_gbps,
            busbw_gbps,
            wrong,
            ..
        } => {
            let figures = [
                time_us.0,
                time.min_us,
                time.max_us,
                algbw_gbps.0,
                busbw_gbps.0,
            ];
            cells.push("measured".to_owned());
            cells.extend(figures.map(|figure| figure.to_string()));
            cells.push(wrong.map_or_else(String::new, |wrong| wrong.to_string()));
            cells.push(remark(row));
        }
        Outcome::Waived { reason } => {
            cells.push("waived".to_owned());
            cells.extend([const { String::new() }; 6]);
            cells.push(reason.clone());
        }
    }
    cells.push(row.at.clone());
    cells
}
