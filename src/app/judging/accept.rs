//! From runs to a baseline: what may be called normal.

use super::launches::Side;
use crate::base::Fault;
use crate::base::Kind;
use crate::record::RowKey;
use crate::record::baseline::Launch;
use std::collections::BTreeMap;

/// Refuses what cannot be normal: wrong data, runs that were cut short, a run that is there twice, and
/// launches that did not measure the same rows.
///
/// # Errors
/// `Usage`, naming the run.
pub(super) fn check(side: &Side) -> Result<(), Fault> {
    for launch in &side.launches {
        if let Some(why) = &launch.cut_short {
            return Err(Fault::usage(format!(
                "`{}` is not whole: {why}",
                launch.run
            )));
        }
        if !launch.rows.iter().any(|row| row.measure.is_some()) {
            return Err(Fault::usage(format!(
                "`{}` has no measured row",
                launch.run
            )));
        }
    }
    crate::baseline::distinct(&side.launches)?;
    same_rows(&side.launches)
}

/// Whether a check found wrong data; the run's name.
pub(super) fn wrong(side: &Side) -> Option<&str> {
    let found = side.launches.iter().find(|launch| launch.wrong > 0);
    found.map(|launch| launch.run.as_str())
}

fn same_rows(launches: &[Launch]) -> Result<(), Fault> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let measured = |launch: &Launch| -> Vec<String> {
        let rows = launch.rows.iter().filter(|row| row.measure.is_some());
        rows.map(|row| RowKey::to_string(&row.key)).collect()
    };
    for key in launches.iter().flat_map(measured) {
        *seen.entry(key).or_default() += 1;
    }
    let partly: Vec<_> = seen
        .into_iter()
        .filter(|(_, n)| *n < launches.len())
        .collect();
    if partly.is_empty() {
        return Ok(());
    }
    let n = launches.len();
    let lines = partly
        .iter()
        .take(8)
        .map(|(key, in_n)| format!("{key}: in {in_n} of {n}"));
    Err(lines
        .fold(
            Fault::new(Kind::Unlike, "the launches did not measure the same rows"),
            Fault::detail,
        )
        .hint("accept launches of one configuration that ran to their end"))
}
