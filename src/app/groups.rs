//! The groups that the processes form (nccl-tests' `NCCL_TESTS_SPLIT`): each runs the same sweep on a
//! communicator of its own, at the same time as the others.

use crate::base::Fault;
use crate::base::Kind;
use crate::base::Rank;
use crate::base::World;
use crate::base::split::Split;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::plan::PlanSpec;
use crate::plan::Roots;

/// Which process is in which group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Groups {
    /// The colour of each process.
    colors: Vec<u64>,
    /// Ranks of each process.
    each: u32,
}

/// The groups of all processes, which must have been told the same; none where no split was asked for.
///
/// # Errors
/// `Disagree` if processes were told different splits, or as [`Bootstrap::decide`].
pub(super) fn agree(
    plane: &dyn Bootstrap,
    step: Step<'_>,
    split: Option<Split>,
    each: u32,
) -> Result<Option<Groups>, Fault> {
    plane.decide(step, &bootstrap::encode(&split)?, &one_for_all)?;
    Ok(split.map(|split| Groups::new(split, plane.members(), each)))
}

fn one_for_all(said: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    match said.iter().position(|theirs| theirs != &said[0]) {
        None => Ok(Vec::new()),
        Some(other) => Err(Fault::new(
            Kind::Disagree,
            format!("process 0 and process {other} were told different splits"),
        )
        .hint("set `NCCL_TESTS_SPLIT` and `NCCL_TESTS_SPLIT_MASK` alike for all processes")),
    }
}

impl Groups {
    /// Those of so many processes with `each` ranks.
    pub(super) fn new(split: Split, processes: usize, each: u32) -> Self {
        Self {
            colors: (0u64..)
                .take(processes)
                .map(|one| split.color(one))
                .collect(),
            each,
        }
    }

    /// The colour of a process.
    pub(super) fn color(&self, process: usize) -> u64 {
        self.colors[process]
    }

    /// How many ranks the group of a process has.
    pub(super) fn world(&self, process: usize) -> World {
        World(self.ranks(self.color(process)))
    }

    /// The first of a process's ranks, as its group counts.
    pub(super) fn first(&self, process: usize) -> Rank {
        let color = self.color(process);
        let before = self.colors[..process].iter().filter(|one| **one == color);
        Rank(before.map(|_| self.each).sum())
    }

    /// The group of each rank.
    pub(super) fn by_rank(&self) -> Vec<u64> {
        let ranks = |color: &u64| std::iter::repeat_n(*color, self.each as usize);
        self.colors.iter().flat_map(ranks).collect()
    }

    /// How many groups there are.
    pub(super) fn count(&self) -> usize {
        self.sizes().len()
    }

    /// Whether all groups can do what is planned.
    ///
    /// # Errors
    /// As [`crate::plan::check_all`]; `Usage` where the roots of groups of different sizes would differ.
    pub(super) fn check(&self, parts: &[PlanSpec]) -> Result<(), Fault> {
        let sizes = self.sizes();
        let is_even = sizes.windows(2).all(|pair| pair[0] == pair[1]);
        let all_roots = |spec: &PlanSpec| spec.roots == Roots::All && spec.collective.uses().root;
        if !is_even && parts.iter().any(all_roots) {
            return Err(Fault::usage(
                "groups of different sizes cannot take all their ranks as roots in step",
            )
            .hint("give one root with `-r`"));
        }
        let mut worlds = sizes.into_iter().map(World);
        worlds.try_for_each(|world| crate::plan::check_all(parts, world))
    }

    /// The number of ranks of each group, in the order of colours.
    fn sizes(&self) -> Vec<u32> {
        let mut colors = self.colors.clone();
        colors.sort_unstable();
        colors.dedup();
        colors.into_iter().map(|color| self.ranks(color)).collect()
    }

    /// How many ranks are of a colour.
    fn ranks(&self, color: u64) -> u32 {
        let of_color = self.colors.iter().filter(|one| **one == color);
        of_color.map(|_| self.each).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(split: &str, processes: usize, each: u32) -> Groups {
        Groups::new(Split::parse(split).unwrap(), processes, each)
    }

    #[test]
    fn processes_count_their_ranks_within_their_group() {
        let groups = groups("MOD 2", 5, 3);
        let places: Vec<_> = (0..5)
            .map(|process| {
                (
                    groups.color(process),
                    groups.first(process).0,
                    groups.world(process).0,
                )
            })
            .collect();
        assert_eq!(
            places,
            [(0, 0, 9), (1, 0, 6), (0, 3, 9), (1, 3, 6), (0, 6, 9)]
        );
        assert_eq!(groups.count(), 2);
        assert_eq!(groups.by_rank()[..6], [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn splits_that_differ_are_refused() {
        let said = [Some(Split::parse("MOD 2").unwrap()), None];
        let said = said.map(|one| bootstrap::encode(&one).unwrap());
        assert!(one_for_all(&said[..1]).is_ok());
        let fault = one_for_all(&said).unwrap_err();
        assert_eq!(fault.kind, Kind::Disagree);
    }
}
