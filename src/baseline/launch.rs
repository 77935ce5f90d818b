//! From a run to what a comparison needs of it: a launch.

use crate::base::stats::order::mean;
use crate::record::baseline::{Launch, LaunchRow, Measure};
use crate::record::{Header, Outcome, Row, RowKey, Run};
use std::collections::HashMap;

/// How many repetitions of a row a launch keeps; more are averaged by neighbours.
const MOST_REPETITIONS: usize = 32;

/// Puts a launch together, row by row.
#[derive(Debug)]
pub struct Builder {
    launch: Launch,
    places: HashMap<RowKey, usize>,
}

impl Builder {
    /// Of a run whose file is called `run`.
    pub fn new(run: &str, started: &str) -> Self {
        Self {
            launch: Launch {
                run: run.to_owned(),
                started: started.to_owned(),
                rows: Vec::new(),
                wrong: 0,
                cut_short: None,
            },
            places: HashMap::new(),
        }
    }

    /// Counts a row in. Rows with an equal key are repetitions; one that could not be measured takes the
    /// others along, because a figure of the rest would not be like the baseline's.
    pub fn row(&mut self, row: LaunchRow, is_wrong: bool) {
        self.launch.wrong += u32::from(is_wrong);
        let rows = &mut self.launch.rows;
        let Some(&place) = self.places.get(&row.key) else {
            self.places.insert(row.key.clone(), rows.len());
            rows.push(row);
            return;
        };
        let kept = &mut rows[place];
        if let (Some(kept), Some(more)) = (&mut kept.measure, row.measure) {
            kept.max_us.extend(more.max_us);
            kept.mean_us.extend(more.mean_us);
        } else {
            kept.measure = None;
            kept.waived = kept.waived.take().or(row.waived);
        }
    }

    /// The launch; `cut_short` says why it is not whole, where it is not.
    pub fn finish(mut self, cut_short: Option<String>) -> Launch {
        for measure in self
            .launch
            .rows
            .iter_mut()
            .filter_map(|row| row.measure.as_mut())
        {
            measure.max_us = blocks(std::mem::take(&mut measure.max_us));
            measure.mean_us = blocks(std::mem::take(&mut measure.mean_us));
        }
        self.launch.cut_short = cut_short;
        self.launch
    }
}

/// Neighbours are averaged until few enough values are left.
fn blocks(values: Vec<f64>) -> Vec<f64> {
    if values.len() <= MOST_REPETITIONS {
        return values;
    }
    let length = values.len().div_ceil(MOST_REPETITIONS);
    values.chunks(length).filter_map(mean).collect()
}

/// The launch of a run that was read whole.
pub fn of_run(name: &str, run: &Run) -> Launch {
    let mut builder = Builder::new(name, &run.header.started);
    let known = known(&run.header);
    for row in &run.rows {
        builder.row(of_row(row, known), row.is_wrong());
    }
    builder.finish(cut_short(run))
}

fn cut_short(run: &Run) -> Option<String> {
    match &run.footer {
        None => Some("its file has no end: the run was killed or is still going on".to_owned()),
        Some(footer) => footer.fault.clone(),
    }
}

/// Which times over ranks a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Those of every rank were there when it was digested.
    Both,
    /// An imported log whose times are the largest over ranks.
    Max,
    /// An imported log whose times are means over ranks.
    Mean,
    /// An imported log whose times are something else: nothing to compare by.
    Neither,
}

/// Which times over ranks a run has: an imported log has what its program printed, and no other.
pub fn known(header: &Header) -> Known {
    match (header.launcher.as_str(), header.average.as_str()) {
        ("import", "max") => Known::Max,
        ("import", "mean") => Known::Mean,
        ("import", _) => Known::Neither,
        _ => Known::Both,
    }
}

/// A row of a launch.
pub fn of_row(row: &Row, known: Known) -> LaunchRow {
    let (measure, waived) = match &row.outcome {
        Outcome::Measured { time, .. } => {
            let sampling = row.quality.sampling.as_ref();
            let batches = sampling.map_or(&[][..], |sampling| &sampling.batch_us);
            of_times(batches, time.max_us, time.mean_us, known)
        }
        Outcome::Waived { reason } => (None, Some(reason.clone())),
    };
    LaunchRow {
        key: RowKey::of(&row.case),
        algo_bytes: row.case.algo_bytes,
        bus_factor: row.case.bus_factor,
        measure,
        waived,
    }
}

/// What a launch keeps of a row's times: of each batch where there are several, else of the loop.
///
/// A time of nothing, or one that is no number, is no measurement.
pub fn of_times(
    batches: &[f64],
    max_us: f64,
    mean_us: f64,
    known: Known,
) -> (Option<Measure>, Option<String>) {
    let slowest = if batches.is_empty() {
        &[max_us]
    } else {
        batches
    };
    let keep = |are_known: bool, times: &[f64]| {
        if are_known {
            times.to_vec()
        } else {
            Vec::new()
        }
    };
    let measure = Measure {
        max_us: keep(matches!(known, Known::Both | Known::Max), slowest),
        mean_us: keep(matches!(known, Known::Both | Known::Mean), &[mean_us]),
    };
    let usable = |time: &f64| time.is_finite() && *time > 0.0;
    if !measure.max_us.iter().chain(&measure.mean_us).all(usable) {
        return (None, Some("its time is not above zero".to_owned()));
    }
    if known == Known::Neither {
        let why = "neither the largest nor the mean time over ranks is known";
        return (None, Some(why.to_owned()));
    }
    (Some(measure), None)
}
