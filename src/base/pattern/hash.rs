//! Rows of random words: the raw material of every buffer.
//!
//! A row is a sequence of 64-bit words that follows from (seed, row number). Words count in the
//! pattern, not in a buffer: word `w` holds the elements whose bytes are `8 w .. 8 w + 8`.
//! Mirrored by `kernels/gen.h`.

#![expect(
    clippy::inline_always,
    reason = "these run once a word; loops over words are vectorised only around inlined bodies"
)]

/// Row number of the expected results; ranks are rows `0 .. 2^32`.
pub(super) const RESULT: u64 = 1 << 32;
/// Row number of what an output holds before the operation.
pub(super) const POISON: u64 = RESULT + 1;
/// Row number of who contributes to a word, where not all ranks do.
pub(super) const SELECT: u64 = RESULT + 2;
/// Row number of where the sequence of exponents starts.
pub(super) const EXPONENT: u64 = RESULT + 3;

/// Distance of two words' hash inputs; odd, so that a row never repeats a word.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Distance of two rows' hash inputs.
const ROW_STRIDE: u64 = 0xD1B5_4A32_D192_ED03;
/// Keeps seed 0 from being the fixed point of the mixer.
const SEED_SALT: u64 = 0x2545_F491_4F6C_DD1D;
/// 2^32 divided by the golden ratio: multiples of it, modulo 2^32, spread evenly.
const GOLDEN: u32 = 0x9E37_79B9;

/// A bijection of 64-bit words that scatters them.
///
/// # Source
/// Austin Appleby, `MurmurHash3`, `fmix64`.
#[inline(always)]
pub(super) const fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x ^= x >> 33;
    x = x.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}

/// What all rows of a seed have in common.
pub(super) fn rows_of(seed: u64) -> u64 {
    mix(seed ^ SEED_SALT)
}

/// The key of one row.
pub(super) fn row_key(rows: u64, row: u64) -> u64 {
    mix(rows.wrapping_add(row.wrapping_mul(ROW_STRIDE)))
}

/// Word `w` of a row.
#[inline(always)]
pub(super) const fn word(key: u64, w: u64) -> u64 {
    mix(key.wrapping_add(w.wrapping_mul(STRIDE)))
}

/// The exponent step of word `w`, below 2^(32 - shift): cheap, because both the one who makes an
/// input and the one who checks a result need it.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the sequence has a period of 2^32 words"
)]
pub(super) const fn step(w: u64, offset: u32, shift: u32) -> u32 {
    (w as u32).wrapping_mul(GOLDEN).wrapping_add(offset) >> shift
}
