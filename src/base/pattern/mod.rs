//! The data pattern: the value of every input element, and of every expected output element.
//!
//! Values follow from (seed, rank, index) alone, so that any slice can be made or checked by itself
//! and no expected buffer is needed. Inputs of a reduction are built so that its result has a closed
//! form that does not depend on the number of ranks or the order of the additions.
//! The same definition stands in `kernels/gen.h`; tests hold the two against each other.

mod check;
mod classify;
mod exact;
mod hash;
mod input;
mod lanes;
mod plain;
mod recipe;
mod stream;
#[cfg(test)]
mod tests;

pub use check::{Finding, Findings, compare_plain, locate, verify_bytes};
pub use classify::{Class, classify};
pub use exact::exactness;
pub use input::{Input, Scheme};
pub use plain::Plain;
pub use recipe::mulsum_scalar_bits;

use crate::base::{DataType, Rank, RedOp, World};
use lanes::Lanes;

/// Distance of the seeds of two checks that follow each other, so that data left over from an earlier
/// check is recognised.
pub const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a buffer holds: everything but the rank and the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Fresh for every check: the earlier one's and [`SEED_STEP`].
    pub seed: u64,
    /// Element type.
    pub dtype: DataType,
    /// The operator that the inputs are made for; none for copies.
    pub redop: Option<RedOp>,
    /// Number of ranks that take part in the reduction.
    pub world: World,
}

/// Consecutive elements of an output that come from one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Number of elements.
    pub len: u64,
    /// Where they come from.
    pub source: Source,
}

/// Where a stretch's elements come from; `at` is the index of the first one there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The reduction of all ranks' inputs.
    Reduced {
        /// First index.
        at: u64,
    },
    /// One rank's input.
    Copied {
        /// Whose.
        rank: Rank,
        /// First index.
        at: u64,
    },
    /// Nothing: what the output held before the operation must still be there.
    Untouched {
        /// Index of the first element in the output.
        at: u64,
    },
    /// Nothing is promised.
    Unspecified,
}

/// Whether a reduction's result can be predicted to the bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// Compared bit for bit.
    Exact,
    /// Values up to so many units in the last place away count as right, because the library's
    /// rounding route is not known.
    Within(u64),
}

impl Exactness {
    /// How many units in the last place a right result may be away from the prediction.
    pub fn tolerance(self) -> u64 {
        match self {
            Self::Exact => 0,
            Self::Within(units) => units,
        }
    }
}

impl Recipe {
    /// How results of this recipe are compared.
    pub fn exactness(&self) -> Exactness {
        match self.redop {
            Some(redop) => exactness(self.dtype, redop, self.world),
            None => Exactness::Exact,
        }
    }
}

/// Bits of element `index` of a rank's input, in the low bits.
pub fn input_bits(recipe: &Recipe, rank: Rank, index: u64) -> u64 {
    let lanes = Lanes::of(recipe.dtype);
    let (word, lane) = place(lanes, index);
    let word = stream::with_input(&recipe.input(rank), stream::One(word));
    lanes.get(word, lane)
}

/// Writes a rank's input, from element `first` on, into `out`, which holds whole elements.
pub fn fill_bytes(recipe: &Recipe, rank: Rank, first: u64, out: &mut [u8]) {
    fill_input(&recipe.input(rank), first, out);
}

/// Bits of element `index` of an output before the operation.
pub fn poison_bits(recipe: &Recipe, index: u64) -> u64 {
    plain_bits(&recipe.poison(), index)
}

/// Writes what an output holds before the operation, from element `first` of the output on.
pub fn poison_bytes(recipe: &Recipe, first: u64, out: &mut [u8]) {
    fill_plain(&recipe.poison(), first, out);
}

/// Bits of the element `offset` elements into a stretch; none where nothing is promised.
pub fn expected_bits(recipe: &Recipe, source: &Source, offset: u64) -> Option<u64> {
    match *source {
        Source::Reduced { at } => Some(plain_bits(&recipe.result(), at + offset)),
        Source::Copied { rank, at } => Some(input_bits(recipe, rank, at + offset)),
        Source::Untouched { at } => Some(poison_bits(recipe, at + offset)),
        Source::Unspecified => None,
    }
}

/// Writes words of one row, from element `first` on, into `out`, which holds whole elements.
pub fn fill_plain(plain: &Plain, first: u64, out: &mut [u8]) {
    use stream::Visitor;
    let from = first * u64::from(plain.bits / 8);
    stream::Fill { from, out }.visit(plain);
}

/// Writes an input by its constants, from element `first` on, into `out`, which holds whole elements.
pub fn fill_input(input: &Input, first: u64, out: &mut [u8]) {
    let from = first * u64::from(input.result.bits / 8);
    stream::with_input(input, stream::Fill { from, out });
}

fn plain_bits(plain: &Plain, index: u64) -> u64 {
    let lanes = Lanes { bits: plain.bits };
    let (word, lane) = place(lanes, index);
    lanes.get(plain.word(word), lane)
}

/// The word and the lane of an element.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a word has at most 8 lanes"
)]
fn place(lanes: Lanes, index: u64) -> (u64, u32) {
    let count = u64::from(lanes.count());
    (index / count, (index % count) as u32)
}
