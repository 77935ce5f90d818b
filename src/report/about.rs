//! What a reader must know of a run: where, when, with which versions, and whether it counts.

use super::plot::scale::short;
use crate::base::counted;
use crate::record::{Header, Run};
use std::collections::BTreeSet;

/// `16 ranks of 8 × NVIDIA H200 on 2 hosts (gpu-a, gpu-b), backend nccl`.
pub fn place(header: &Header) -> String {
    let hosts: BTreeSet<&str> = header.seats.iter().map(|seat| seat.host.as_str()).collect();
    let devices: BTreeSet<&str> = header
        .seats
        .iter()
        .map(|seat| seat.device.name.as_str())
        .collect();
    let mut parts = vec![counted(header.seats.len(), "rank", "ranks")];
    if !devices.is_empty() {
        parts.push(format!("on {}", few(devices.iter().copied(), 2)));
    }
    let named = few(hosts.iter().copied(), 3);
    match hosts.len() {
        0 => {}
        1 => parts.push(format!("of host {named}")),
        count => parts.push(format!("of {count} hosts ({named})")),
    }
    format!("{}, backend {}", parts.join(" "), header.backend)
}

/// `nccl 2.28.3, cuda driver 13.0, ncclbench 0.1.0`.
pub fn versions(header: &Header) -> String {
    let libraries = header.libraries.iter().rev();
    let mut all: Vec<String> = libraries
        .map(|library| format!("{} {}", library.name, library.version))
        .collect();
    all.push(format!("ncclbench {}", header.ncclbench));
    all.join(", ")
}

/// `2026-11-29 23:44 UTC`.
pub fn moment(header: &Header) -> String {
    let text = header.started.replacen('T', " ", 1);
    format!("{} UTC", text.get(..16).unwrap_or(&text))
}

/// Why a run's numbers say nothing about a machine, where that is so.
pub fn stamp(header: &Header) -> Option<&'static str> {
    match (header.measured, header.stand_in) {
        (false, _) => Some("simulated"),
        (_, true) => Some("stand-in library"),
        _ => None,
    }
}

/// The same of several runs, in capitals: for all of them, or for some.
pub fn stamps(headers: &[&Header]) -> Option<String> {
    let stamps: BTreeSet<&str> = headers.iter().filter_map(|header| stamp(header)).collect();
    let text = few(stamps.iter().copied(), 2).to_uppercase();
    let is_all = headers.iter().all(|header| stamp(header).is_some());
    match (stamps.is_empty(), is_all) {
        (true, _) => None,
        (_, true) => Some(text),
        _ => Some(format!("PARTLY {text}")),
    }
}

/// What else a reader must know of a run as a whole, each a sentence without its full stop.
pub fn remarks(run: &Run) -> Vec<String> {
    let header = &run.header;
    let mut all = Vec::new();
    match (&run.footer, &run.torn) {
        (None, Some(_)) => {
            all.push("cut short in the middle of a line: later rows are missing".to_owned());
        }
        (None, None) => {
            all.push("cut short: it has no footer, and later rows are missing".to_owned());
        }
        (Some(footer), _) if footer.interrupted => all.push("interrupted by a signal".to_owned()),
        (Some(footer), _) => all.extend(
            footer
                .fault
                .as_ref()
                .map(|fault| format!("ended early: {}", fault.lines().next().unwrap_or_default())),
        ),
    }
    if let Some(bytes) = header.clamped_to_bytes {
        all.push(format!(
            "sizes above {} left out for want of memory",
            crate::base::Bytes(bytes)
        ));
    }
    all.extend(header.notes.iter().cloned());
    all
}

/// The first names, and how many more there are.
pub fn few<'a>(names: impl ExactSizeIterator<Item = &'a str>, most: usize) -> String {
    let count = names.len();
    let shown: Vec<&str> = names.take(most).collect();
    let more = if count > most {
        format!(" and {} more", count - most)
    } else {
        String::new()
    };
    shown.join(", ") + &more
}

/// The values that runs have, where they have the same, else how many different ones.
pub fn common(runs: &[&Header], what: &str, of: impl Fn(&Header) -> String) -> String {
    let values: BTreeSet<String> = runs.iter().map(|header| of(header)).collect();
    match values.len() {
        0 | 1 => values.into_iter().next().unwrap_or_default(),
        2 => values.into_iter().collect::<Vec<_>>().join(" | "),
        count => format!("{count} different {what}"),
    }
}

/// The span of time in which runs began.
pub fn moments(runs: &[&Header]) -> String {
    let all = runs.iter().map(|header| moment(header));
    let all: BTreeSet<String> = all.collect();
    match (all.first(), all.last()) {
        (Some(first), Some(last)) if first != last => {
            format!("{} to {last}", first.trim_end_matches(" UTC"))
        }
        (Some(only), _) => only.clone(),
        _ => String::new(),
    }
}

/// A figure with its unit, `351 GB/s`.
pub fn gbps(value: f64) -> String {
    format!("{} GB/s", short(value))
}
