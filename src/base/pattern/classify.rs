//! What probably happened to wrong elements, by making again what else could stand there.
//!
//! Narrow datatypes have few values, so that one element often fits several explanations; an
//! explanation counts by how many of the elements it fits.

use super::check::stretch_of;
use super::lanes::Lanes;
use super::{
    Recipe, SEED_STEP, Source, Stretch, expected_bits, input_bits, mulsum_scalar_bits, poison_bits,
};
use crate::base::arith::{divide_by, reciprocal_bits, reduce_into, scale};
use crate::base::{Rank, RedOp};
use std::collections::BTreeMap;
use std::fmt;

/// What probably happened to an element. The order is that of preference between explanations that
/// fit equally well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing was written.
    Unwritten,
    /// One bit is wrong.
    BitFlip {
        /// Which.
        bit: u32,
    },
    /// A rank's share is not in the reduction.
    Missing {
        /// Whose.
        rank: Rank,
    },
    /// A rank's share is in the reduction twice.
    Doubled {
        /// Whose.
        rank: Rank,
    },
    /// A rank's input as it was sent: nothing was reduced, or the wrong rank was copied.
    InputOf {
        /// Whose.
        rank: Rank,
    },
    /// The right element of an earlier check.
    Stale {
        /// How many checks ago.
        checks: u64,
    },
    /// The right element of another place.
    Shifted {
        /// Where that is, relative to where it was found, in elements.
        by: i64,
    },
    /// None of these.
    Other,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwritten => f.write_str("unwritten"),
            Self::BitFlip { bit } => write!(f, "bit flip (bit {bit})"),
            Self::Missing { rank } => write!(f, "missing rank {rank}"),
            Self::Doubled { rank } => write!(f, "rank {rank} twice"),
            Self::InputOf { rank } => write!(f, "input of rank {rank}"),
            Self::Stale { checks: 1 } => f.write_str("stale (1 check ago)"),
            Self::Stale { checks } => write!(f, "stale ({checks} checks ago)"),
            Self::Shifted { by } => write!(f, "shifted (belongs {by:+} elements away)"),
            Self::Other => f.write_str("other"),
        }
    }
}

/// How many earlier checks are looked at for stale data.
const CHECKS_REMEMBERED: u64 = 8;

/// Explains wrong elements, given as index in the output and bits found, in the same order.
pub fn classify(recipe: &Recipe, stretches: &[Stretch], bad: &[(u64, u64)]) -> Vec<Class> {
    let fitting: Vec<Vec<Class>> = bad
        .iter()
        .map(|&(index, got)| match stretch_of(stretches, index) {
            Some((stretch, offset)) => Suspect {
                recipe,
                stretch,
                offset,
                index,
                got,
            }
            .explanations(),
            None => Vec::new(),
        })
        .collect();
    let mut fits: BTreeMap<Class, usize> = BTreeMap::new();
    for class in fitting.iter().flatten() {
        *fits.entry(class.sort(recipe.redop)).or_default() += 1;
    }
    fitting
        .into_iter()
        .map(|classes| {
            let best = classes
                .into_iter()
                .max_by_key(|class| (fits[&class.sort(recipe.redop)], std::cmp::Reverse(*class)));
            best.unwrap_or(Class::Other)
        })
        .collect()
}

impl Class {
    /// What is counted as one explanation: flips of different bits are, and losses of different
    /// winners, of which every element has its own.
    fn sort(self, redop: Option<RedOp>) -> Self {
        match (self, redop) {
            (Self::BitFlip { .. }, _) => Self::BitFlip { bit: 0 },
            (Self::Missing { .. }, Some(RedOp::Min | RedOp::Max)) => {
                Self::Missing { rank: Rank(0) }
            }
            (class, _) => class,
        }
    }
}

/// One wrong element.
struct Suspect<'a> {
    recipe: &'a Recipe,
    stretch: &'a Stretch,
    offset: u64,
    index: u64,
    got: u64,
}

impl Suspect<'_> {
    /// Everything that fits.
    fn explanations(&self) -> Vec<Class> {
        let Some(expected) = expected_bits(self.recipe, &self.stretch.source, self.offset) else {
            return Vec::new();
        };
        let mut classes = Vec::new();
        if self.got == poison_bits(self.recipe, self.index) {
            classes.push(Class::Unwritten);
        }
        let difference = self.got ^ expected;
        if difference.is_power_of_two() {
            classes.push(Class::BitFlip {
                bit: difference.trailing_zeros(),
            });
        }
        classes.extend(self.stale());
        classes.extend(self.shifted());
        match (self.stretch.source, self.recipe.redop) {
            (Source::Reduced { at }, Some(redop)) => self.shares(redop, at, expected, &mut classes),
            (Source::Copied { rank, at }, _) => classes.extend(self.wrong_rank(rank, at)),
            _ => {}
        }
        classes
    }

    fn stale(&self) -> impl Iterator<Item = Class> {
        (1..=CHECKS_REMEMBERED).filter_map(|checks| {
            let earlier = Recipe {
                seed: self
                    .recipe
                    .seed
                    .wrapping_sub(checks.wrapping_mul(SEED_STEP)),
                ..*self.recipe
            };
            let was = expected_bits(&earlier, &self.stretch.source, self.offset);
            (was == Some(self.got)).then_some(Class::Stale { checks })
        })
    }

    /// Neighbours, powers of two, the stretch itself and one rank's part of it, both ways.
    fn shifted(&self) -> impl Iterator<Item = Class> {
        let len = self.stretch.len;
        let mut distances: Vec<u64> = (0..63)
            .map(|bit| 1 << bit)
            .take_while(|d| *d <= len)
            .collect();
        distances.extend([3, len, len / u64::from(self.recipe.world.0.max(1))]);
        distances.sort_unstable();
        distances.dedup();
        distances
            .into_iter()
            .filter_map(|distance| i64::try_from(distance).ok())
            .filter(|distance| *distance > 0)
            .flat_map(|distance| [distance, -distance])
            .filter(|by| self.found_at(*by) == Some(self.got))
            .map(|by| Class::Shifted { by })
    }

    /// The right element `by` elements further on in the same source.
    fn found_at(&self, by: i64) -> Option<u64> {
        // together, because the element may lie before the stretch's first
        let moved = |at: u64| (at + self.offset).checked_add_signed(by);
        let source = match self.stretch.source {
            Source::Reduced { at } => Source::Reduced { at: moved(at)? },
            Source::Copied { rank, at } => Source::Copied {
                rank,
                at: moved(at)?,
            },
            Source::Untouched { .. } | Source::Unspecified => return None,
        };
        expected_bits(self.recipe, &source, 0)
    }

    fn wrong_rank(&self, right: Rank, at: u64) -> impl Iterator<Item = Class> {
        let index = at + self.offset;
        let others = self.recipe.world.ranks().filter(move |rank| *rank != right);
        others
            .filter(move |rank| input_bits(self.recipe, *rank, index) == self.got)
            .map(|rank| Class::InputOf { rank })
    }

    /// Explanations that name a rank of a reduction.
    fn shares(&self, redop: RedOp, at: u64, expected: u64, classes: &mut Vec<Class>) {
        let index = at + self.offset;
        let inputs: Vec<u64> = (self.recipe.world.ranks())
            .map(|rank| input_bits(self.recipe, rank, index))
            .collect();
        let shares: Vec<u64> = (self.recipe.world.ranks().zip(&inputs))
            .map(|(rank, input)| self.share(redop, rank, *input))
            .collect();
        let total = shares
            .iter()
            .copied()
            .reduce(|a, b| self.combine(redop, a, b));
        for (rank, (&input, &share)) in self.recipe.world.ranks().zip(inputs.iter().zip(&shares)) {
            if self.without(redop, rank, &shares, total, expected) {
                classes.push(Class::Missing { rank });
            }
            if self.with_twice(redop, share, total, expected) {
                classes.push(Class::Doubled { rank });
            }
            if self.got == input || self.got == share {
                classes.push(Class::InputOf { rank });
            }
        }
    }

    /// What a rank adds: its input after the scaling that comes before the reduction.
    fn share(&self, redop: RedOp, rank: Rank, input: u64) -> u64 {
        let dtype = self.recipe.dtype;
        match redop {
            RedOp::MulSum => self.times(input, mulsum_scalar_bits(dtype, rank)),
            RedOp::Avg if dtype.is_float() => {
                self.times(input, reciprocal_bits(dtype, self.recipe.world.0))
            }
            _ => input,
        }
    }

    /// Whether the reduction without `rank` gives what was found.
    fn without(
        &self,
        redop: RedOp,
        rank: Rank,
        shares: &[u64],
        total: Option<u64>,
        expected: u64,
    ) -> bool {
        let share = shares[rank.0 as usize];
        if self.recipe.world.0 == 1 {
            return false;
        }
        match redop {
            // Only the loss of the winner shows.
            RedOp::Min | RedOp::Max => {
                share == expected && {
                    let others = self
                        .recipe
                        .world
                        .ranks()
                        .zip(shares)
                        .filter(|(r, _)| *r != rank);
                    let rest = others
                        .map(|(_, s)| *s)
                        .reduce(|a, b| self.combine(redop, a, b));
                    rest == Some(self.got)
                }
            }
            RedOp::Avg if !self.recipe.dtype.is_float() => {
                let minus = self.times(share, u64::MAX);
                total.is_some_and(|total| {
                    self.divided(self.combine(redop, total, minus)) == self.got
                })
            }
            // A share that changes nothing is not missed.
            _ => self.combine(redop, self.got, share) == expected && self.got != expected,
        }
    }

    /// Whether the reduction with `share` in it twice gives what was found.
    fn with_twice(&self, redop: RedOp, share: u64, total: Option<u64>, expected: u64) -> bool {
        match redop {
            RedOp::Min | RedOp::Max => false,
            RedOp::Avg if !self.recipe.dtype.is_float() => total
                .is_some_and(|total| self.divided(self.combine(redop, total, share)) == self.got),
            _ => self.combine(redop, expected, share) == self.got,
        }
    }

    fn combine(&self, redop: RedOp, a: u64, b: u64) -> u64 {
        self.on_bytes(a, |a| {
            reduce_into(self.recipe.dtype, redop, a, &b.to_le_bytes()[..a.len()]);
        })
    }

    fn times(&self, a: u64, scalar: u64) -> u64 {
        self.on_bytes(a, |a| scale(self.recipe.dtype, a, scalar))
    }

    fn divided(&self, a: u64) -> u64 {
        self.on_bytes(a, |a| divide_by(self.recipe.dtype, a, self.recipe.world.0))
    }

    /// Applies something that works on buffers to one element.
    fn on_bytes(&self, a: u64, f: impl FnOnce(&mut [u8])) -> u64 {
        let size = Lanes::of(self.recipe.dtype).bits as usize / 8;
        let mut bytes = a.to_le_bytes();
        f(&mut bytes[..size]);
        u64::from_le_bytes(bytes)
    }
}
