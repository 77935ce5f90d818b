//! The matrix of pairs as a table and as a picture.

use super::report::Report;
use crate::base::Fault;
use crate::base::Kind;
use std::fmt::Write as _;

/// Side of a cell in the picture, and the room for names.
const CELL: usize = 14;
const MARGIN: usize = 150;

/// Writes a file that is not there yet.
pub(super) fn write(path: &str, text: &str) -> Result<(), Fault> {
    use std::io::Write as _;
    let cannot =
        |error: std::io::Error| Fault::new(Kind::Output, format!("cannot write `{path}`: {error}"));
    let mut file = std::fs::File::create_new(path).map_err(cannot)?;
    file.write_all(text.as_bytes()).map_err(cannot)
}

/// GB/s by row and column; empty where a pair was not measured.
fn matrix(report: &Report) -> Vec<Vec<Option<f64>>> {
    let n = report.participants.len();
    let mut cells = vec![vec![None; n]; n];
    for pair in &report.pairs {
        cells[pair.a][pair.b] = Some(pair.gbps);
        cells[pair.b][pair.a] = Some(pair.gbps);
    }
    cells
}

/// A table with the participants' names as first row and first column.
pub(super) fn csv(report: &Report) -> String {
    let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
    let names: Vec<String> = report.participants.iter().map(quoted).collect();
    let mut text = format!("gbps,{}\n", names.join(","));
    for (name, row) in names.iter().zip(matrix(report)) {
        let cells = row
            .iter()
            .map(|cell| cell.map_or_else(String::new, |gbps| format!("{gbps:.4}")));
        let _ = writeln!(text, "{name},{}", cells.collect::<Vec<_>>().join(","));
    }
    text
}

/// A heat map: white is the fastest pair, dark red the slowest; grey was not measured.
pub(super) fn picture(report: &Report) -> String {
    let n = report.participants.len();
    let side = MARGIN + n * CELL + 10;
    let all = report.pairs.iter().map(|pair| pair.gbps);
    let most = all.clone().fold(0.0, f64::max);
    let least = all.fold(most, f64::min);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{side}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"16\" font-size=\"12\">GB/s of each pair: {least:.2} (dark) to {most:.2} (white)</text>\n",
        side + 20
    );
    for (row, cells) in matrix(report).iter().enumerate() {
        let y = MARGIN + row * CELL;
        let name = escaped(&report.participants[row]);
        let at = y + CELL - 4;
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{at}\" text-anchor=\"end\">{name}</text>",
            MARGIN - 4
        );
        let x = MARGIN + row * CELL + CELL - 4;
        let _ = writeln!(
            text,
            "<text transform=\"translate({x},{}) rotate(-90)\">{name}</text>",
            MARGIN - 4
        );
        for (column, cell) in cells.iter().enumerate() {
            let x = MARGIN + column * CELL;
            let colour = colour(*cell, least, most);
            let title = match cell {
                Some(gbps) => format!(
                    "{name} – {}: {gbps:.2} GB/s",
                    escaped(&report.participants[column])
                ),
                None => "not measured".to_owned(),
            };
            let _ = writeln!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"{colour}\" stroke=\"#ddd\"><title>{title}</title></rect>"
            );
        }
    }
    text + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 255 by the clamp"
)]
fn colour(cell: Option<f64>, least: f64, most: f64) -> String {
    let Some(gbps) = cell else {
        return "#cccccc".to_owned();
    };
    // the scale reaches at least a tenth below the fastest, so that noise is not drawn as a fault
    let span = (most - least).max(0.1 * most).max(f64::MIN_POSITIVE);
    let share = ((most - gbps) / span).clamp(0.0, 1.0);
    let fade = |to: f64| (255.0 - share * (255.0 - to)).round().clamp(0.0, 255.0) as u8;
    format!("#{:02x}{:02x}{:02x}", fade(150.0), fade(10.0), fade(10.0))
}
