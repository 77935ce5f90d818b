//! A figure over time, with its lasting steps.

use super::Plot;
use super::chart::{Chart, Point, Series, Upright};
use super::palette::Look;
use super::picture::Picture;
use super::scale::{Measure, Scale, percent};
use crate::base::counted;
use crate::base::moment;
use crate::base::{Bytes, Fault, Placement};
use crate::record::history::{self, SeriesOf};
use crate::record::{Header, Outcome, RowKey};
use crate::report::about;
use crate::report::material::{Material, Named};
use std::collections::HashMap;

pub(super) const PLOT: Plot = Plot {
    name: "history",
    summary: "speed or bandwidth over time, with lasting steps",
    draw,
};

/// Rows that are followed where nobody chose.
const FOLLOWED: usize = 4;

fn draw(material: &Material<'_>) -> Result<Picture, Fault> {
    let all = shown(material)?;
    let is_band = matches!(all[0].of, SeriesOf::Band(_));
    let lines: Vec<Series> = all
        .iter()
        .enumerate()
        .map(|(index, one)| line(index, one))
        .collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    let runs = material.runs.iter().filter(|named| {
        all.iter()
            .any(|one| one.points.iter().any(|point| point.run == named.label))
    });
    let headers: Vec<&Header> = runs.map(|named| &named.run.header).collect();
    let what = match &all[..] {
        _ if is_band => "speed of each band over time".to_owned(),
        [only] => format!("{}: bandwidth over time", line(0, only).label),
        _ => "bandwidth over time".to_owned(),
    };
    let mut heights: Vec<f64> = points().map(|point| point.y).collect();
    if is_band {
        heights.push(100.0);
    }
    let chart = Chart {
        title: material
            .title
            .clone()
            .unwrap_or_else(|| match material.verdict {
                Some(verdict) => format!("{what}, baseline {}", verdict.baseline.name),
                None => what,
            }),
        subtitles: vec![
            about::common(&headers, "places", about::place),
            format!(
                "{} · {}",
                spanned(&all),
                about::common(&headers, "sets of versions", about::versions)
            ),
        ],
        stamp: about::stamps(&headers),
        x: Scale::over(Measure::Date, points().map(|point| point.x), 6),
        x_title: "start of the run, UTC".to_owned(),
        y: height(&heights),
        y_title: if is_band {
            "speed, % of the baseline"
        } else {
            unit(material)
        }
        .to_owned(),
        bands: Vec::new(),
        levels: Vec::new(),
        uprights: uprights(&all),
        series: lines,
        remarks: remarks(&all),
    };
    Ok(chart.picture())
}

/// The series to draw: those of one unit, the bands before the rows.
fn shown(material: &Material<'_>) -> Result<Vec<history::Series>, Fault> {
    let given = if material.history.is_empty() {
        series_of(material)
    } else {
        material.history.clone()
    };
    let is_band = |one: &history::Series| matches!(one.of, SeriesOf::Band(_));
    let (bands, rows): (Vec<_>, Vec<_>) = given.into_iter().partition(is_band);
    let chosen = if bands.is_empty() { rows } else { bands };
    let chosen: Vec<_> = chosen
        .into_iter()
        .filter(|one| !one.points.is_empty())
        .collect();
    if chosen.is_empty() {
        return Err(Fault::usage(
            "there is nothing to draw: no row was measured by two of the runs",
        )
        .hint("give the runs of several days"));
    }
    super::curves::require_readable(chosen.len())?;
    Ok(chosen)
}

/// Bandwidth of rows over the runs: those of the wished size, else the largest size of each kind of rows.
pub fn series_of(material: &Material<'_>) -> Vec<history::Series> {
    let mut all: Vec<history::Series> = Vec::new();
    let mut places: HashMap<RowKey, usize> = HashMap::new();
    let mut runs: Vec<&Named<'_>> = material.runs.iter().collect();
    runs.sort_by(|a, b| a.run.header.started.cmp(&b.run.header.started));
    for named in runs {
        let rows = named
            .run
            .rows
            .iter()
            .filter(|row| material.wish.takes(&row.case));
        for row in rows {
            let Outcome::Measured {
                busbw_gbps,
                algbw_gbps,
                ..
            } = &row.outcome
            else {
                continue;
            };
            let key = RowKey::of(&row.case);
            let place = *places.entry(key.clone()).or_insert_with(|| {
                all.push(history::Series {
                    of: SeriesOf::Row(key),
                    points: Vec::new(),
                    change_points: Vec::new(),
                    z: None,
                    alarm: false,
                });
                all.len() - 1
            });
            let value = if row.case.bus_factor > 0.0 {
                busbw_gbps.0
            } else {
                algbw_gbps.0
            };
            let (at, run) = (named.run.header.started.clone(), named.label.clone());
            all[place].points.push(history::Point {
                at,
                run,
                value,
                judged: false,
            });
        }
    }
    all.retain(|series| series.points.len() > 1);
    largest(material, all)
}

/// The largest size of each kind of rows, out of place where nobody chose, and few of them.
fn largest(material: &Material<'_>, all: Vec<history::Series>) -> Vec<history::Series> {
    let mut best: Vec<history::Series> = Vec::new();
    let has_size = material.wish.requested.is_some();
    for series in all {
        let SeriesOf::Row(key) = &series.of else {
            continue;
        };
        if material.wish.placement.is_none() && key.placement == Placement::InPlace {
            continue;
        }
        let alike = |other: &history::Series| match &other.of {
            SeriesOf::Row(other) => {
                RowKey {
                    requested: key.requested,
                    ..other.clone()
                } == *key
            }
            SeriesOf::Band(_) => false,
        };
        match best.iter_mut().find(|other| alike(other)) {
            Some(other) if !has_size && size(other) < size(&series) => *other = series,
            Some(_) if !has_size => {}
            _ => best.push(series),
        }
    }
    if !has_size {
        best.truncate(FOLLOWED);
    }
    best
}

fn size(series: &history::Series) -> Bytes {
    match &series.of {
        SeriesOf::Row(key) => key.requested,
        SeriesOf::Band(_) => Bytes(0),
    }
}

fn line(index: usize, series: &history::Series) -> Series {
    let label = match &series.of {
        SeriesOf::Band(band) => format!("{} band", band.name()),
        SeriesOf::Row(key) => key.to_string(),
    };
    let points = series.points.iter().map(|point| Point {
        x: date(&point.at),
        y: point.value,
        range: None,
        is_wrong: false,
    });
    let alarm = if series.alarm { " (alarm)" } else { "" };
    Series {
        label: label + alarm,
        look: Look::of(index),
        points: points.collect(),
        is_joined: true,
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970")]
fn date(text: &str) -> f64 {
    // what was not written by this program has no place in time
    moment::seconds_of(text).map_or(f64::NAN, |seconds| seconds as f64)
}

/// From 0 where that does not flatten everything.
fn height(values: &[f64]) -> Scale {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if high > 0.0 && low / high > 0.6 {
        Scale::over(Measure::Near, values.iter().copied(), 7)
    } else {
        Scale::over(Measure::Amount, values.iter().copied(), 7)
    }
}

/// A world of one has no busbw; what is followed there is algbw.
fn unit(material: &Material<'_>) -> &'static str {
    let headers = || material.runs.iter().map(|named| &named.run.header);
    match headers().filter(|header| header.seats.len() == 1).count() {
        0 => "busbw, GB/s",
        count if count == material.runs.len() => "algbw, GB/s",
        _ => "busbw, GB/s; algbw in worlds of one",
    }
}

fn spanned(all: &[history::Series]) -> String {
    let moments = all
        .iter()
        .flat_map(|series| series.points.iter().map(|point| point.at.as_str()));
    let day = |text: &str| text.get(..10).unwrap_or(text).to_owned();
    let (first, last) = (moments.clone().min(), moments.max());
    let count = all
        .iter()
        .map(|series| series.points.len())
        .max()
        .unwrap_or(0);
    let runs = counted(count, "run", "runs");
    match (first, last) {
        (Some(first), Some(last)) if day(first) != day(last) => {
            format!("{runs}, {} to {}", day(first), day(last))
        }
        (Some(first), _) => format!("{runs}, {}", day(first)),
        _ => runs,
    }
}

fn uprights(all: &[history::Series]) -> Vec<Upright> {
    let steps = all.iter().flat_map(|series| {
        series.change_points.iter().filter_map(|step| {
            let point = series.points.get(step.index as usize)?;
            Some(Upright {
                label: percent(step.change_percent),
                x: date(&point.at),
            })
        })
    });
    steps.collect()
}

fn remarks(all: &[history::Series]) -> Vec<String> {
    let mut texts = Vec::new();
    let steps: usize = all.iter().map(|series| series.change_points.len()).sum();
    if steps > 0 {
        texts.push(
            "Dashed uprights: lasting steps, with the change of the median in percent.".to_owned(),
        );
    }
    let chances = all
        .iter()
        .flat_map(|series| series.change_points.iter().map(|step| step.p));
    let largest = chances.fold(f64::NEG_INFINITY, f64::max);
    if largest.is_finite() {
        texts.push(format!(
            "Chance of so clear a step where there is none: at most {}.",
            super::scale::short(largest)
        ));
    }
    texts
}
