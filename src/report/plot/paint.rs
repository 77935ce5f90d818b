//! Pictures as files: SVG and PNG, both drawn by plotters.

use super::font;
use super::palette::{Colour, PAPER};
use super::picture::{Picture, Shape, Side, Spot, Words};
use crate::base::{Fault, Kind};
use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Text};
use plotters::prelude::{BitMapBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoTextStyle, RGBColor, ShapeStyle};

/// How much finer than a pixel plotters draws, since it knows whole units only.
const FINER: u32 = 4;
/// Pixels of a PNG for each pixel of a picture: twice, for screens and print.
const PNG_PIXELS: u32 = 2;

/// How far above a text's spot plotters' SVG puts the middle of its letters, for each pixel of their
/// size: it puts the line of writing half an x-height below the spot.
const SVG_RISE: f64 = 0.09;
/// The same for its bitmaps, where the line of writing is 0.12 of the size below the spot.
const BITMAP_RISE: f64 = 0.24;

/// A picture as SVG; it asks for no font of the system, no script and nothing from elsewhere.
///
/// # Errors
/// `Output` if it cannot be drawn.
pub fn svg(picture: &Picture) -> Result<String, Fault> {
    let mut text = String::new();
    let backend = SVGBackend::with_string(&mut text, size(picture));
    draw(picture, &backend.into_drawing_area(), SVG_RISE)?;
    Ok(with_own_opening(&text, picture))
}

/// A picture as PNG with twice as many pixels as it has.
///
/// # Errors
/// `Output` if it cannot be drawn.
pub fn png(picture: &Picture) -> Result<Vec<u8>, Fault> {
    let (width, height) = size(picture);
    let mut fine = vec![255; width as usize * height as usize * 3];
    let backend = BitMapBackend::with_buffer(&mut fine, (width, height));
    draw(picture, &backend.into_drawing_area(), BITMAP_RISE)?;
    let small = averaged(&fine, width as usize);
    let factor = FINER / PNG_PIXELS;
    encoded(&small, width / factor, height / factor)
        .map_err(|error| Fault::new(Kind::Output, error.to_string()).while_doing("writing a PNG"))
}

/// Whole pixels of the picture, in plotters' finer units.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a picture is some hundred pixels wide and high"
)]
fn size(picture: &Picture) -> (u32, u32) {
    let units = |pixels: f64| pixels.ceil().clamp(1.0, 20_000.0) as u32 * FINER;
    (units(picture.width), units(picture.height))
}

/// plotters opens with the size in its own units; a reader wants pixels, a title, and round corners.
fn with_own_opening(text: &str, picture: &Picture) -> String {
    let (width, height) = size(picture);
    let body = text.split_once('>').map_or("", |(_, body)| body);
    let title = super::escaped(&super::picture::clean(&picture.title));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{title}\" stroke-linejoin=\"round\" stroke-linecap=\"round\">\n<title>{title}</title>{body}",
        width / FINER,
        height / FINER
    )
}

/// Every block of `FINER / PNG_PIXELS` pixels a side as one, which makes smooth edges.
fn averaged(fine: &[u8], width: usize) -> Vec<u8> {
    let factor = (FINER / PNG_PIXELS) as usize;
    let rows = fine.chunks_exact(width * 3 * factor);
    let mut small = Vec::with_capacity(fine.len() / factor / factor);
    for block in rows {
        for column in 0..width / factor {
            for channel in 0..3 {
                let places = (0..factor * factor).map(|place| {
                    let (down, right) = (place / factor, place % factor);
                    (down * width + column * factor + right) * 3 + channel
                });
                let sum: usize = places.map(|place| usize::from(block[place])).sum();
                small.push(u8::try_from(sum / (factor * factor)).unwrap_or(u8::MAX));
            }
        }
    }
    small
}

fn encoded(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

fn draw<B: DrawingBackend>(
    picture: &Picture,
    area: &DrawingArea<B, Shift>,
    rise: f64,
) -> Result<(), Fault> {
    let drawn = area.fill(&rgb(PAPER)).and_then(|()| {
        let mut shapes = picture.shapes.iter();
        shapes.try_for_each(|shape| shape_on(area, shape, rise))
    });
    drawn
        .and_then(|()| area.present())
        .map_err(|error| Fault::new(Kind::Output, error.to_string()).while_doing("drawing a plot"))
}

type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

fn shape_on<B: DrawingBackend>(area: &DrawingArea<B, Shift>, shape: &Shape, rise: f64) -> Drawn<B> {
    match shape {
        Shape::Line {
            spots,
            colour,
            width,
            is_dashed,
        } => {
            let style = rgb(*colour).stroke_width(whole(width * f64::from(FINER)).unsigned_abs());
            let pieces = if *is_dashed {
                dashes(spots)
            } else {
                vec![spots.clone()]
            };
            pieces
                .into_iter()
                .filter(|piece| piece.len() > 1)
                .try_for_each(|piece| area.draw(&PathElement::new(units(&piece), style)))
        }
        Shape::Area {
            spots,
            colour,
            opacity,
        } => area.draw(&Polygon::new(units(spots), filled(*colour, *opacity))),
        Shape::Disc { at, radius, colour } => {
            let radius = whole(radius * f64::from(FINER));
            area.draw(&Circle::new(unit(*at), radius, filled(*colour, 1.0)))
        }
        Shape::Text(words) => text_on(area, words, rise),
    }
}

fn text_on<B: DrawingBackend>(area: &DrawingArea<B, Shift>, words: &Words, rise: f64) -> Drawn<B> {
    let side = match words.side {
        Side::Left => HPos::Left,
        Side::Middle => HPos::Center,
        Side::Right => HPos::Right,
    };
    let colour = rgb(words.colour).mix(words.opacity);
    let style = font::description(words.size * f64::from(FINER), words.weight)
        .into_text_style(&area.dim_in_pixel())
        .color(&colour)
        .pos(Pos::new(side, VPos::Center));
    let at = (words.at.0, words.at.1 + rise * words.size);
    area.draw(&Text::new(words.text.as_str(), unit(at), style))
}

fn rgb(colour: Colour) -> RGBColor {
    RGBColor(colour.0, colour.1, colour.2)
}

fn filled(colour: Colour, opacity: f64) -> ShapeStyle {
    rgb(colour).mix(opacity).filled()
}

fn units(spots: &[Spot]) -> Vec<(i32, i32)> {
    spots.iter().map(|spot| unit(*spot)).collect()
}

fn unit((x, y): Spot) -> (i32, i32) {
    (whole(x * f64::from(FINER)), whole(y * f64::from(FINER)))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a picture is some thousand units wide; what is far outside stays outside"
)]
fn whole(value: f64) -> i32 {
    value.round().clamp(-1e6, 1e6) as i32
}

/// A line as dashes of eight pixels with gaps of five, also round its corners.
fn dashes(spots: &[Spot]) -> Vec<Vec<Spot>> {
    const PATTERN: [f64; 2] = [8.0, 5.0];
    let mut pieces: Vec<Vec<Spot>> = vec![spots.first().copied().into_iter().collect()];
    let (mut phase, mut left) = (0, PATTERN[0]);
    for pair in spots.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        // not `hypot`, whose symbol asks for a C library of 2.35
        let (width, height) = (to.0 - from.0, to.1 - from.1);
        let length = (width * width + height * height).sqrt();
        let mut gone = 0.0;
        while length - gone > left {
            gone += left;
            let part = gone / length;
            let spot = (
                from.0 + part * (to.0 - from.0),
                from.1 + part * (to.1 - from.1),
            );
            if let (0, Some(piece)) = (phase, pieces.last_mut()) {
                piece.push(spot);
            } else {
                pieces.push(vec![spot]);
            }
            phase = 1 - phase;
            left = PATTERN[phase];
        }
        left -= length - gone;
        if let (0, Some(piece)) = (phase, pieces.last_mut()) {
            piece.push(to);
        }
    }
    pieces
}
