//! The rows of runs as curves over message size.

use super::MOST_LINES;
use super::chart::{Chart, Point, Series};
use super::palette::Look;
use super::scale::{Measure, Scale};
use crate::base::counted;
use crate::base::{Fault, Placement};
use crate::record::{Case, Header, Outcome, Row};
use crate::report::about;
use crate::report::material::{Material, Named};
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// What the rows of a curve have in common, in the order in which names are put together.
type Traits = [String; 6];

/// Rows of one run that differ in size and repetition only.
#[derive(Debug, Clone)]
pub(super) struct Curve<'a> {
    /// Run, collective, datatype, operator, root, placement.
    traits: Traits,
    /// The measured rows by the size that was asked for.
    pub(super) rows: BTreeMap<u64, Vec<&'a Row>>,
}

impl<'a> Curve<'a> {
    /// The run, by its place among those that were given.
    fn run(&self) -> usize {
        self.traits[0].parse().unwrap_or(0)
    }

    /// A case of it.
    pub(super) fn case(&self) -> Option<&'a Case> {
        self.rows.values().flatten().next().map(|row| &row.case)
    }
}

/// The curves of a plot.
#[derive(Debug)]
pub(super) struct Curves<'a> {
    /// Them, in the order of their first rows.
    pub(super) all: Vec<Curve<'a>>,
    /// What was left out so that the plot can be read.
    pub(super) left_out: Option<String>,
    /// The material without the runs and the placement that are not shown.
    pub(super) material: Material<'a>,
}

/// The curves of everything that is wished for.
///
/// # Errors
/// `Usage` if nothing was measured, or if there are more than can be read.
pub(super) fn curves<'a>(material: &Material<'a>) -> Result<Curves<'a>, Fault> {
    let mut material = material.clone();
    let wish = material.wish.clone();
    material
        .runs
        .retain(|named| named.run.rows.iter().any(|row| wish.takes(&row.case)));
    let mut all = sorted(&material);
    let left_out = without_in_place(&material, &mut all);
    if left_out.is_some() {
        material.wish.placement = Some(Placement::OutOfPlace);
    }
    let is_alone = material.runs.is_empty() && !material.published.is_empty();
    match all.len() {
        0 if is_alone => Ok(Curves {
            all,
            left_out,
            material,
        }),
        0 => Err(nothing(&material)),
        1..=MOST_LINES => Ok(Curves {
            all,
            left_out,
            material,
        }),
        count => Err(too_many(count, &all)),
    }
}

fn sorted<'a>(material: &Material<'a>) -> Vec<Curve<'a>> {
    let mut all: Vec<Curve<'a>> = Vec::new();
    let mut places: BTreeMap<Traits, usize> = BTreeMap::new();
    for (index, Named { run, .. }) in material.runs.iter().enumerate() {
        let rows = run.rows.iter().filter(|row| material.wish.takes(&row.case));
        for row in rows.filter(|row| matches!(row.outcome, Outcome::Measured { .. })) {
            let traits = traits(index, &row.case);
            let place = *places.entry(traits.clone()).or_insert_with(|| {
                all.push(Curve {
                    traits,
                    rows: BTreeMap::new(),
                });
                all.len() - 1
            });
            all[place]
                .rows
                .entry(row.case.requested.0)
                .or_default()
                .push(row);
        }
    }
    all
}

/// In-place rows are left out where there are others and nobody asked for them: the two lie so close
/// together that they hide each other.
fn without_in_place(material: &Material<'_>, all: &mut Vec<Curve<'_>>) -> Option<String> {
    let is_apart = |curve: &Curve<'_>| curve.traits[5] == Placement::OutOfPlace.to_string();
    let (before, apart) = (
        all.len(),
        all.iter().filter(|curve| is_apart(curve)).count(),
    );
    let was_chosen = material.wish.placement.is_some() || material.wish.both_placements;
    if was_chosen || apart == 0 || apart == before {
        return None;
    }
    all.retain(is_apart);
    Some("Out-of-place rows; `--placement in-place` or `both` shows the others.".to_owned())
}

fn traits(run: usize, case: &Case) -> Traits {
    let redop = case
        .redop
        .map_or(String::new(), |redop| redop.name().to_owned());
    let root = case
        .root
        .map_or(String::new(), |root| format!("root {root}"));
    [
        format!("{run:06}"),
        case.collective.clone(),
        case.dtype.name().to_owned(),
        redop,
        root,
        case.placement.to_string(),
    ]
}

fn nothing(material: &Material<'_>) -> Fault {
    let rows: usize = material.runs.iter().map(|named| named.run.rows.len()).sum();
    let fault = Fault::usage("there is nothing to draw: no row that is asked for was measured");
    match rows {
        0 => fault.detail("the runs have no rows"),
        _ => fault
            .detail(format!("the runs have {}", counted(rows, "row", "rows")))
            .hint("look at the rows with `ncclbench report --format md`"),
    }
}

/// Refuses more lines than a reader can tell apart.
///
/// # Errors
/// `Usage`.
pub(super) fn require_readable(lines: usize) -> Result<(), Fault> {
    if lines <= MOST_LINES {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "{lines} lines are more than a reader can tell apart; at most {MOST_LINES}"
    ))
    .hint("choose by `--collective`, `--dtype`, `--redop`, `--placement` or `--size`"))
}

fn too_many(count: usize, curves: &[Curve<'_>]) -> Fault {
    const OPTIONS: [&str; 6] = ["", "--collective", "--dtype", "--redop", "", "--placement"];
    let mut fault = Fault::usage(format!(
        "{count} lines are more than a reader can tell apart; at most {MOST_LINES}"
    ));
    for (place, option) in OPTIONS.iter().enumerate() {
        let values: BTreeSet<&str> = curves
            .iter()
            .map(|curve| curve.traits[place].as_str())
            .collect();
        if values.len() > 1 && !option.is_empty() {
            let values = about::few(values.iter().copied(), 6);
            fault = fault.hint(format!("choose by `{option}`, one of {values}"));
        }
    }
    fault
}

/// A run's name, and whether its numbers count.
fn label(named: &Named<'_>) -> String {
    match about::stamp(&named.run.header) {
        Some(stamp) => format!("{} ({stamp})", named.label),
        None => named.label.clone(),
    }
}

/// What all curves have in common in words, and what each is called besides.
pub(super) fn names(material: &Material<'_>, curves: &[Curve<'_>]) -> (String, Vec<String>) {
    let differs = |place: usize| {
        let mut values = curves.iter().map(|curve| &curve.traits[place]);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let words = |curve: &Curve<'_>, differing: bool| {
        let chosen = (0..6).filter(|&place| differs(place) == differing);
        let words = chosen.filter_map(|place| match place {
            0 if differing => Some(label(&material.runs[curve.run()])),
            0 => None,
            _ => Some(curve.traits[place].clone()).filter(|word| !word.is_empty()),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let common = curves
        .first()
        .map_or(String::new(), |curve| words(curve, false));
    (
        common,
        curves.iter().map(|curve| words(curve, true)).collect(),
    )
}

/// Gives a run's name to a line that needed none while it was alone.
pub(super) fn name_the_nameless(material: &Material<'_>, series: &mut [Series]) {
    for one in series.iter_mut().filter(|one| one.label.is_empty()) {
        if let Some(named) = material.runs.first() {
            one.label = label(named);
        }
    }
}

/// A line for each curve, with the value that `of` takes from a measurement.
pub(super) fn series(
    curves: &[Curve<'_>],
    labels: Vec<String>,
    of: impl Fn(&Outcome) -> f64,
) -> Vec<Series> {
    let lines = curves.iter().zip(labels).enumerate();
    lines
        .map(|(index, (curve, label))| Series {
            label,
            look: Look::of(index),
            points: curve
                .rows
                .iter()
                .map(|(size, rows)| point(*size, rows, &of))
                .collect(),
            is_joined: true,
        })
        .collect()
}

/// The median of a size's repetitions, with the smallest and the largest.
fn point(size: u64, rows: &[&Row], of: &impl Fn(&Outcome) -> f64) -> Point {
    let mut values: Vec<f64> = rows.iter().map(|row| of(&row.outcome)).collect();
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let middle = f64::midpoint(values[(count - 1) / 2], values[count / 2]);
    Point {
        x: real(size),
        y: middle,
        range: (count > 1).then(|| (values[0], values[count - 1])),
        is_wrong: rows.iter().any(|row| row.is_wrong()),
    }
}

/// A size as a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 bytes is past any message size"
)]
pub(super) fn real(size: u64) -> f64 {
    size as f64
}

/// Where, when and with which versions runs were made.
fn subtitles(headers: &[&Header]) -> Vec<String> {
    if headers.is_empty() {
        return vec![
            "Published numbers, for orientation: the software behind them differs.".to_owned(),
        ];
    }
    let versions = about::common(headers, "sets of versions", about::versions);
    vec![
        about::common(headers, "places", about::place),
        format!("{} · {versions}", about::moments(headers)),
    ]
}

/// A chart with everything that follows from the runs alone; `what` is the quantity.
pub(super) fn frame(
    material: &Material<'_>,
    common: &str,
    what: &str,
    series: Vec<Series>,
) -> Chart {
    let headers: Vec<&Header> = material
        .runs
        .iter()
        .map(|named| &named.run.header)
        .collect();
    let title = material.title.clone();
    let stamp = about::stamps(&headers);
    Chart {
        title: title.unwrap_or_else(|| match common {
            "" => what.to_owned(),
            common => format!("{common}: {what}"),
        }),
        subtitles: subtitles(&headers),
        stamp,
        x: Scale::over(
            Measure::Size,
            series
                .iter()
                .flat_map(|one| one.points.iter().map(|point| point.x)),
            9,
        ),
        x_title: "message size for each rank".to_owned(),
        y: Scale::over(Measure::Amount, [], 7),
        y_title: String::new(),
        bands: Vec::new(),
        levels: Vec::new(),
        uprights: Vec::new(),
        series,
        remarks: remarks(material),
    }
}

/// What the lines do not show.
pub(super) fn remarks(material: &Material<'_>) -> Vec<String> {
    let mut all = of_runs(material);
    let (mut wrong, mut reasons) = (0, BTreeMap::<&str, usize>::new());
    let rows = material.runs.iter().flat_map(|named| &named.run.rows);
    for row in rows.filter(|row| material.wish.takes(&row.case)) {
        wrong += usize::from(row.is_wrong());
        if let Outcome::Waived { reason } = &row.outcome {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    if wrong > 0 {
        let rows = counted(wrong, "row", "rows");
        all.insert(0, format!("× marks wrong data: {rows}."));
    }
    let count: usize = reasons.values().sum();
    if let Some(reason) = reasons.keys().next() {
        let more = if reasons.len() > 1 {
            " (and other reasons)"
        } else {
            ""
        };
        let rows = counted(count, "row", "rows");
        all.push(format!("{rows} waived: {reason}{more}."));
    }
    all
}

/// What must be known of runs as a whole, the same once for all that it is true of.
fn of_runs(material: &Material<'_>) -> Vec<String> {
    const MOST: usize = 5;
    let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
    for Named { label, run } in &material.runs {
        for remark in about::remarks(run).into_iter().take(2) {
            match texts.iter_mut().find(|(text, _)| *text == remark) {
                Some((_, labels)) => labels.push(label),
                None => texts.push((remark, vec![label])),
            }
        }
    }
    let more = texts.len().saturating_sub(MOST);
    texts.truncate(MOST);
    let tell = |(text, labels): (String, Vec<&str>)| {
        if labels.len() == material.runs.len() {
            format!("{text}.")
        } else {
            format!("{}: {text}.", about::few(labels.into_iter(), 3))
        }
    };
    let mut all: Vec<String> = texts.into_iter().map(tell).collect();
    if more > 0 {
        all.push(format!(
            "{} more about single runs.",
            counted(more, "remark", "remarks")
        ));
    }
    all
}
