//! Which algorithm is best for which size; pure.

use crate::record::Choice;
use std::collections::BTreeMap;
use std::fmt;

/// By how much the best must be faster than what the size before has, to be taken instead of it.
const WORTH_A_CHANGE: f64 = 0.03;

/// An algorithm with a grid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) algo: String,
    pub(super) block_threads: Option<u32>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block_threads {
            None => f.write_str(&self.algo),
            Some(threads) => write!(f, "{}/{threads}", self.algo),
        }
    }
}

/// How long a candidate took for one size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Timed {
    pub(super) collective: String,
    pub(super) bytes: u64,
    pub(super) candidate: Candidate,
    pub(super) time_us: f64,
}

/// Every collective and size with its candidates, the fastest first.
pub(super) fn ranked(timed: &[Timed]) -> Vec<(String, u64, Vec<&Timed>)> {
    let mut sizes: BTreeMap<(&str, u64), Vec<&Timed>> = BTreeMap::new();
    for one in timed {
        sizes
            .entry((&one.collective, one.bytes))
            .or_default()
            .push(one);
    }
    sizes
        .into_iter()
        .map(|((collective, bytes), mut all)| {
            all.sort_by(|a, b| a.time_us.total_cmp(&b.time_us));
            (collective.to_owned(), bytes, all)
        })
        .collect()
}

/// The choices: of each collective in ascending order of sizes, the last for all that is larger.
pub(super) fn table(timed: &[Timed]) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    for (collective, bytes, all) in ranked(timed) {
        let before = choices
            .last()
            .filter(|choice| choice.collective == collective);
        let Some(best) = pick(before, &all) else {
            continue;
        };
        let choice = Choice {
            collective,
            up_to_bytes: bytes,
            algo: best.algo.clone(),
            blocks: None,
            block_threads: best.block_threads,
        };
        match choices.last_mut() {
            Some(last) if is_the_same(last, &choice) => last.up_to_bytes = bytes,
            _ => choices.push(choice),
        }
    }
    let collectives: Vec<_> = choices.iter().map(|one| one.collective.clone()).collect();
    for (index, choice) in choices.iter_mut().enumerate() {
        if collectives.get(index + 1) != Some(&choice.collective) {
            choice.up_to_bytes = u64::MAX;
        }
    }
    choices
}

/// The fastest, unless what the size before has is about as fast.
fn pick<'a>(before: Option<&Choice>, all: &[&'a Timed]) -> Option<&'a Candidate> {
    let best = all.first()?;
    let same = all.iter().find(|one| {
        before.is_some_and(|choice| {
            choice.algo == one.candidate.algo && choice.block_threads == one.candidate.block_threads
        })
    });
    let stays = same.filter(|one| one.time_us <= best.time_us * (1.0 + WORTH_A_CHANGE));
    Some(&stays.unwrap_or(best).candidate)
}

fn is_the_same(one: &Choice, other: &Choice) -> bool {
    (&one.collective, &one.algo, one.block_threads)
        == (&other.collective, &other.algo, other.block_threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(bytes: u64, algo: &str, time_us: f64) -> Timed {
        Timed {
            collective: "allreduce".to_owned(),
            bytes,
            candidate: Candidate {
                algo: algo.to_owned(),
                block_threads: None,
            },
            time_us,
        }
    }

    #[test]
    fn each_size_has_the_fastest_and_neighbours_are_one_line() {
        let all = [
            timed(64, "ll", 5.0),
            timed(64, "twoshot", 9.0),
            timed(256, "ll", 5.1),
            timed(256, "twoshot", 9.0),
            timed(1024, "ll", 20.0),
            timed(1024, "twoshot", 9.5),
        ];
        let choices = table(&all);
        let lines: Vec<_> = choices
            .iter()
            .map(|choice| (choice.algo.as_str(), choice.up_to_bytes))
            .collect();
        assert_eq!(lines, [("ll", 256), ("twoshot", u64::MAX)]);
    }

    #[test]
    fn what_is_a_little_faster_is_no_reason_to_change() {
        let all = [
            timed(64, "ll", 5.0),
            timed(64, "put", 6.0),
            timed(256, "ll", 6.0),
            timed(256, "put", 5.9),
            timed(1024, "ll", 9.0),
            timed(1024, "put", 6.0),
        ];
        assert_eq!(table(&all)[0].up_to_bytes, 256);
        assert!(table(&[]).is_empty());
    }

    #[test]
    fn collectives_do_not_mix() {
        let mut all = vec![timed(64, "ll", 5.0), timed(64, "put", 6.0)];
        all.push(Timed {
            collective: "alltoall".to_owned(),
            ..timed(64, "put", 1.0)
        });
        let choices = table(&all);
        assert_eq!(choices.len(), 2);
        assert!(choices.iter().all(|choice| choice.up_to_bytes == u64::MAX));
    }
}
