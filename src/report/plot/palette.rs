//! Colours and marks that tell lines apart, also for readers who see fewer colours.
//!
//! A line differs from its neighbours in colour and in mark; from the eighth on it is dashed too.

/// A colour, red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// `#0072B2`.
    pub fn hex(self) -> String {
        format!("#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

/// What the picture is drawn on.
pub const PAPER: Colour = Colour(0xff, 0xff, 0xff);
/// Titles and labels of the axes.
pub const INK: Colour = Colour(0x1b, 0x1f, 0x24);
/// What explains: subtitles, ticks, remarks.
pub const MUTED: Colour = Colour(0x57, 0x60, 0x6a);
/// Lines of the grid.
pub const GRID: Colour = Colour(0xe4, 0xe7, 0xeb);
/// The axes.
pub const AXIS: Colour = Colour(0x8b, 0x94, 0x9e);
/// What must not be overlooked: wrong data, a number that was not measured.
pub const ALARM: Colour = Colour(0xb4, 0x23, 0x18);
/// What a comparison is held against.
pub const REFERENCE: Colour = Colour(0x6e, 0x77, 0x81);

/// Colours of lines.
///
/// # Source
/// M. Okabe and K. Ito, "Color Universal Design" (2008), without yellow and with grey for black:
/// yellow is not to be seen on white, and black is the ink.
pub const LINES: [Colour; 7] = [
    Colour(0x00, 0x72, 0xb2),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x00, 0x9e, 0x73),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0xe6, 0x9f, 0x00),
    Colour(0x56, 0xb4, 0xe9),
    Colour(0x44, 0x4c, 0x56),
];

/// The colours of a dark page in the place of those of a light one, in hexadecimal.
pub fn dark() -> impl Iterator<Item = (Colour, &'static str)> {
    let ground = [
        (PAPER, "#15191E"),
        (INK, "#E6EDF3"),
        (MUTED, "#A3ADB8"),
        (GRID, "#2D343C"),
        (AXIS, "#6E7781"),
        (ALARM, "#FF7B72"),
        (REFERENCE, "#9DA7B1"),
    ];
    let lines = [
        "#4FA8E0", "#FF8A3D", "#2CC79A", "#E39BC4", "#F0B429", "#86CEF5", "#C9D1D9",
    ];
    ground.into_iter().chain(LINES.into_iter().zip(lines))
}

/// The mark on a line's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// A full circle.
    Disc,
    /// A square.
    Square,
    /// A triangle that stands.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// An empty circle.
    Ring,
    /// An X: wrong data.
    Cross,
}

/// How the line with this index looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Look {
    /// Its colour.
    pub colour: Colour,
    /// The mark on its points.
    pub mark: Mark,
    /// Whether it is dashed.
    pub is_dashed: bool,
}

impl Look {
    /// The look of line `index`; the first 35 differ.
    pub fn of(index: usize) -> Self {
        const MARKS: [Mark; 5] = [
            Mark::Disc,
            Mark::Square,
            Mark::Triangle,
            Mark::Diamond,
            Mark::Ring,
        ];
        Self {
            colour: LINES[index % LINES.len()],
            mark: MARKS[index % MARKS.len()],
            is_dashed: (index / LINES.len()) % 2 == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn thirty_five_lines_look_different() {
        let looks: HashSet<Look> = (0..35).map(Look::of).collect();
        assert_eq!(looks.len(), 35);
    }

    #[test]
    fn every_colour_has_another_one_for_dark_pages() {
        let dark: Vec<_> = dark().collect();
        let light: HashSet<Colour> = dark.iter().map(|(light, _)| *light).collect();
        assert_eq!((dark.len(), light.len()), (14, 14));
    }

    /// WCAG's contrast of a colour against white.
    fn contrast_on_white(colour: Colour) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        };
        let Colour(red, green, blue) = colour;
        let light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
        1.05 / (light + 0.05)
    }

    #[test]
    fn text_can_be_read_on_white() {
        for colour in [INK, MUTED, ALARM] {
            assert!(contrast_on_white(colour) > 4.5, "{}", colour.hex());
        }
    }
}
