//! Arithmetic on the elements of a 64-bit word at once, and how floating-point elements are laid out.
//!
//! A lane is one element; lane 0 lies in the lowest bits, which is the lowest address.

#![expect(
    clippy::inline_always,
    reason = "these run once a word; loops over words are vectorised only around inlined bodies"
)]

use crate::base::DataType;

/// The lanes of a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lanes {
    /// Bits of an element: 8, 16, 32 or 64.
    pub(super) bits: u32,
}

impl Lanes {
    pub(super) fn of(dtype: DataType) -> Self {
        Self {
            bits: match dtype.size() {
                1 => 8,
                2 => 16,
                4 => 32,
                _ => 64,
            },
        }
    }

    /// Elements in a word.
    pub(super) fn count(self) -> u32 {
        64 / self.bits
    }

    /// One lane full of ones.
    #[inline(always)]
    pub(super) fn full(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// `value` in every lane.
    pub(super) fn all(self, value: u64) -> u64 {
        self.low().wrapping_mul(value & self.full())
    }

    /// The lowest bit of every lane.
    pub(super) fn low(self) -> u64 {
        u64::MAX / self.full()
    }

    /// The highest bit of every lane.
    pub(super) fn high(self) -> u64 {
        self.low() << (self.bits - 1)
    }

    /// One lane of a word.
    #[inline(always)]
    pub(super) fn get(self, word: u64, lane: u32) -> u64 {
        (word >> (lane * self.bits)) & self.full()
    }
}

/// `a + b` in every lane, modulo the lane; `high` is [`Lanes::high`].
#[inline(always)]
pub(super) const fn add(a: u64, b: u64, high: u64) -> u64 {
    ((a & !high) + (b & !high)) ^ ((a ^ b) & high)
}

/// `a - b` in every lane, modulo the lane.
#[inline(always)]
pub(super) const fn sub(a: u64, b: u64, high: u64) -> u64 {
    ((a | high) - (b & !high)) ^ ((a ^ !b) & high)
}

/// The layout of a floating-point element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// Stored significand bits.
    pub(super) mantissa: u32,
    /// What is subtracted from the stored exponent.
    pub(super) bias: u32,
    /// The largest stored exponent that a power of two may have.
    pub(super) top: u32,
}

impl Format {
    /// None for integers.
    pub(super) fn of(dtype: DataType) -> Option<Self> {
        let mantissa = dtype.significand_bits()? - 1;
        let exponent = Lanes::of(dtype).bits - 1 - mantissa;
        let all_ones = (1 << exponent) - 1;
        Some(Self {
            mantissa,
            bias: all_ones >> 1,
            // E4M3 has values in its last binade, the others have infinities there.
            top: if dtype == DataType::F8e4m3 {
                all_ones
            } else {
                all_ones - 1
            },
        })
    }

    /// Bits of a power of two with this stored exponent.
    pub(super) fn power(self, exponent: u32) -> u64 {
        u64::from(exponent) << self.mantissa
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_add_and_subtract_without_disturbing_their_neighbours() {
        let lanes = Lanes::of(DataType::Int8);
        let (a, b) = (0xFF00_7F80_0102_FEFF, 0x0101_0180_FF03_0201);
        assert_eq!(add(a, b, lanes.high()), 0x0001_8000_0005_0000);
        assert_eq!(sub(a, b, lanes.high()), 0xFEFF_7E00_02FF_FCFE);
        let lanes = Lanes::of(DataType::Uint64);
        assert_eq!(add(u64::MAX, 3, lanes.high()), 2);
        assert_eq!(sub(2, 3, lanes.high()), u64::MAX);
    }

    #[test]
    fn lane_masks_cover_the_word() {
        for &dtype in DataType::ALL {
            let lanes = Lanes::of(dtype);
            assert_eq!(lanes.all(lanes.full()), u64::MAX);
            assert_eq!(lanes.low().count_ones(), lanes.count());
            assert_eq!(
                lanes.get(lanes.high(), lanes.count() - 1),
                1 << (lanes.bits - 1)
            );
        }
    }
}
