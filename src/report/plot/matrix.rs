//! A figure for every pair as a map of colours: a slow node is a cross, a slow link one cell.

use super::Plot;
use super::font::{self, Weight};
use super::frame::{EDGE, LABEL, WIDTH, head, remarks};
use super::palette::{AXIS, Colour, GRID, MUTED};
use super::picture::{Picture, Side, Words};
use super::scale::short;
use crate::base::Fault;
use crate::record::PairMatrix;
use crate::report::material::Material;

pub(super) const PLOT: Plot = Plot {
    name: "matrix",
    summary: "a figure for every pair of hosts, ranks or rails, as a map of colours",
    draw,
};

/// From bad to good.
///
/// # Source
/// J. R. Nuñez, C. R. Anderton, R. S. Renslow, "Optimizing colormaps with consideration for color
/// vision deficiency" (2018): cividis, at nine equal steps.
const COLOURS: [Colour; 9] = [
    Colour(0x00, 0x22, 0x4e),
    Colour(0x1b, 0x31, 0x6e),
    Colour(0x43, 0x4e, 0x6c),
    Colour(0x61, 0x67, 0x70),
    Colour(0x7d, 0x7c, 0x78),
    Colour(0x9b, 0x94, 0x76),
    Colour(0xbb, 0xad, 0x6c),
    Colour(0xdc, 0xc7, 0x5d),
    Colour(0xfe, 0xe8, 0x38),
];

/// Figures in cells: no colours of the palette, which change on a dark page while cells do not.
const ON_LIGHT: Colour = Colour(0x10, 0x10, 0x10);
const ON_DARK: Colour = Colour(0xfa, 0xfa, 0xfa);

struct Grid<'a> {
    matrix: &'a PairMatrix,
    left: f64,
    top: f64,
    cell: f64,
    low: f64,
    high: f64,
}

fn draw(material: &Material<'_>) -> Result<Picture, Fault> {
    let matrix = material.matrix.ok_or_else(|| {
        Fault::usage("a matrix needs figures of pairs")
            .hint("give the file that `ncclbench hunt` wrote: `--matrix FILE`")
    })?;
    let values = || matrix.pairs.iter().map(|pair| pair.value);
    let (low, high) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    if low > high {
        return Err(Fault::usage(
            "there is nothing to draw: the matrix has no pair",
        ));
    }
    let mut picture = Picture {
        width: WIDTH,
        height: 0.0,
        title: matrix.title.clone(),
        shapes: Vec::new(),
    };
    let title = material.title.as_ref().unwrap_or(&matrix.title);
    let better = if matrix.more_is_better {
        "more"
    } else {
        "less"
    };
    let subtitle = format!(
        "{} for each pair, from the row's to the column's; {better} is better",
        matrix.unit
    );
    let top = head(&mut picture, title, &[subtitle], None);
    let grid = placed(matrix, top + 8.0, low, high);
    names(&mut picture, &grid);
    cells(&mut picture, &grid);
    let below = grid.top + grid.cell * count(matrix.names.len()) + 18.0;
    let below = key(&mut picture, &grid, below);
    picture.height = remarks(&mut picture, &missing(matrix), below) + 8.0;
    Ok(picture)
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn placed(matrix: &PairMatrix, top: f64, low: f64, high: f64) -> Grid<'_> {
    let widths = matrix
        .names
        .iter()
        .map(|name| font::width(name, LABEL, Weight::Regular));
    let widest = widths.fold(0.0, f64::max).min(170.0);
    let left = EDGE + widest + 8.0;
    let room = WIDTH - EDGE - left;
    let cell = (room / count(matrix.names.len().max(1))).clamp(2.0, 56.0);
    Grid {
        matrix,
        left,
        top: top + 18.0,
        cell,
        low,
        high,
    }
}

/// Names at the left, and the rows' numbers above, as many as there is room for.
fn names(picture: &mut Picture, grid: &Grid<'_>) {
    let every = (16.0 / grid.cell).ceil().max(1.0);
    let above = (26.0 / grid.cell).ceil().max(1.0);
    for (index, name) in grid.matrix.names.iter().enumerate() {
        let place = count(index);
        let middle = (place + 0.5) * grid.cell;
        if place % every == 0.0 {
            let text = font::fitted(name, LABEL, Weight::Regular, grid.left - EDGE - 8.0);
            let words = Words::new((grid.left - 8.0, grid.top + middle), LABEL, &text);
            picture.text(words.anchored(Side::Right).coloured(MUTED));
        }
        if place % above == 0.0 {
            let words = Words::new(
                (grid.left + middle, grid.top - 9.0),
                LABEL,
                &index.to_string(),
            );
            picture.text(words.anchored(Side::Middle).coloured(MUTED));
        }
    }
}

fn cells(picture: &mut Picture, grid: &Grid<'_>) {
    let size = grid.matrix.names.len();
    let end = grid.cell * count(size);
    picture.block(
        (grid.left, grid.top),
        (grid.left + end, grid.top + end),
        GRID,
        1.0,
    );
    let mut values = vec![None; size * size];
    for pair in &grid.matrix.pairs {
        values[pair.from as usize * size + pair.to as usize] = Some(pair.value);
    }
    let gap = if grid.cell > 12.0 { 1.0 } else { 0.0 };
    for (place, value) in values.into_iter().enumerate() {
        let Some(value) = value else { continue };
        let (row, column) = (count(place / size), count(place % size));
        let (x, y) = (grid.left + column * grid.cell, grid.top + row * grid.cell);
        let part = grid.goodness(value);
        picture.block(
            (x, y),
            (x + grid.cell - gap, y + grid.cell - gap),
            shade(part),
            1.0,
        );
        if grid.cell >= 34.0 {
            let colour = if part > 0.5 { ON_LIGHT } else { ON_DARK };
            let at = (x + grid.cell / 2.0, y + grid.cell / 2.0);
            picture.text(
                Words::new(at, 11.5, &short(value))
                    .anchored(Side::Middle)
                    .coloured(colour),
            );
        }
    }
}

impl Grid<'_> {
    /// 0 for the worst figure, 1 for the best; equal figures are all good.
    fn goodness(&self, value: f64) -> f64 {
        if self.high <= self.low {
            return 1.0;
        }
        let part = (value - self.low) / (self.high - self.low);
        if self.matrix.more_is_better {
            part
        } else {
            1.0 - part
        }
    }
}

/// The colour between those of the steps around it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 to 8, and 0 to 255"
)]
fn shade(part: f64) -> Colour {
    let place = part.clamp(0.0, 1.0) * 8.0;
    let step = (place as usize).min(7);
    let rest = place - count(step);
    let between = |from: u8, to: u8| {
        (f64::from(from) + (f64::from(to) - f64::from(from)) * rest).round() as u8
    };
    let (from, to) = (COLOURS[step], COLOURS[step + 1]);
    Colour(
        between(from.0, to.0),
        between(from.1, to.1),
        between(from.2, to.2),
    )
}

/// What the colours mean.
fn key(picture: &mut Picture, grid: &Grid<'_>, top: f64) -> f64 {
    const PIECES: usize = 48;
    let width = 220.0;
    let left = grid.left;
    for piece in 0..PIECES {
        let part = count(piece) / count(PIECES - 1);
        let x = left + width * count(piece) / count(PIECES);
        picture.block(
            (x, top),
            (x + width / count(PIECES) + 0.5, top + 10.0),
            shade(part),
            1.0,
        );
    }
    let (bad, good) = if grid.matrix.more_is_better {
        (grid.low, grid.high)
    } else {
        (grid.high, grid.low)
    };
    let ends = [
        (left, Side::Left, bad, "worst"),
        (left + width, Side::Right, good, "best"),
    ];
    for (x, side, value, word) in ends {
        let text = format!("{word} {} {}", short(value), grid.matrix.unit);
        picture.text(
            Words::new((x, top + 22.0), 11.5, &text)
                .anchored(side)
                .coloured(MUTED),
        );
    }
    picture.block(
        (left + width + 24.0, top),
        (left + width + 38.0, top + 10.0),
        GRID,
        1.0,
    );
    picture.rule(
        (left + width + 24.0, top + 10.0),
        (left + width + 38.0, top + 10.0),
        AXIS,
        0.75,
    );
    picture
        .text(Words::new((left + width + 44.0, top + 5.0), 11.5, "not measured").coloured(MUTED));
    top + 34.0
}

fn missing(matrix: &PairMatrix) -> Vec<String> {
    let size = matrix.names.len();
    let possible = size * size.saturating_sub(1);
    let apart = matrix
        .pairs
        .iter()
        .filter(|pair| pair.from != pair.to)
        .count();
    if apart >= possible {
        return Vec::new();
    }
    vec![format!(
        "{apart} of {possible} ordered pairs were measured."
    )]
}
