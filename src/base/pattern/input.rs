//! One rank's input: the constants of its words, and the words themselves.
//!
//! Each scheme arranges the ranks' inputs so that their reduction is the row of results
//! ([`super::Plain`]) in whatever order and tree it is computed, with every step exact.
//! Rank r's share of a telescoping sum or product is made of its own row and the row of the next
//! rank of the ring, so that all rows cancel. Mirrored by the `*_word` functions of `kernels/gen.h`.

#![expect(
    clippy::inline_always,
    reason = "these run once a word; loops over words are vectorised only around inlined bodies"
)]

use super::lanes::{Lanes, add, sub};
use super::{Plain, hash};

/// How the inputs of a reduction are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Raw bits: copies.
    Raw,
    /// Integers that telescope: sum, `mulsum`, average.
    IntegerSum,
    /// Odd integers whose product telescopes.
    IntegerProduct,
    /// Multiples of a power of two that telescope: sum, `mulsum`, average over 2^n ranks.
    FloatSum,
    /// Exponents and signs that telescope.
    FloatProduct,
    /// One winner in each lane: minimum, maximum.
    Extreme,
    /// One rank in each lane brings all, the others 0: float averages that do not divide evenly.
    Carrier,
}

/// The constants of one rank's input. What a scheme does not use is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// How the inputs are arranged.
    pub scheme: Scheme,
    /// The row of results.
    pub result: Plain,
    /// Key of this rank's row.
    pub own: u64,
    /// Key of the next rank's row.
    pub next: u64,
    /// Key of the row that selects who contributes to a lane.
    pub select: u64,
    /// Every `period`-th lane, from lane 0 on, full of ones.
    pub comb: u64,
    /// This rank's class: it contributes to the lanes whose number, counted on from the selected
    /// one, is `class` modulo `period`.
    pub class: u32,
    /// How many classes there are; 1 where every rank contributes everywhere.
    pub period: u32,
    /// Which bits of the ranks' rows are used.
    pub field: u64,
    /// Added to the result's bits by the rank that brings it: a factor of a power of two.
    pub lift: u64,
    /// Float sums: bits of the unit at exponent step 0. Float products: 1.0 in every lane.
    pub unit: u64,
    /// Whether this rank brings the result.
    pub brings: bool,
    /// `mulsum` of integers: inverse of this rank's scalar; else 1.
    pub inverse: u64,
    /// Integer averages: number of ranks; else 0.
    pub divisor: u32,
    /// Integer averages: remainders are below this.
    pub remainders: u64,
    /// Extremes: all ones where losers are larger.
    pub larger: u64,
    /// Extremes: all ones where the order of bits turns round with the sign.
    pub magnitude: u64,
    /// Float sums: by how much an element's bits are shifted to lie in the type computed with.
    pub drop: u32,
}

impl Input {
    fn lanes(&self) -> Lanes {
        Lanes {
            bits: self.result.bits,
        }
    }

    /// Word `w`. `SCHEME` and `BITS` are those of `self`; they are parameters so that a loop over
    /// words is made for each of them.
    #[inline(always)]
    pub(super) fn word<const SCHEME: u8, const BITS: u32>(&self, w: u64) -> u64 {
        match SCHEME {
            s if s == Scheme::IntegerSum as u8 => self.integer_sum::<BITS>(w),
            s if s == Scheme::IntegerProduct as u8 => self.integer_product::<BITS>(w),
            s if s == Scheme::FloatSum as u8 && BITS == 64 => self.double_sum(w),
            s if s == Scheme::FloatSum as u8 => self.float_sum::<BITS>(w),
            s if s == Scheme::FloatProduct as u8 => self.float_product(w),
            s if s == Scheme::Extreme as u8 => self.extreme(w),
            s if s == Scheme::Carrier as u8 => {
                self.result.word(w).wrapping_add(self.lift) & self.picked(w)
            }
            _ => hash::word(self.own, w),
        }
    }

    /// The lanes of word `w` to which this rank contributes, full of ones.
    #[inline(always)]
    fn picked(&self, w: u64) -> u64 {
        if self.period == 1 {
            return u64::MAX;
        }
        let period = u64::from(self.period);
        let first = ((hash::word(self.select, w) >> 32) * period) >> 32;
        let class = u64::from(self.class);
        let ahead = if class >= first {
            class - first
        } else {
            class + period - first
        };
        let bits = u64::from(self.result.bits);
        if ahead * bits < 64 {
            self.comb << (ahead * bits)
        } else {
            0
        }
    }

    #[inline(always)]
    fn integer_sum<const BITS: u32>(&self, w: u64) -> u64 {
        let high = self.lanes().high();
        let mut x = sub(hash::word(self.own, w), hash::word(self.next, w), high);
        if self.brings {
            x = add(x, self.total::<BITS>(w), high);
        }
        if self.inverse == 1 {
            x
        } else {
            times::<BITS>(x, self.inverse)
        }
    }

    /// The sum that the integers of word `w` shall have: the result, or for an average something
    /// that division by the number of ranks turns into it.
    #[inline(always)]
    fn total<const BITS: u32>(&self, w: u64) -> u64 {
        let result = self.result.word(w);
        if self.divisor == 0 {
            return result;
        }
        let noise = hash::word(self.select, w);
        let (lanes, mut total) = (Lanes { bits: BITS }, 0);
        for lane in 0..lanes.count() {
            let quotient = lanes.get(result, lane);
            let draw = noise.rotate_right(lane * BITS) & 0xFFFF_FFFF;
            let rest = (draw * self.remainders) >> 32;
            let negative = self.result.signs != 0 && quotient >> (BITS - 1) != 0;
            let product = quotient.wrapping_mul(u64::from(self.divisor));
            let sum = if negative {
                product.wrapping_sub(rest)
            } else {
                product.wrapping_add(rest)
            };
            total |= (sum & lanes.full()) << (lane * BITS);
        }
        total
    }

    #[inline(always)]
    fn integer_product<const BITS: u32>(&self, w: u64) -> u64 {
        let (own, next) = (hash::word(self.own, w), hash::word(self.next, w));
        let result = if self.brings {
            self.result.word(w)
        } else {
            self.lanes().low()
        };
        let (lanes, mut x) = (Lanes { bits: BITS }, 0);
        for lane in 0..lanes.count() {
            let factor = lanes.get(own, lane) | 1;
            let cancelled = inverse::<BITS>(lanes.get(next, lane) | 1);
            let product = factor
                .wrapping_mul(cancelled)
                .wrapping_mul(lanes.get(result, lane));
            x |= (product & lanes.full()) << (lane * BITS);
        }
        x
    }

    /// Elements of at most 32 bits, computed in binary32 with the element's own exponent bias: every
    /// value is a multiple of the unit and at most 2^p of them, so that nothing is rounded.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a lane has at most 32 bits"
    )]
    fn float_sum<const BITS: u32>(&self, w: u64) -> u64 {
        let (own, next) = (
            hash::word(self.own, w) & self.field,
            hash::word(self.next, w) & self.field,
        );
        let result = if self.brings {
            self.result.word(w).wrapping_add(self.lift)
        } else {
            0
        };
        let unit = f32::from_bits(self.unit as u32 + (self.result.step(w) << 23));
        let (lanes, mut x) = (Lanes { bits: BITS }, 0);
        for lane in 0..lanes.count() {
            // 2^23 + n has n in its low bits, so that no integer is converted.
            let own = f32::from_bits(0x4B00_0000 | lanes.get(own, lane) as u32);
            let next = f32::from_bits(0x4B00_0000 | lanes.get(next, lane) as u32);
            let brought = lanes.get(result, lane) as u32;
            let sign = (brought >> (BITS - 1)) << 31;
            let magnitude = brought & (u32::MAX >> (33 - BITS));
            let brought = f32::from_bits((magnitude << self.drop) | sign);
            let sum = ((own - next) * unit + brought).to_bits();
            let element = ((sum >> 31) << (BITS - 1)) | ((sum & 0x7FFF_FFFF) >> self.drop);
            x |= u64::from(element) << (lane * BITS);
        }
        x & self.picked(w)
    }

    #[inline(always)]
    fn double_sum(&self, w: u64) -> u64 {
        const TWO_52: u64 = 0x4330_0000_0000_0000;
        let own = f64::from_bits(TWO_52 | (hash::word(self.own, w) & self.field));
        let next = f64::from_bits(TWO_52 | (hash::word(self.next, w) & self.field));
        let result = if self.brings {
            self.result.word(w).wrapping_add(self.lift)
        } else {
            0
        };
        let unit = f64::from_bits(self.unit + (u64::from(self.result.step(w)) << 52));
        ((own - next) * unit + f64::from_bits(result)).to_bits() & self.picked(w)
    }

    #[inline(always)]
    fn float_product(&self, w: u64) -> u64 {
        let (own, next) = (hash::word(self.own, w), hash::word(self.next, w));
        let signs = self.lanes().high();
        let result = if self.brings {
            self.result.word(w)
        } else {
            self.unit
        };
        let x = (result & !signs) + (own & self.field) - (next & self.field);
        let x = x ^ ((result ^ own ^ next) & signs);
        let picked = self.picked(w);
        (x & picked) | (self.unit & !picked)
    }

    #[inline(always)]
    fn extreme(&self, w: u64) -> u64 {
        let lanes = self.lanes();
        let result = self.result.word(w);
        let behind = ((hash::word(self.own, w) & self.field) + lanes.low()) & !self.picked(w);
        let negative = ((result >> (lanes.bits - 1)) & lanes.low()).wrapping_mul(lanes.full());
        let up = (negative & self.magnitude) ^ self.larger;
        result + (behind & up) - (behind & !up)
    }
}

/// `x * factor` in every lane, modulo the lane.
#[inline(always)]
fn times<const BITS: u32>(x: u64, factor: u64) -> u64 {
    const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
    match BITS {
        8 => {
            let even = (x & EVEN).wrapping_mul(factor) & EVEN;
            let odd = ((x >> 8) & EVEN).wrapping_mul(factor) & EVEN;
            even | (odd << 8)
        }
        32 => {
            let low = (x & 0xFFFF_FFFF).wrapping_mul(factor) & 0xFFFF_FFFF;
            low | ((x >> 32).wrapping_mul(factor) << 32)
        }
        _ => x.wrapping_mul(factor),
    }
}

/// The inverse of an odd number modulo 2^BITS, in the low bits.
///
/// # Source
/// Newton's iteration doubles the correct bits; `3 u ^ 2` has five to begin with (Montgomery, see
/// Dumas, "On Newton-Raphson iteration for multiplicative inverses modulo prime powers", 2012).
#[inline(always)]
pub(super) fn inverse<const BITS: u32>(odd: u64) -> u64 {
    let mut x = odd.wrapping_mul(3) ^ 2;
    let mut correct = 5;
    while correct < BITS {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        correct *= 2;
    }
    x
}
