//! What the lines and bands of a plot are called, in columns below it.

use super::chart::Chart;
use super::font::{self, Weight};
use super::frame::{EDGE, LABEL, WIDTH, mark};
use super::palette::{Colour, Look};
use super::picture::{Picture, Shape, Words};

const SWATCH: f64 = 26.0;
const GAP: f64 = 22.0;
const ROW: f64 = 19.0;

/// How an entry is shown before its name.
enum Swatch {
    Line(Look, bool),
    Band(Colour),
}

/// Draws it; gives where the next thing may begin. One line without a name needs none.
pub(super) fn draw(picture: &mut Picture, chart: &Chart, top: f64) -> f64 {
    let bands = chart
        .bands
        .iter()
        .map(|band| (Swatch::Band(band.colour), &band.label));
    let lines = chart.series.iter();
    let lines = lines.map(|one| (Swatch::Line(one.look, one.is_joined), &one.label));
    let entries: Vec<_> = lines
        .chain(bands)
        .filter(|(_, label)| !label.is_empty())
        .collect();
    let labels: Vec<&str> = entries.iter().map(|(_, label)| label.as_str()).collect();
    let (columns, width) = columns(&labels);
    for (index, (swatch, label)) in entries.iter().enumerate() {
        let left = EDGE + real(index % columns) * (width + GAP);
        let y = top + real(index / columns) * ROW;
        show(picture, swatch, (left, y));
        let text = font::fitted(label, LABEL, Weight::Regular, width - SWATCH - 7.0);
        picture.text(Words::new((left + SWATCH + 7.0, y), LABEL, &text));
    }
    top + real(entries.len().div_ceil(columns)) * ROW
}

/// How many columns, and how wide each is: as many as the longest name leaves room for.
fn columns(labels: &[&str]) -> (usize, f64) {
    let whole = WIDTH - 2.0 * EDGE;
    let names = labels
        .iter()
        .map(|label| font::width(label, LABEL, Weight::Regular));
    let widest = names.fold(0.0, f64::max) + SWATCH + 8.0;
    let fitting = (1..=4)
        .rev()
        .find(|&columns| width_of(columns, whole) >= widest);
    // names that fit nowhere are cut, in two columns where there are many
    let columns = fitting.unwrap_or(if labels.len() > 6 { 2 } else { 1 });
    (
        columns,
        if labels.len() < columns {
            widest
        } else {
            width_of(columns, whole)
        },
    )
}

fn width_of(columns: usize, whole: f64) -> f64 {
    (whole - real(columns - 1) * GAP) / real(columns)
}

fn real(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn show(picture: &mut Picture, swatch: &Swatch, (left, y): (f64, f64)) {
    match swatch {
        Swatch::Band(colour) => {
            picture.block((left, y - 6.0), (left + SWATCH, y + 6.0), *colour, 0.22);
            picture.rule((left, y), (left + SWATCH, y), *colour, 1.25);
        }
        Swatch::Line(look, is_joined) => {
            if *is_joined {
                picture.shapes.push(Shape::Line {
                    spots: vec![(left, y), (left + SWATCH, y)],
                    colour: look.colour,
                    width: 2.0,
                    is_dashed: look.is_dashed,
                });
            }
            mark(
                picture,
                (left + SWATCH / 2.0, y),
                look.mark,
                look.colour,
                3.25,
            );
        }
    }
}
