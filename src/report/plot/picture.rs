//! A picture as data: shapes in pixels, from the one that is drawn first to the last.
//!
//! It knows no file format; `paint` turns it into one.

use super::font::{self, Weight};
use super::palette::{Colour, INK};

/// A place in a picture: pixels from the left and from the top.
pub type Spot = (f64, f64);

/// Where a text's anchor lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The text begins there.
    Left,
    /// Its middle is there.
    Middle,
    /// It ends there.
    Right,
}

/// A line of text; the spot is at half the height of its letters.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    /// Where.
    pub at: Spot,
    /// What of it is there.
    pub side: Side,
    /// The text, without control characters.
    pub text: String,
    /// Its size in pixels.
    pub size: f64,
    /// How heavy its letters are.
    pub weight: Weight,
    /// Its colour.
    pub colour: Colour,
    /// 0 for nothing, 1 for all.
    pub opacity: f64,
}

impl Words {
    /// Ink-coloured text that begins at a spot. Control characters, which no XML may hold, become
    /// blanks or the sign for a character that is not known.
    pub fn new(at: Spot, size: f64, text: &str) -> Self {
        Self {
            at,
            side: Side::Left,
            text: clean(text),
            size,
            weight: Weight::Regular,
            colour: INK,
            opacity: 1.0,
        }
    }

    /// The same in another colour.
    #[must_use]
    pub fn coloured(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    /// The same with its anchor elsewhere.
    #[must_use]
    pub fn anchored(self, side: Side) -> Self {
        Self { side, ..self }
    }

    /// The same with heavy letters.
    #[must_use]
    pub fn heavy(self) -> Self {
        Self {
            weight: Weight::Heavy,
            ..self
        }
    }

    /// Left, top, right and bottom of the letters.
    pub fn extent(&self) -> [f64; 4] {
        let width = font::width(&self.text, self.size, self.weight);
        let left = match self.side {
            Side::Left => self.at.0,
            Side::Middle => self.at.0 - width / 2.0,
            Side::Right => self.at.0 - width,
        };
        let half = self.size * 0.4;
        [left, self.at.1 - half, left + width, self.at.1 + half]
    }
}

/// One thing to draw.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line through spots.
    Line {
        /// The spots.
        spots: Vec<Spot>,
        /// Its colour.
        colour: Colour,
        /// Its width in pixels.
        width: f64,
        /// Dashed instead of drawn through.
        is_dashed: bool,
    },
    /// What lies within spots.
    Area {
        /// The spots.
        spots: Vec<Spot>,
        /// Its colour.
        colour: Colour,
        /// 0 for nothing, 1 for all.
        opacity: f64,
    },
    /// A full circle.
    Disc {
        /// Its middle.
        at: Spot,
        /// Its radius in pixels.
        radius: f64,
        /// Its colour.
        colour: Colour,
    },
    /// A line of text.
    Text(Words),
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Pixels from left to right.
    pub width: f64,
    /// Pixels from top to bottom.
    pub height: f64,
    /// What it shows, for readers who do not see it.
    pub title: String,
    /// What to draw, in this order.
    pub shapes: Vec<Shape>,
}

impl Picture {
    /// Adds a straight line.
    pub fn rule(&mut self, from: Spot, to: Spot, colour: Colour, width: f64) {
        self.shapes.push(Shape::Line {
            spots: vec![from, to],
            colour,
            width,
            is_dashed: false,
        });
    }

    /// Adds a rectangle from its left upper corner to its right lower one.
    pub fn block(&mut self, from: Spot, to: Spot, colour: Colour, opacity: f64) {
        self.shapes.push(Shape::Area {
            spots: vec![from, (to.0, from.1), to, (from.0, to.1)],
            colour,
            opacity,
        });
    }

    /// Adds text.
    pub fn text(&mut self, words: Words) {
        self.shapes.push(Shape::Text(words));
    }

    /// All texts.
    pub fn texts(&self) -> impl Iterator<Item = &Words> {
        self.shapes.iter().filter_map(|shape| match shape {
            Shape::Text(words) => Some(words),
            _ => None,
        })
    }
}

/// One line that XML may hold.
pub fn clean(text: &str) -> String {
    let known = |character: char| match character {
        '\n' | '\r' | '\t' => ' ',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        _ if character.is_control() => '\u{fffd}',
        _ => character,
    };
    text.chars().map(known).collect()
}
