//! Words made of one row by a mask and a sum: expected results, raw copies and poison.
//!
//! That every expected result has this form is what makes checking cheap: one hash, whatever the
//! datatype, the operator and the number of ranks. Mirrored by `plain_word` of `kernels/gen.h`.

use super::hash;

/// The constants of a sequence of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plain {
    /// Key of the row.
    pub key: u64,
    /// Which of the row's bits are kept.
    pub mask: u64,
    /// What is added; never carries from one lane into the next.
    pub base: u64,
    /// What is added once for each exponent step of the word.
    pub spread: u64,
    /// Start of the sequence of exponent steps.
    pub offset: u32,
    /// 32 less the bits of an exponent step.
    pub shift: u32,
    /// Lowest bit of every lane whose bits are inverted where the row's highest bit of the lane is
    /// set: signed averages. 0 where none are.
    pub signs: u64,
    /// Bits of a lane.
    pub bits: u32,
}

impl Plain {
    /// All bits of a row.
    pub(super) fn raw(key: u64, bits: u32) -> Self {
        Self {
            key,
            mask: u64::MAX,
            base: 0,
            spread: 0,
            offset: 0,
            shift: 31,
            signs: 0,
            bits,
        }
    }

    /// The same form of word from the row of a rank; `rows` is [`super::Recipe::rows`].
    #[must_use]
    pub fn of_rank(self, rows: u64, rank: u64) -> Self {
        Self {
            key: hash::row_key(rows, rank),
            ..self
        }
    }

    /// The exponent step of word `w`.
    #[inline(always)]
    pub(super) fn step(&self, w: u64) -> u32 {
        hash::step(w, self.offset, self.shift)
    }

    /// Word `w`.
    #[inline(always)]
    pub(super) fn word(&self, w: u64) -> u64 {
        let hash = hash::word(self.key, w);
        let value = (hash & self.mask)
            .wrapping_add(self.base)
            .wrapping_add(self.spread.wrapping_mul(u64::from(self.step(w))));
        if self.signs == 0 {
            return value;
        }
        let full = u64::MAX >> (64 - self.bits);
        let negative = (hash >> (self.bits - 1)) & self.signs;
        value ^ negative.wrapping_mul(full)
    }
}
