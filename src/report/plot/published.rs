//! What others have published, as lines beside those of runs.

use super::chart::{Point, Series};
use super::curves::real;
use super::palette::Look;
use crate::record::Published;
use crate::report::material::Material;
use std::collections::{BTreeMap, BTreeSet};

/// Lines, and what must be said of what is not among them.
pub(super) struct Lines {
    pub(super) lines: Vec<Series>,
    pub(super) remark: Option<String>,
}

/// A line for each system, network and source; of the collectives that the runs have, or of all where
/// there is no run. `of` takes the quantity, which is called `what`; `first` is the first look that is free.
pub(super) fn lines(
    material: &Material<'_>,
    what: &str,
    first: usize,
    of: impl Fn(&Published) -> Option<f64>,
) -> Lines {
    let fitting: Vec<&Published> = fitting(material);
    let collectives: BTreeSet<&str> = fitting.iter().map(|one| one.collective.as_str()).collect();
    let mut groups: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let mut without = 0;
    for one in &fitting {
        let name = if collectives.len() > 1 {
            format!("{} {}", one.collective, one.name())
        } else {
            one.name()
        };
        match of(one) {
            None => without += 1,
            Some(y) => groups.entry(name).or_default().push(Point {
                x: real(one.size.0),
                y,
                range: None,
                is_wrong: false,
            }),
        }
    }
    let groups = groups.into_iter().enumerate();
    let lines: Vec<Series> = groups
        .map(|(index, (name, points))| line(first + index, &name, points))
        .collect();
    let remark = match (lines.len(), without) {
        (0, 0) if !material.published.is_empty() => {
            Some("Nothing was published on this collective.".to_owned())
        }
        (_, 0) => None,
        (_, count) => Some(format!(
            "Published without {what}, and so not shown: {count}."
        )),
    };
    Lines { lines, remark }
}

fn fitting<'a>(material: &Material<'a>) -> Vec<&'a Published> {
    let rows = material.runs.iter().flat_map(|named| &named.run.rows);
    let rows = rows.filter(|row| material.wish.takes(&row.case));
    let measured: BTreeSet<&str> = rows.map(|row| row.case.collective.as_str()).collect();
    let wished = material.wish.collective.as_deref();
    let fits = |one: &&Published| {
        let is_measured = measured.is_empty() || measured.contains(one.collective.as_str());
        is_measured && wished.is_none_or(|wished| wished == one.collective)
    };
    material.published.iter().filter(fits).collect()
}

fn line(index: usize, name: &str, mut points: Vec<Point>) -> Series {
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let is_joined = points.len() > 1;
    let look = Look {
        is_dashed: true,
        ..Look::of(index)
    };
    Series {
        label: format!("published: {name}"),
        look,
        points,
        is_joined,
    }
}
