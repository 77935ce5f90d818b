//! Runs of several arms to rows side by side; pure.

use crate::plan::PlanSpec;
use crate::record::Outcome;
use crate::record::Row;
use crate::record::RowKey;
use crate::record::Run;
use crate::record::contrast::Arm;
use crate::record::contrast::ArmRecord;
use crate::record::contrast::ContrastRecord;
use crate::record::contrast::ContrastRow;
use crate::record::path::Verdict;

/// Lays the arms' runs side by side.
pub(super) fn record(plan: &PlanSpec, rounds: u32, runs: Vec<(Arm, Vec<Run>)>) -> ContrastRecord {
    let rows = rows(&runs);
    let arms: Vec<ArmRecord> = runs
        .into_iter()
        .map(|(arm, runs)| of_arm(arm, &runs))
        .collect();
    ContrastRecord {
        collective: plan.collective.name().to_owned(),
        rounds,
        notes: notes(&arms),
        arms,
        rows,
    }
}

/// The verdict of an arm is the worst of its runs'.
fn of_arm(arm: Arm, runs: &[Run]) -> ArmRecord {
    let paths = runs
        .iter()
        .filter_map(|run| run.footer.as_ref()?.path.as_ref());
    let path = paths.max_by_key(|path| path.verdict).cloned();
    ArmRecord {
        arm,
        verdict: path.as_ref().map(|path| path.verdict),
        path,
        runs: runs.len(),
    }
}

/// Every row that any arm has, in the order in which they were measured.
fn rows(runs: &[(Arm, Vec<Run>)]) -> Vec<ContrastRow> {
    let mut keys: Vec<(RowKey, u64)> = Vec::new();
    for row in runs
        .iter()
        .flat_map(|(_, runs)| runs)
        .flat_map(|run| &run.rows)
    {
        let key = RowKey::of(&row.case);
        if !keys.iter().any(|(known, _)| *known == key) {
            keys.push((key, row.case.size.0));
        }
    }
    keys.into_iter()
        .map(|(key, size)| row(runs, key, size))
        .collect()
}

fn row(runs: &[(Arm, Vec<Run>)], key: RowKey, size: u64) -> ContrastRow {
    let of_arm = |(_, runs): &(Arm, Vec<Run>)| {
        let rows = runs.iter().flat_map(|run| &run.rows);
        let same = rows.filter(|row| RowKey::of(&row.case) == key);
        median(same.filter_map(figures).collect())
    };
    let figures: Vec<Option<(f64, f64)>> = runs.iter().map(of_arm).collect();
    let time_us: Vec<Option<f64>> = figures.iter().map(|one| Some((*one)?.0)).collect();
    let first = time_us.first().copied().flatten();
    let ratio = |time: &Option<f64>| Some((*time)? / first.filter(|first| *first > 0.0)?);
    ContrastRow {
        key,
        size,
        ratio: time_us.iter().map(ratio).collect(),
        time_us,
        busbw_gbps: figures.iter().map(|one| Some((*one)?.1)).collect(),
    }
}

/// Time and bus bandwidth of a row that was measured.
fn figures(row: &Row) -> Option<(f64, f64)> {
    match &row.outcome {
        Outcome::Measured {
            time_us,
            busbw_gbps,
            ..
        } => Some((time_us.0, busbw_gbps.0)),
        Outcome::Waived { .. } => None,
    }
}

/// The one in the middle by time; of two, the longer.
fn median(mut figures: Vec<(f64, f64)>) -> Option<(f64, f64)> {
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    figures.get(figures.len() / 2).copied()
}

fn notes(arms: &[ArmRecord]) -> Vec<String> {
    let verdicts: Vec<Verdict> = arms.iter().filter_map(|arm| arm.verdict).collect();
    let mut notes = Vec::new();
    let same = verdicts.windows(2).all(|pair| pair[0] == pair[1]);
    let differing = arms.iter().any(|arm| arm.arm.set.contains_key("NCCL_NET"));
    if let Some(verdict) = verdicts
        .first()
        .filter(|_| same && differing && verdicts.len() > 1)
    {
        notes.push(format!(
            "all arms took the same path, {verdict}: nothing is shown about another"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_two_is_the_longer_and_of_none_is_none() {
        assert_eq!(
            median(vec![(3.0, 1.0), (1.0, 3.0), (2.0, 2.0)]),
            Some((2.0, 2.0))
        );
        assert_eq!(median(vec![(3.0, 1.0), (1.0, 3.0)]), Some((3.0, 1.0)));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn arms_that_took_one_path_say_nothing_about_another() {
        let arm = |verdict, net: &[(&str, &str)]| ArmRecord {
            arm: Arm {
                set: net
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                ..Arm::default()
            },
            verdict: Some(verdict),
            path: None,
            runs: 1,
        };
        let off = [("NCCL_NET", "Socket")];
        let same = [arm(Verdict::Socket, &[]), arm(Verdict::Socket, &off)];
        assert!(notes(&same)[0].contains("the same path, SOCKET"));
        assert!(notes(&[arm(Verdict::Efa, &[]), arm(Verdict::Socket, &off)]).is_empty());
        assert!(notes(&[arm(Verdict::Efa, &[]), arm(Verdict::Efa, &[])]).is_empty());
    }
}
