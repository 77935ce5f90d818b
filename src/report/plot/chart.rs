//! The frame that all plots with two axes share: title, axes, bands, lines, legend, remarks.
//!
//! It places shapes and knows nothing of runs.

use super::font::{self, Weight};
use super::frame::{EDGE, LABEL, REMARK, WIDTH, head, mark, remarks};
use super::legend;
use super::palette::{ALARM, AXIS, Colour, GRID, INK, Look, MUTED, Mark, REFERENCE};
use super::picture::{Picture, Shape, Side, Spot, Words};
use super::scale::Scale;

const PLOT_HEIGHT: f64 = 290.0;

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Its value on the axis below.
    pub x: f64,
    /// Its value on the axis at the left.
    pub y: f64,
    /// How far up and down it may be.
    pub range: Option<(f64, f64)>,
    /// Its data was wrong.
    pub is_wrong: bool,
}

impl Point {
    /// Everything of it that must be on the axis at the left.
    pub(super) fn heights(&self) -> [f64; 3] {
        let (low, high) = self.range.unwrap_or((self.y, self.y));
        [low, self.y, high]
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What the legend calls it.
    pub label: String,
    /// How it looks.
    pub look: Look,
    /// Its points, from left to right.
    pub points: Vec<Point>,
    /// Whether points are joined: only where what lies between them is meant.
    pub is_joined: bool,
}

/// A band between two lines, with one within it.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// What the legend calls it.
    pub label: String,
    /// Value below, then smallest, middle and largest value.
    pub points: Vec<(f64, [f64; 3])>,
    /// Its colour.
    pub colour: Colour,
}

/// A value that holds for a stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// What is written on it.
    pub label: String,
    /// The value at the left.
    pub y: f64,
    /// From which value below to which; none is the whole width.
    pub span: Option<(f64, f64)>,
}

/// A value below at which something happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Upright {
    /// What is written on it.
    pub label: String,
    /// The value.
    pub x: f64,
}

/// What a plot shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// One line.
    pub title: String,
    /// Where, when, with which versions.
    pub subtitles: Vec<String>,
    /// What must be said across the plot, where the numbers are worth nothing.
    pub stamp: Option<String>,
    /// The axis below.
    pub x: Scale,
    /// What it shows, with its unit.
    pub x_title: String,
    /// The axis at the left.
    pub y: Scale,
    /// What it shows, with its unit.
    pub y_title: String,
    /// Bands.
    pub bands: Vec<Band>,
    /// Levels.
    pub levels: Vec<Level>,
    /// Uprights.
    pub uprights: Vec<Upright>,
    /// Lines.
    pub series: Vec<Series>,
    /// What a reader must know besides.
    pub remarks: Vec<String>,
}

/// The rectangle between the axes.
#[derive(Debug, Clone, Copy)]
struct Field {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Field {
    fn x(&self, place: f64) -> f64 {
        self.left + place * (self.right - self.left)
    }

    fn y(&self, place: f64) -> f64 {
        self.bottom - place * (self.bottom - self.top)
    }
}

impl Chart {
    /// Lays it out.
    pub fn picture(&self) -> Picture {
        let mut picture = Picture {
            width: WIDTH,
            height: 0.0,
            title: self.title.clone(),
            shapes: Vec::new(),
        };
        let top = head(
            &mut picture,
            &self.title,
            &self.subtitles,
            self.stamp.as_deref(),
        );
        picture.text(Words::new((EDGE, top + 8.0), LABEL, &self.y_title));
        let field = self.field(top + 26.0);
        self.grid(&mut picture, field);
        self.content(&mut picture, field);
        let below = field.bottom + 58.0;
        let below = legend::draw(&mut picture, self, below);
        picture.height = remarks(&mut picture, &self.remarks, below) + 8.0;
        picture
    }

    fn field(&self, top: f64) -> Field {
        let labels = self.y.ticks.iter().map(|tick| tick.label.as_str());
        let widths = labels.map(|label| font::width(label, LABEL, Weight::Regular));
        let widest = widths.fold(0.0, f64::max);
        Field {
            left: EDGE + widest + 8.0,
            top,
            right: WIDTH - EDGE - 8.0,
            bottom: top + PLOT_HEIGHT,
        }
    }

    fn grid(&self, picture: &mut Picture, field: Field) {
        for tick in &self.y.ticks {
            let y = field.y(self.y.part(tick.place));
            let width = if tick.label.is_empty() { 0.5 } else { 1.0 };
            picture.rule((field.left, y), (field.right, y), GRID, width);
            let words = Words::new((field.left - 8.0, y), LABEL, &tick.label);
            picture.text(words.anchored(Side::Right).coloured(MUTED));
        }
        for tick in &self.x.ticks {
            let x = field.x(self.x.part(tick.place));
            picture.rule((x, field.top), (x, field.bottom), GRID, 1.0);
            picture.rule((x, field.bottom), (x, field.bottom + 5.0), AXIS, 1.0);
            // the label of a tick at the edge moves a little, so that it stays in the picture
            let half = font::width(&tick.label, LABEL, Weight::Regular) / 2.0;
            let x = x.clamp(half + 4.0, WIDTH - half - 4.0);
            let words = Words::new((x, field.bottom + 15.0), LABEL, &tick.label);
            picture.text(words.anchored(Side::Middle).coloured(MUTED));
        }
        let corner = (field.left, field.bottom);
        picture.rule((field.left, field.top), corner, AXIS, 1.0);
        picture.rule(corner, (field.right, field.bottom), AXIS, 1.0);
        let middle = f64::midpoint(field.left, field.right);
        let title = Words::new((middle, field.bottom + 35.0), LABEL, &self.x_title);
        picture.text(title.anchored(Side::Middle));
    }

    fn content(&self, picture: &mut Picture, field: Field) {
        if let Some(stamp) = &self.stamp {
            let at = (field.x(0.5), field.y(0.5));
            let words = Words::new(at, 44.0, stamp)
                .anchored(Side::Middle)
                .coloured(ALARM);
            picture.text(Words {
                opacity: 0.16,
                ..words.heavy()
            });
        }
        for band in &self.bands {
            self.band(picture, field, band);
        }
        for level in &self.levels {
            self.level(picture, field, level);
        }
        for upright in &self.uprights {
            self.upright(picture, field, upright);
        }
        for series in &self.series {
            self.series(picture, field, series);
        }
    }

    fn spot(&self, field: Field, x: f64, y: f64) -> Spot {
        (field.x(self.x.place(x)), field.y(self.y.place(y)))
    }

    fn band(&self, picture: &mut Picture, field: Field, band: &Band) {
        let line = |which: usize| {
            let points = band.points.iter();
            points.map(move |(x, values)| self.spot(field, *x, values[which]))
        };
        let spots: Vec<Spot> = line(0)
            .chain(line(2).collect::<Vec<_>>().into_iter().rev())
            .collect();
        if let [only, _] = spots[..] {
            // one size: a band of some width, or nothing could be seen
            let other = line(2).next().unwrap_or(only);
            picture.block(
                (only.0 - 8.0, other.1),
                (only.0 + 8.0, only.1),
                band.colour,
                0.22,
            );
        } else {
            picture.shapes.push(Shape::Area {
                spots,
                colour: band.colour,
                opacity: 0.22,
            });
        }
        picture.shapes.push(Shape::Line {
            spots: line(1).collect(),
            colour: band.colour,
            width: 1.25,
            is_dashed: false,
        });
    }

    fn level(&self, picture: &mut Picture, field: Field, level: &Level) {
        let y = field.y(self.y.place(level.y));
        let ends = level
            .span
            .map(|(from, to)| [from, to].map(|x| field.x(self.x.place(x))));
        let [left, right] = ends.unwrap_or([field.left, field.right]);
        let (left, right) = (left.max(field.left), right.min(field.right));
        picture.shapes.push(Shape::Line {
            spots: vec![(left, y), (right, y)],
            colour: INK,
            width: 1.25,
            is_dashed: true,
        });
        let most = field.right - left - 12.0;
        let text = font::fitted(&level.label, REMARK, Weight::Regular, most);
        let beside = if level.span.is_some() { 10.0 } else { -9.0 };
        picture.text(Words::new((left + 6.0, y + beside), REMARK, &text));
    }

    fn upright(&self, picture: &mut Picture, field: Field, upright: &Upright) {
        let x = field.x(self.x.place(upright.x));
        picture.shapes.push(Shape::Line {
            spots: vec![(x, field.top), (x, field.bottom)],
            colour: ALARM,
            width: 1.25,
            is_dashed: true,
        });
        let width = font::width(&upright.label, REMARK, Weight::Regular);
        let side = if x + width + 10.0 > field.right {
            Side::Right
        } else {
            Side::Left
        };
        let at = if side == Side::Right {
            x - 5.0
        } else {
            x + 5.0
        };
        let words = Words::new((at, field.top + 8.0), REMARK, &upright.label);
        picture.text(words.anchored(side).coloured(ALARM));
    }

    fn series(&self, picture: &mut Picture, field: Field, series: &Series) {
        let colour = series.look.colour;
        if series.is_joined {
            let spots = series
                .points
                .iter()
                .map(|point| self.spot(field, point.x, point.y));
            picture.shapes.push(Shape::Line {
                spots: spots.collect(),
                colour,
                width: 2.0,
                is_dashed: series.look.is_dashed,
            });
        }
        // a mark on each of very many points would hide the line
        let radius = if series.points.len() > 120 { 1.5 } else { 3.25 };
        for point in &series.points {
            if let Some((low, high)) = point.range {
                let (from, to) = (
                    self.spot(field, point.x, low),
                    self.spot(field, point.x, high),
                );
                picture.rule(from, to, colour, 1.5);
                for end in [from, to] {
                    picture.rule((end.0 - 3.5, end.1), (end.0 + 3.5, end.1), colour, 1.5);
                }
            }
            let at = self.spot(field, point.x, point.y);
            mark(picture, at, series.look.mark, colour, radius);
            if point.is_wrong {
                mark(picture, at, Mark::Cross, ALARM, 6.0);
            }
        }
    }
}

/// The colour of what a comparison is held against, and how it is told in a legend.
pub(super) const fn reference() -> Colour {
    REFERENCE
}
