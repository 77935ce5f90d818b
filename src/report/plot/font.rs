//! The letters of pictures: two weights of Inter, cut down to Latin, Greek and signs, and embedded.
//!
//! No font of the system is asked for. An SVG names Inter first and common fonts after it, all of
//! which are narrower, so that it is readable where Inter is not.

use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};
use std::sync::Once;

/// What an SVG calls the font, and what plotters finds it by.
const FAMILY: &str = "Inter, Helvetica, Arial, sans-serif";

/// Size that plotters is asked for, for each pixel of letters: it takes a size for the height of a
/// line and divides by this.
///
/// # Source
/// plotters-svg 0.3.7, `draw_text`.
const LINE: f64 = 1.24;

/// How heavy letters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// For all but titles.
    Regular,
    /// For titles.
    Heavy,
}

impl Weight {
    fn style(self) -> FontStyle {
        match self {
            Self::Regular => FontStyle::Normal,
            Self::Heavy => FontStyle::Bold,
        }
    }
}

/// The font as plotters takes it.
#[expect(
    clippy::expect_used,
    reason = "the fonts are part of this program, and a test draws with them"
)]
pub(super) fn description(size: f64, weight: Weight) -> FontDesc<'static> {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        let regular = include_bytes!("fonts/Inter-Regular-subset.otf");
        let heavy = include_bytes!("fonts/Inter-SemiBold-subset.otf");
        register_font(FAMILY, FontStyle::Normal, regular)
            .and_then(|()| register_font(FAMILY, FontStyle::Bold, heavy))
            .ok()
            .expect("the embedded fonts can be read");
    });
    FontDesc::new(FontFamily::Name(FAMILY), size * LINE, weight.style())
}

/// Width of a text in pixels.
///
/// # Panics
/// If the embedded fonts cannot be read, which a test rules out.
#[expect(
    clippy::expect_used,
    reason = "the fonts are part of this program, and a test draws with them"
)]
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    // plotters gives whole pixels
    const FINER: f64 = 16.0;
    let (width, _) = description(size * FINER, weight)
        .box_size(text)
        .expect("the embedded fonts are registered");
    f64::from(width) / FINER
}

/// The text, or its beginning and its end with an ellipsis between them, no wider than `most`: the
/// end of a name often tells more than its beginning.
pub fn fitted(text: &str, size: f64, weight: Weight, most: f64) -> String {
    if width(text, size, weight) <= most {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| -> String {
        let head = kept.div_ceil(2);
        let tail = &characters[characters.len() - (kept - head)..];
        let start = characters[..head].iter();
        start.chain(&['…']).chain(tail).collect()
    };
    let (mut fits, mut too_many) = (0, characters.len());
    while fits + 1 < too_many {
        let middle = usize::midpoint(fits, too_many);
        if width(&cut(middle), size, weight) <= most {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    cut(fits)
}

/// The text in lines no wider than `most`, broken at blanks; a word that is too wide is cut.
pub fn wrapped(text: &str, size: f64, weight: Weight, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (longer, lines.last_mut()) {
            (Some(longer), Some(last)) if width(&longer, size, weight) <= most => *last = longer,
            _ => lines.push(fitted(word, size, weight, most)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavier_letters_are_wider_and_a_longer_text_too() {
        let regular = width("busbw", 12.0, Weight::Regular);
        assert!((30.0..50.0).contains(&regular), "{regular}");
        assert!(width("busbw", 12.0, Weight::Heavy) > regular);
        assert!(width("busbw busbw", 12.0, Weight::Regular) > 2.0 * regular);
    }

    #[test]
    fn a_name_that_is_too_wide_keeps_its_beginning_and_its_end() {
        let name = "nightly-".to_owned() + &"x".repeat(200) + "-2026-11-29";
        let short = fitted(&name, 12.0, Weight::Regular, 150.0);
        assert!(
            short.starts_with("nightly-") && short.ends_with("-11-29"),
            "{short}"
        );
        assert!(short.contains('…') && width(&short, 12.0, Weight::Regular) <= 150.0);
        assert_eq!(fitted("short", 12.0, Weight::Regular, 150.0), "short");
        assert_eq!(fitted("short", 12.0, Weight::Regular, 0.0), "…");
    }

    #[test]
    fn no_line_is_wider_than_allowed_and_no_word_is_lost() {
        let text = "a few words that do not fit on one line of a narrow picture";
        let lines = wrapped(text, 12.0, Weight::Regular, 120.0);
        assert!(lines.len() > 2 && lines.join(" ") == text, "{lines:?}");
        assert!(
            lines
                .iter()
                .all(|line| width(line, 12.0, Weight::Regular) <= 120.0)
        );
    }

    #[test]
    fn every_sign_that_pictures_use_is_in_the_font() {
        let unknown = width("\u{4e00}", 100.0, Weight::Regular);
        for sign in "µΔ×·–…±≤≥−⁹→AZaz09/%()[]<>&\"'#@_".chars() {
            let sign = sign.to_string();
            let both = [Weight::Regular, Weight::Heavy].map(|weight| width(&sign, 100.0, weight));
            assert!(
                both.iter()
                    .all(|width| *width > 0.0 && (*width - unknown).abs() > 0.01),
                "{sign}"
            );
        }
    }
}
