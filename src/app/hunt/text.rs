//! What a hunt found, as people read it.

use super::report::Report;
use crate::base::counted;
use std::fmt::Write as _;

/// A shared link shows where both halves at once reach less than this share of what each does alone.
const SHARED: f64 = 0.9;

/// The whole text.
pub(super) fn of(report: &Report) -> String {
    let mut text = String::new();
    // writing to a String cannot fail
    let _ = writeln!(
        text,
        "ncclbench {} hunt: {} of {} {}s, backend {}{}, {} bytes each way, {} rounds, seed {}",
        report.ncclbench,
        counted(report.pairs.len(), "pair", "pairs"),
        report.participants.len(),
        report.by,
        report.backend,
        if report.measured { "" } else { " (simulated)" },
        report.size_bytes,
        report.rounds,
        report.seed,
    );
    for (class, gbps) in &report.usual_gbps {
        let where_ = match (report.by, class) {
            ("gpu", 0) => "within a host",
            _ => "between hosts",
        };
        let _ = writeln!(
            text,
            "usual exchange {where_}: {gbps:.2} GB/s each way and rank"
        );
    }
    besides(&mut text, report);
    text.push('\n');
    for culprit in &report.culprits {
        let percent = (culprit.ratio - 1.0) * 100.0;
        let _ = writeln!(
            text,
            "slow {}: {}: {percent:.0} % slower than usual; {}",
            culprit.kind, culprit.name, culprit.evidence
        );
        if let Some(command) = &culprit.command {
            let _ = writeln!(text, "  hint: {command}");
        }
    }
    if report.culprits.is_empty() {
        text.push_str("nothing is slow\n");
    }
    if report.wrong > 0 {
        let _ = writeln!(text, "wrong data: {} elements", report.wrong);
    }
    text
}

fn besides(text: &mut String, report: &Report) {
    let speeds = report.alone.iter().map(|one| one.gbps);
    if let (Some(least), Some(most)) = (speeds.clone().reduce(f64::min), speeds.reduce(f64::max)) {
        let slowest = report.alone.iter().find(|one| one.gbps <= least);
        let name = slowest.map_or("", |one| one.node.as_str());
        let _ = writeln!(
            text,
            "nodes alone: {least:.2} to {most:.2} GB/s, the slowest is {name}"
        );
    }
    if let Some(half) = &report.halves {
        let [a, b] = half.apart_gbps;
        let [c, d] = half.together_gbps;
        let _ = writeln!(
            text,
            "halves apart: {a:.2} and {b:.2} GB/s; together: {c:.2} and {d:.2} GB/s"
        );
        if (c / a).min(d / b) < SHARED {
            text.push_str("  the halves are slower together than apart: they share a link that is too small\n");
        }
    }
    for one in &report.scale {
        let _ = match one.gbps {
            Some(gbps) => writeln!(
                text,
                "ring of {}: {gbps:.2} GB/s",
                counted(one.nodes, "node", "nodes")
            ),
            None => writeln!(
                text,
                "ring of {}: not possible here",
                counted(one.nodes, "node", "nodes")
            ),
        };
    }
    if let Some(bend) = bend(report) {
        let _ = writeln!(text, "  it bends at {}", counted(bend, "node", "nodes"));
    }
    for one in &report.groups {
        let [left, right] = &one.groups;
        let what = if left == right {
            format!("inside {left}")
        } else {
            format!("between {left} and {right}")
        };
        let _ = match one.gbps {
            Some(gbps) => writeln!(
                text,
                "{what}: {gbps:.2} GB/s over {}",
                counted(one.pairs, "pair", "pairs")
            ),
            None => writeln!(text, "{what}: no pair was measured"),
        };
    }
}

/// The first set of two nodes or more that reaches less than nine tenths of the best smaller one.
fn bend(report: &Report) -> Option<usize> {
    let mut best = 0.0_f64;
    for one in report.scale.iter().filter(|one| one.nodes > 1) {
        let gbps = one.gbps?;
        if gbps < SHARED * best {
            return Some(one.nodes);
        }
        best = best.max(gbps);
    }
    None
}
