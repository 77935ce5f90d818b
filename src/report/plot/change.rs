//! How the speed of each row changed against the baseline, with its interval, the bands and their limits.

use super::Plot;
use super::chart::{Band, Chart, Level, Point, Series, reference};
use super::curves::real;
use super::palette::Look;
use super::picture::Picture;
use super::scale::{Measure, Scale, percent};
use crate::base::Fault;
use crate::base::counted;
use crate::record::Header;
use crate::record::verdict::{Band as Sizes, RowVerdict, Verdict};
use crate::report::about;
use crate::report::material::Material;
use std::collections::BTreeMap;

pub(super) const PLOT: Plot = Plot {
    name: "change",
    summary: "change of speed against the baseline in percent, with intervals and limits",
    draw,
};

fn draw(material: &Material<'_>) -> Result<Picture, Fault> {
    let verdict = material.verdict.ok_or_else(|| {
        Fault::usage("a change needs a baseline to be one").hint("give one: `--baseline NAME`")
    })?;
    let lines = lines(material, verdict);
    if lines.is_empty() {
        return Err(Fault::usage(
            "there is nothing to draw: baseline and runs have no row in common",
        ));
    }
    super::curves::require_readable(lines.len())?;
    Ok(chart(material, verdict, lines).picture())
}

fn chart(material: &Material<'_>, verdict: &Verdict, mut lines: Vec<Series>) -> Chart {
    let (bands, levels) = (bands(verdict), levels(verdict));
    let most = most(&bands, &levels);
    let cut = cut(&mut lines, most);
    let points = || lines.iter().flat_map(|line| &line.points);
    let of_bands = bands
        .iter()
        .flat_map(|band| band.points.iter().flat_map(|(_, values)| *values));
    let limits = levels.iter().map(|level| level.y);
    let heights: Vec<f64> = points()
        .flat_map(Point::heights)
        .chain(of_bands)
        .chain(limits)
        .collect();
    let headers: Vec<&Header> = material
        .runs
        .iter()
        .map(|named| &named.run.header)
        .collect();
    Chart {
        title: material.title.clone().unwrap_or_else(|| title(verdict)),
        subtitles: vec![verdict.sentence.clone(), sides(verdict)],
        stamp: about::stamps(&headers),
        x: Scale::over(Measure::Size, points().map(|point| point.x), 9),
        x_title: "message size for each rank".to_owned(),
        y: Scale::over(Measure::Change, heights, 8),
        y_title: "change of speed; below 0 is slower".to_owned(),
        bands,
        levels,
        uprights: Vec::new(),
        series: lines,
        remarks: remarks(verdict).into_iter().chain(cut).collect(),
    }
}

/// How far the axis goes both ways: what decides must be seen, and single rows are known far worse.
fn most(bands: &[Band], levels: &[Level]) -> f64 {
    let of_bands = bands
        .iter()
        .flat_map(|band| band.points.iter().flat_map(|(_, values)| *values));
    let all = of_bands.chain(levels.iter().map(|level| level.y));
    all.map(f64::abs).fold(7.5, f64::max) * 2.0
}

/// Keeps points and intervals on the axis; says so where something was beyond it.
fn cut(lines: &mut [Series], most: f64) -> Option<String> {
    let mut beyond = 0;
    for point in lines.iter_mut().flat_map(|line| &mut line.points) {
        beyond += usize::from(point.heights().iter().any(|height| height.abs() > most));
        point.y = point.y.clamp(-most, most);
        point.range = point
            .range
            .map(|(low, high)| (low.clamp(-most, most), high.clamp(-most, most)));
    }
    let rows = counted(beyond, "row", "rows");
    (beyond > 0).then(|| format!("{rows} reach beyond {} and are cut there.", percent(most)))
}

fn title(verdict: &Verdict) -> String {
    let (word, name) = (verdict.decision.word(), &verdict.baseline.name);
    format!("{word}: change of speed against baseline {name}")
}

/// What was compared with what.
fn sides(verdict: &Verdict) -> String {
    let baseline = &verdict.baseline;
    if baseline.entry == 0 {
        let runs = counted(verdict.runs.len(), "launch", "launches");
        return format!("{runs} against {}", baseline.name);
    }
    format!(
        "{} against baseline {} (entry {}, {}, accepted by {})",
        counted(verdict.runs.len(), "launch", "launches"),
        baseline.name,
        baseline.entry,
        counted(baseline.launches as usize, "launch", "launches"),
        baseline.author
    )
}

/// A line of single points for each kind of rows.
fn lines(material: &Material<'_>, verdict: &Verdict) -> Vec<Series> {
    let mut kinds: BTreeMap<String, Vec<&RowVerdict>> = BTreeMap::new();
    for row in verdict
        .rows
        .iter()
        .filter(|row| material.wish.takes_key(&row.key))
    {
        let text = row.key.to_string();
        let size = row.key.requested.to_string();
        let kind = text
            .strip_suffix(&size)
            .unwrap_or(&text)
            .trim_end()
            .to_owned();
        kinds.entry(kind).or_default().push(row);
    }
    let lines = kinds
        .into_iter()
        .enumerate()
        .map(|(index, (label, mut rows))| {
            rows.sort_by_key(|row| row.key.requested);
            Series {
                label,
                look: Look::of(index),
                points: rows.into_iter().map(point).collect(),
                is_joined: false,
            }
        });
    lines.collect()
}

fn point(row: &RowVerdict) -> Point {
    let change = &row.change;
    Point {
        x: real(row.key.requested.0),
        y: change.percent,
        range: change.low_percent.zip(change.high_percent),
        is_wrong: false,
    }
}

/// The sizes of a band's rows, smallest and largest.
fn span(verdict: &Verdict, sizes: Sizes) -> Option<(f64, f64)> {
    let rows = verdict.rows.iter().filter(|row| row.band == sizes);
    let sizes = rows.map(|row| real(row.key.requested.0));
    let (low, high) = sizes.fold((f64::INFINITY, 0.0), |(low, high), size| {
        (f64::min(low, size), f64::max(high, size))
    });
    (low <= high).then_some((low, high))
}

/// Each band's own change, as wide as its sizes and as high as its interval.
fn bands(verdict: &Verdict) -> Vec<Band> {
    let all = verdict.bands.iter().filter_map(|one| {
        let (low, high) = span(verdict, one.band)?;
        let change = &one.change;
        let values = [
            change.low_percent.unwrap_or(change.percent),
            change.percent,
            change.high_percent.unwrap_or(change.percent),
        ];
        Some(Band {
            label: format!(
                "{} band: {}, {}",
                one.band.name(),
                percent(change.percent),
                one.decision.word()
            ),
            // a little wider than its sizes, so that one of a single size is seen
            points: vec![(low * 0.8, values), (high * 1.25, values)],
            colour: reference(),
        })
    });
    all.collect()
}

/// Each band's limit.
fn levels(verdict: &Verdict) -> Vec<Level> {
    let all = verdict.bands.iter().filter_map(|one| {
        let (low, high) = span(verdict, one.band)?;
        Some(Level {
            label: format!("limit {}", percent(-one.limit_percent)),
            y: -one.limit_percent,
            span: Some((low * 0.8, high * 1.25)),
        })
    });
    all.collect()
}

fn remarks(verdict: &Verdict) -> Vec<String> {
    let mut all = vec![format!(
        "Points: single rows, which explain; bands: all rows of their sizes together, which decide, with {} % intervals.",
        super::scale::short(verdict.confidence_percent)
    )];
    let lost = verdict.missing.iter().filter(|row| row.lost).count();
    if lost > 0 {
        all.push(format!(
            "{} of the baseline missing now.",
            counted(lost, "row", "rows")
        ));
    }
    if !verdict.forced.is_empty() {
        let fields = verdict
            .forced
            .iter()
            .map(|difference| difference.field.as_str());
        all.push(format!(
            "Compared although these differ: {}.",
            about::few(fields, 6)
        ));
    }
    all.extend(verdict.notes.iter().take(3).map(|note| format!("{note}.")));
    all
}
