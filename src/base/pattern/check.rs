//! Outputs against what they should hold: how many elements are wrong, and the first few of them.

use super::lanes::Lanes;
use super::stream::{self, Compare, Visitor};
use super::{Class, Plain, Recipe, Source, Stretch, classify, expected_bits};

/// A wrong element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Element index in the output.
    pub index: u64,
    /// Bits that should be there, in the low bits.
    pub expected_bits: u64,
    /// Bits that are there.
    pub got_bits: u64,
    /// What probably happened.
    pub class: Class,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// How many elements are wrong.
    pub wrong: u64,
    /// The first of them, by index; at most [`Findings::LISTED`].
    pub first: Vec<Finding>,
}

impl Findings {
    /// How many wrong elements a check lists at the most.
    pub const LISTED: usize = 16;
}

/// Compares elements of an output from element `first` on, which `got` holds, with what `stretches`,
/// which describe the output from its element 0 on, promise.
pub fn verify_bytes(recipe: &Recipe, stretches: &[Stretch], first: u64, got: &[u8]) -> Findings {
    let mut tally = Tally {
        lanes: Lanes::of(recipe.dtype),
        tolerance: 0,
        wrong: 0,
        bad: Vec::new(),
    };
    let size = recipe.dtype.size();
    let end = first + got.len() as u64 / size;
    let mut start = 0;
    for stretch in stretches {
        let (from, to) = (start.max(first), (start + stretch.len).min(end));
        if from < to {
            let bytes = &got[offset((from - first) * size)..offset((to - first) * size)];
            tally.compare(recipe, &stretch.source, (start, from), bytes);
        }
        start += stretch.len;
    }
    Findings {
        wrong: tally.wrong,
        first: locate(recipe, stretches, &tally.bad),
    }
}

/// Looks up and explains wrong elements that are known by index and bits, wherever they were found.
/// Indices that no stretch promises are left out.
pub fn locate(recipe: &Recipe, stretches: &[Stretch], bad: &[(u64, u64)]) -> Vec<Finding> {
    let classes = classify(recipe, stretches, bad);
    bad.iter()
        .zip(classes)
        .filter_map(|(&(index, got_bits), class)| {
            let (stretch, offset) = stretch_of(stretches, index)?;
            Some(Finding {
                index,
                expected_bits: expected_bits(recipe, &stretch.source, offset)?,
                got_bits,
                class,
            })
        })
        .collect()
}

/// Calls `wrong` with the offset into `got` of each element whose bits are more than `tolerance` from
/// those of `plain`, of which `got` should hold a copy from element `first` on.
pub fn compare_plain(
    plain: &Plain,
    first: u64,
    got: &[u8],
    tolerance: u64,
    mut wrong: impl FnMut(u64),
) {
    let lanes = Lanes { bits: plain.bits };
    let compare = Compare {
        from: first * u64::from(plain.bits / 8),
        got,
        differs: |w: u64, expected, got| {
            for lane in 0..lanes.count() {
                let apart = lanes.get(expected, lane).abs_diff(lanes.get(got, lane));
                if apart > tolerance {
                    let element = w * u64::from(lanes.count()) + u64::from(lane);
                    wrong(element - first);
                }
            }
        },
    };
    compare.visit(plain);
}

/// The stretch that holds an element of the output, and where in it.
pub(super) fn stretch_of(stretches: &[Stretch], index: u64) -> Option<(&Stretch, u64)> {
    let mut start = 0;
    stretches.iter().find_map(|stretch| {
        let offset = index.checked_sub(start)?;
        start += stretch.len;
        (offset < stretch.len).then_some((stretch, offset))
    })
}

struct Tally {
    lanes: Lanes,
    tolerance: u64,
    wrong: u64,
    bad: Vec<(u64, u64)>,
}

impl Tally {
    /// Compares part of a stretch that begins at element `start` of the output; the part begins at `from`.
    fn compare(&mut self, recipe: &Recipe, source: &Source, (start, from): (u64, u64), got: &[u8]) {
        let size = recipe.dtype.size();
        let (Source::Reduced { at } | Source::Copied { at, .. } | Source::Untouched { at }) =
            *source
        else {
            return;
        };
        let per_word = u64::from(self.lanes.count());
        let at = at + (from - start);
        self.tolerance = match source {
            Source::Reduced { .. } => recipe.exactness().tolerance(),
            _ => 0,
        };
        let compare = Compare {
            from: at * size,
            got,
            // Word w begins at element w * per_word of the source.
            differs: |w: u64, expected, got| {
                self.add(
                    (w * per_word).wrapping_sub(at).wrapping_add(from),
                    expected,
                    got,
                );
            },
        };
        match *source {
            Source::Copied { rank, .. } => stream::with_input(&recipe.input(rank), compare),
            Source::Untouched { .. } => compare.visit(&recipe.poison()),
            _ => compare.visit(&recipe.result()),
        }
    }

    /// Counts the lanes of a word that differ; `first` is the output index of its lane 0, which may
    /// lie before the output.
    fn add(&mut self, first: u64, expected: u64, got: u64) {
        for lane in 0..self.lanes.count() {
            let (expected, got) = (self.lanes.get(expected, lane), self.lanes.get(got, lane));
            if expected.abs_diff(got) <= self.tolerance {
                continue;
            }
            self.wrong += 1;
            if self.bad.len() < Findings::LISTED {
                self.bad.push((first.wrapping_add(u64::from(lane)), got));
            }
        }
    }
}

/// A byte offset within a slice, which is at most a `usize`.
fn offset(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
