//! Time of one operation against message size, both by powers.

use super::Plot;
use super::chart::Point;
use super::curves;
use super::picture::Picture;
use super::published;
use super::scale::{Measure, Scale};
use crate::base::Fault;
use crate::record::Outcome;
use crate::report::material::Material;

pub(super) const PLOT: Plot = Plot {
    name: "latency",
    summary: "time of one operation against message size, both axes logarithmic",
    draw,
};

fn draw(material: &Material<'_>) -> Result<Picture, Fault> {
    let curves = curves::curves(material)?;
    let material = &curves.material;
    let (common, labels) = curves::names(material, &curves.all);
    let mut series = curves::series(&curves.all, labels, time);
    let published = published::lines(material, "a time", series.len(), |one| one.time_us);
    if !published.lines.is_empty() {
        curves::name_the_nameless(material, &mut series);
    }
    series.extend(published.lines);
    curves::require_readable(series.len())?;
    let mut chart = curves::frame(material, &common, "time of one operation", series);
    chart.y_title = format!("time of one operation ({})", over_ranks(material));
    let points = chart.series.iter().flat_map(|series| &series.points);
    let heights: Vec<f64> = points.flat_map(Point::heights).collect();
    chart.y = Scale::over(Measure::Time, heights, 7);
    chart.remarks.extend(curves.left_out);
    chart.remarks.extend(published.remark);
    Ok(chart.picture())
}

fn time(outcome: &Outcome) -> f64 {
    match outcome {
        Outcome::Measured { time_us, .. } => time_us.0,
        Outcome::Waived { .. } => 0.0,
    }
}

/// How the time combines ranks, where all runs do it alike.
fn over_ranks(material: &Material<'_>) -> String {
    let mut averages = material
        .runs
        .iter()
        .map(|named| named.run.header.average.as_str());
    let first = averages.next().unwrap_or_default();
    let words = match first {
        "" => "as published",
        "rank0" => "of rank 0",
        "min" => "of the fastest rank",
        "max" => "of the slowest rank",
        _ => "mean over ranks",
    };
    let is_same = averages.all(|average| average == first);
    if is_same {
        words.to_owned()
    } else {
        "over ranks as each run says".to_owned()
    }
}
