//! A contrast as people read it.

use crate::path;
use crate::record::contrast::Arm;
use crate::record::contrast::ContrastRecord;
use crate::record::contrast::ContrastRow;
use std::fmt::Write as _;

/// Widest column of an arm's name.
const NAME: usize = 10;

/// The arms, and a line for each row.
pub(super) fn of(record: &ContrastRecord) -> String {
    let mut text = String::new();
    let rounds = match record.rounds {
        1 => "once each".to_owned(),
        many => format!("{many} times each, medians"),
    };
    let _ = writeln!(
        text,
        "# contrast of {}: {} arms, {rounds}",
        record.collective,
        record.arms.len()
    );
    for arm in &record.arms {
        let path = arm
            .path
            .as_ref()
            .map_or_else(|| "no verdict on the path".to_owned(), path::text::line);
        let _ = writeln!(
            text,
            "#   {:<NAME$} {}\n#   {:NAME$} {path}",
            arm.arm.name,
            settings(&arm.arm),
            ""
        );
    }
    for note in &record.notes {
        let _ = writeln!(text, "# note: {note}");
    }
    headings(&mut text, record);
    for row in &record.rows {
        line(&mut text, row);
    }
    text
}

/// `NCCL_NET=Socket NCCL_NET_PLUGIN=none`, `as it is`.
pub(super) fn settings(arm: &Arm) -> String {
    let set = arm
        .set
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let unset = arm.unset.iter().map(|name| format!("-{name}"));
    let all: Vec<String> = set.chain(unset).collect();
    if all.is_empty() {
        "(as it is)".to_owned()
    } else {
        all.join(" ")
    }
}

fn headings(text: &mut String, record: &ContrastRecord) {
    let names: Vec<String> = record.arms.iter().map(|arm| short(&arm.arm.name)).collect();
    let column = |text: &mut String, words: &dyn Fn(&str) -> String| {
        for name in &names {
            let _ = write!(text, " {:>11}", words(name));
        }
    };
    let _ = write!(
        text,
        "#{:>13} {:>9} {:>7} {:>13}",
        "size", "type", "redop", "placement"
    );
    column(text, &|name| name.to_owned());
    column(text, &|name| name.to_owned());
    for name in names.iter().skip(1) {
        let _ = write!(text, " {:>21}", format!("{name}/{}", names[0]));
    }
    let _ = write!(text, "\n#{:>13} {:>9} {:>7} {:>13}", "(B)", "", "", "");
    column(text, &|_| "(us)".to_owned());
    column(text, &|_| "(GB/s)".to_owned());
    for _ in names.iter().skip(1) {
        let _ = write!(text, " {:>21}", "(times as long)");
    }
    text.push('\n');
}

fn short(name: &str) -> String {
    name.chars().take(NAME).collect()
}

fn line(text: &mut String, row: &ContrastRow) {
    let key = &row.key;
    let redop = key.redop.map_or("none", |redop| redop.name());
    let placement = key.placement.to_string();
    let _ = write!(
        text,
        " {:>13} {:>9} {redop:>7} {placement:>13}",
        row.size,
        key.dtype.name()
    );
    for figure in row.time_us.iter().chain(&row.busbw_gbps) {
        let figure = figure.map_or_else(|| "N/A".to_owned(), |value| format!("{value:.2}"));
        let _ = write!(text, " {figure:>11}");
    }
    for ratio in row.ratio.iter().skip(1) {
        let ratio = ratio.map_or_else(|| "N/A".to_owned(), |value| format!("{value:.2}"));
        let _ = write!(text, " {ratio:>21}");
    }
    text.push('\n');
}
