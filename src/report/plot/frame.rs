//! What stands round every plot: its mark on a point, its title above, its remarks below.

use super::font::{self, Weight};
use super::palette::{ALARM, Colour, MUTED, Mark, PAPER};
use super::picture::{Picture, Shape, Spot, Words};

/// Pixels from left to right: the width of a printed page at 110 dots an inch.
pub(super) const WIDTH: f64 = 760.0;
/// Space at the left and right edge.
pub(super) const EDGE: f64 = 18.0;
const TITLE: f64 = 17.0;
/// Size of labels.
pub(super) const LABEL: f64 = 12.5;
/// Size of remarks.
pub(super) const REMARK: f64 = 11.5;

/// Draws the mark of a line's point.
pub(super) fn mark(picture: &mut Picture, at: Spot, mark: Mark, colour: Colour, radius: f64) {
    let (x, y) = at;
    let area = |spots: Vec<Spot>| Shape::Area {
        spots,
        colour,
        opacity: 1.0,
    };
    let r = radius * 1.1;
    match mark {
        Mark::Disc => picture.shapes.push(Shape::Disc { at, radius, colour }),
        Mark::Ring => {
            picture.shapes.push(Shape::Disc {
                at,
                radius: r,
                colour,
            });
            let colour = PAPER;
            picture.shapes.push(Shape::Disc {
                at,
                radius: r * 0.55,
                colour,
            });
        }
        Mark::Square => picture.block(
            (x - r * 0.9, y - r * 0.9),
            (x + r * 0.9, y + r * 0.9),
            colour,
            1.0,
        ),
        Mark::Triangle => {
            let spots = vec![
                (x, y - r * 1.2),
                (x + r * 1.15, y + r * 0.85),
                (x - r * 1.15, y + r * 0.85),
            ];
            picture.shapes.push(area(spots));
        }
        Mark::Diamond => {
            let r = r * 1.25;
            picture
                .shapes
                .push(area(vec![(x, y - r), (x + r, y), (x, y + r), (x - r, y)]));
        }
        Mark::Cross => {
            picture.rule((x - r, y - r), (x + r, y + r), colour, 2.0);
            picture.rule((x - r, y + r), (x + r, y - r), colour, 2.0);
        }
    }
}

/// Draws title and subtitles; gives where the next thing may begin.
pub(super) fn head(
    picture: &mut Picture,
    title: &str,
    subtitles: &[String],
    stamp: Option<&str>,
) -> f64 {
    let most = WIDTH - 2.0 * EDGE;
    let title = font::fitted(title, TITLE, Weight::Heavy, most);
    picture.text(Words::new((EDGE, 26.0), TITLE, &title).heavy());
    let mut y = 48.0;
    let warning = stamp.map(|stamp| {
        let which = if stamp.starts_with("PARTLY") {
            "lines so marked"
        } else {
            "these numbers"
        };
        format!("{stamp}: {which} say nothing about any machine")
    });
    let lines = subtitles.iter().map(|text| (text, MUTED));
    for (text, colour) in lines.chain(warning.as_ref().map(|text| (text, ALARM))) {
        for line in font::wrapped(text, LABEL, Weight::Regular, most) {
            picture.text(Words::new((EDGE, y), LABEL, &line).coloured(colour));
            y += 17.0;
        }
    }
    y + 4.0
}

/// The text with a large first letter.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect());
    first + characters.as_str()
}

/// Draws remarks below everything; gives where they end.
pub(super) fn remarks(picture: &mut Picture, texts: &[String], top: f64) -> f64 {
    let mut y = top + 6.0;
    for text in texts {
        for line in font::wrapped(&sentence(text), REMARK, Weight::Regular, WIDTH - 2.0 * EDGE) {
            picture.text(Words::new((EDGE, y), REMARK, &line).coloured(MUTED));
            y += 15.0;
        }
    }
    y
}
