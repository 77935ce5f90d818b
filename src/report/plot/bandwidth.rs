//! Bandwidth against message size: runs, the baseline's band, ceilings, published numbers.

use super::Plot;
use super::chart::{Band, Chart, Level, Point, Series, reference};
use super::curves::{self, real};
use super::picture::Picture;
use super::published;
use super::scale::{Measure, Scale};
use crate::base::{Fault, Placement};
use crate::record::verdict::RowVerdict;
use crate::record::{Outcome, Published, RowKey};
use crate::report::material::Material;
use std::collections::BTreeMap;

pub(super) const BUSBW: Plot = Plot {
    name: "busbw",
    summary: "bus bandwidth against message size, with the baseline's band and ceilings",
    draw: |material| draw(material, Bandwidth::Bus),
};

pub(super) const ALGBW: Plot = Plot {
    name: "algbw",
    summary: "algorithm bandwidth against message size",
    draw: |material| draw(material, Bandwidth::Algorithm),
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bandwidth {
    Bus,
    Algorithm,
}

impl Bandwidth {
    fn words(self) -> &'static str {
        match self {
            Self::Bus => "bus bandwidth",
            Self::Algorithm => "algorithm bandwidth",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bus => "busbw",
            Self::Algorithm => "algbw",
        }
    }

    fn of(self, outcome: &Outcome) -> f64 {
        match (self, outcome) {
            (Self::Bus, Outcome::Measured { busbw_gbps, .. }) => busbw_gbps.0,
            (Self::Algorithm, Outcome::Measured { algbw_gbps, .. }) => algbw_gbps.0,
            _ => 0.0,
        }
    }

    fn published(self, one: &Published) -> Option<f64> {
        match self {
            Self::Bus => one.busbw_gbps,
            Self::Algorithm => one.algbw_gbps,
        }
    }
}

fn draw(material: &Material<'_>, which: Bandwidth) -> Result<Picture, Fault> {
    let curves = curves::curves(material)?;
    let material = &curves.material;
    let (common, labels) = curves::names(material, &curves.all);
    let mut series = curves::series(&curves.all, labels, |outcome| which.of(outcome));
    let flat = flat(which, &series);
    let shown = shown_keys(&curves.all);
    let published = published::lines(material, which.words(), series.len(), |one| {
        which.published(one)
    });
    let bands = if which == Bandwidth::Bus {
        bands(material, &shown)
    } else {
        Vec::new()
    };
    if !published.lines.is_empty() || !bands.is_empty() {
        curves::name_the_nameless(material, &mut series);
    }
    series.extend(published.lines);
    curves::require_readable(series.len())?;
    let mut chart = curves::frame(material, &common, which.words(), series);
    chart.y_title = format!("{}, GB/s", which.name());
    chart.levels = levels(material);
    let measure = if material.is_logarithmic {
        Measure::Power
    } else {
        Measure::Amount
    };
    chart.y = Scale::over(measure, heights(&chart, &bands), 7);
    chart.bands = bands;
    chart.remarks.extend(curves.left_out);
    chart.remarks.extend(published.remark);
    chart.remarks.extend(flat);
    Ok(chart.picture())
}

/// A word on lines that are 0 by definition.
fn flat(which: Bandwidth, series: &[Series]) -> Option<String> {
    let mut points = series.iter().flat_map(|one| &one.points).peekable();
    let is_flat = points.peek().is_some() && points.all(|point| point.y == 0.0);
    let text = "A world of one rank moves nothing over links: its busbw is 0 whatever the time; `--kind algbw` or `--kind latency` shows it.";
    (is_flat && which == Bandwidth::Bus).then(|| text.to_owned())
}

/// Every height that must be on the axis.
fn heights(chart: &Chart, bands: &[Band]) -> Vec<f64> {
    let points = chart.series.iter().flat_map(|series| &series.points);
    let points = points.flat_map(Point::heights);
    let bands = bands
        .iter()
        .flat_map(|band| band.points.iter().map(|(_, values)| values[2]));
    let levels = chart.levels.iter().map(|level| level.y);
    points.chain(bands).chain(levels).collect()
}

fn levels(material: &Material<'_>) -> Vec<Level> {
    let levels = material.ceilings.iter().map(|ceiling| Level {
        label: match ceiling.label.as_str() {
            "" => format!("ceiling {} GB/s", super::scale::short(ceiling.gbps)),
            label => format!("{label}: {} GB/s", super::scale::short(ceiling.gbps)),
        },
        y: ceiling.gbps,
        span: None,
    });
    levels.collect()
}

/// A row's key without its size: what a curve is known by.
type CurveKey = (String, String, String, Option<u32>, Placement);

fn curve_key(key: &RowKey) -> CurveKey {
    let redop = key.redop.map_or("", |redop| redop.name()).to_owned();
    (
        key.collective.clone(),
        key.dtype.name().to_owned(),
        redop,
        key.root,
        key.placement,
    )
}

fn shown_keys(curves: &[curves::Curve<'_>]) -> Vec<CurveKey> {
    let mut keys: Vec<CurveKey> = Vec::new();
    for case in curves.iter().filter_map(curves::Curve::case) {
        let key = curve_key(&RowKey::of(case));
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The baseline's launches as bands, one for each kind of rows that is shown.
fn bands(material: &Material<'_>, shown: &[CurveKey]) -> Vec<Band> {
    let Some(verdict) = material.verdict else {
        return Vec::new();
    };
    let mut rows: BTreeMap<CurveKey, Vec<&RowVerdict>> = BTreeMap::new();
    for row in verdict
        .rows
        .iter()
        .filter(|row| row.baseline.busbw_gbps > 0.0)
    {
        rows.entry(curve_key(&row.key)).or_default().push(row);
    }
    rows.retain(|key, _| shown.contains(key));
    let is_one = rows.len() == 1;
    let bands = rows.into_iter().map(|(key, mut rows)| {
        rows.sort_by_key(|row| row.key.requested);
        let name = &verdict.baseline.name;
        let which = if is_one {
            String::new()
        } else {
            format!(" {} {} {} {}", key.0, key.1, key.2, key.4)
        };
        Band {
            label: format!(
                "baseline {name}{which} (slowest, median, fastest of {} launches)",
                verdict.baseline.launches
            ),
            points: rows.into_iter().map(band_point).collect(),
            colour: reference(),
        }
    });
    bands.collect()
}

fn band_point(row: &RowVerdict) -> (f64, [f64; 3]) {
    let side = &row.baseline;
    let at = |us: f64| {
        if us > 0.0 {
            side.busbw_gbps * side.time_us / us
        } else {
            side.busbw_gbps
        }
    };
    let values = [at(side.slowest_us), side.busbw_gbps, at(side.fastest_us)];
    (real(row.key.requested.0), values)
}
