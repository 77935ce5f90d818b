//! Whether a reduction's result can be predicted to the bit, by trying the library's routes.
//!
//! Sums, products, minima and maxima are exact by construction. A float average is a product with
//! 1/N rounded to the datatype, before or after the sum; whether N times that is 1 again depends on
//! N and on where it is rounded.

use super::Exactness;
use super::lanes::Format;
use crate::base::arith::{encode, reciprocal_bits, scale};
use crate::base::{DataType, RedOp, World};

/// Certifies a combination: every known route must give the predicted bits.
pub fn exactness(dtype: DataType, redop: RedOp, world: World) -> Exactness {
    let Some(format) = Format::of(dtype) else {
        return Exactness::Exact;
    };
    if redop != RedOp::Avg {
        return Exactness::Exact;
    }
    let one = format.power(format.bias);
    let ranks = one + Carrier::of(dtype, world, format).lift;
    let before = product(dtype, ranks, reciprocal_bits(dtype, world.0));
    let after = through_single(dtype, ranks, world);
    match before.abs_diff(one).max(after.abs_diff(one)) {
        0 => Exactness::Exact,
        units => Exactness::Within(units),
    }
}

/// How the one rank that contributes to an element of an average brings N times the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carrier {
    /// Bits of the smallest result, a power of two.
    pub(super) base: u64,
    /// Over how many powers of two results vary, as an exponent of two.
    pub(super) window: u32,
    /// What is added to a result's bits: those of N, less those of 1.
    pub(super) lift: u64,
}

impl Carrier {
    /// Where N is out of the datatype's range the sum cannot be held, and less is brought.
    pub(super) fn of(dtype: DataType, world: World, format: Format) -> Self {
        let raised = world.0.next_power_of_two().ilog2();
        let count = format.top.saturating_sub(raised).max(1);
        let window = count.ilog2();
        let base = format.power(1 + (count - (1 << window)) / 2);
        let ranks = rounded(dtype, world).min(format.power(format.top));
        let headroom = format.power(format.top) - base - format.power((1 << window) - 1);
        Self {
            base,
            window,
            lift: (ranks - format.power(format.bias)).min(headroom),
        }
    }
}

/// Bits of the number of ranks in a floating-point datatype.
fn rounded(dtype: DataType, world: World) -> u64 {
    if dtype == DataType::Double {
        return f64::from(world.0).to_bits();
    }
    encode(dtype, single(world))
}

#[expect(clippy::cast_precision_loss, reason = "rounding is what is meant")]
fn single(world: World) -> f32 {
    world.0 as f32
}

/// The product in the datatype, rounded once.
fn product(dtype: DataType, a: u64, b: u64) -> u64 {
    let size = usize::try_from(dtype.size()).unwrap_or(8);
    let mut bytes = a.to_le_bytes();
    scale(dtype, &mut bytes[..size], b);
    u64::from_le_bytes(bytes)
}

/// The sum in binary32 times 1/N in binary32, rounded to the datatype: symmetric kernels.
fn through_single(dtype: DataType, ranks: u64, world: World) -> u64 {
    if dtype == DataType::Double {
        return product(dtype, ranks, reciprocal_bits(dtype, world.0));
    }
    #[expect(clippy::cast_possible_truncation, reason = "bits of a binary32")]
    let reciprocal = f32::from_bits(reciprocal_bits(DataType::Float, world.0) as u32);
    encode(dtype, widened(dtype, ranks) * reciprocal)
}

/// A value of at most 32 bits.
fn widened(dtype: DataType, bits: u64) -> f32 {
    use crate::base::float8::{E4M3, E5M2};
    let [a, b, c, d, ..] = bits.to_le_bytes();
    match dtype {
        DataType::Half => half::f16::from_le_bytes([a, b]).to_f32(),
        DataType::Bfloat16 => half::bf16::from_le_bytes([a, b]).to_f32(),
        DataType::F8e4m3 => E4M3.decode(a),
        DataType::F8e5m2 => E5M2.decode(a),
        _ => f32::from_le_bytes([a, b, c, d]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_inexact(dtype: DataType) -> u32 {
        (1..2000)
            .find(|n| exactness(dtype, RedOp::Avg, World(*n)) != Exactness::Exact)
            .unwrap_or(0)
    }

    #[test]
    fn averages_are_exact_up_to_the_first_number_whose_reciprocal_does_not_undo_it() {
        assert_eq!(first_inexact(DataType::Half), 11);
        assert_eq!(first_inexact(DataType::Float), 41);
        assert_eq!(first_inexact(DataType::Double), 49);
        assert_eq!(first_inexact(DataType::Bfloat16), 61);
    }

    /// One part in N of the datatype: what it takes for a reciprocal to be far from undoing N.
    #[test]
    fn narrow_averages_over_many_ranks_are_certified_to_more_than_a_neighbour() {
        let units = |dtype, n| exactness(dtype, RedOp::Avg, World(n)).tolerance();
        assert_eq!(units(DataType::F8e4m3, 16), 0);
        assert_eq!(units(DataType::F8e4m3, 17), 1);
        assert_eq!(units(DataType::F8e4m3, 114), 2);
        assert!(units(DataType::F8e4m3, 600) > 2);
        for wide in [
            DataType::Half,
            DataType::Bfloat16,
            DataType::Float,
            DataType::Double,
        ] {
            assert!((1..16_000).all(|n| units(wide, n) <= 1), "{wide}");
        }
    }

    /// What every route gives is counted as right, whatever the world: through the real inputs.
    #[test]
    fn an_average_by_the_datatypes_own_reciprocal_is_within_what_is_certified() {
        use crate::base::Rank;
        use crate::base::pattern::{Recipe, Source, Stretch, expected_bits, input_bits};
        for dtype in [DataType::F8e4m3, DataType::F8e5m2, DataType::Half] {
            for n in [3, 100, 114, 205, 342, 600, 700, 1025] {
                let recipe = Recipe {
                    seed: 5,
                    dtype,
                    redop: Some(RedOp::Avg),
                    world: World(n),
                };
                for index in 0..40 {
                    let inputs = (0..n).map(|rank| input_bits(&recipe, Rank(rank), index));
                    let brought = inputs
                        .map(|bits| bits & !(1 << (dtype.size() * 8 - 1)))
                        .max();
                    let got = product(dtype, brought.unwrap(), reciprocal_bits(dtype, n));
                    let source = Source::Reduced { at: 0 };
                    let right = expected_bits(&recipe, &source, index).unwrap();
                    let sign = right & (1 << (dtype.size() * 8 - 1));
                    let stretch = Stretch { len: 1, source };
                    let apart = (got | sign).abs_diff(right);
                    let tolerance = recipe.exactness().tolerance();
                    assert!(apart <= tolerance, "{dtype} {n} {stretch:?}: {apart}");
                }
            }
        }
    }

    #[test]
    fn averages_over_powers_of_two_are_exact() {
        for dtype in [
            DataType::Half,
            DataType::Float,
            DataType::Double,
            DataType::Bfloat16,
        ] {
            for n in [1, 2, 8, 64, 256, 1024] {
                assert_eq!(
                    exactness(dtype, RedOp::Avg, World(n)),
                    Exactness::Exact,
                    "{dtype} {n}"
                );
            }
        }
    }

    #[test]
    fn everything_but_float_averages_is_exact() {
        for &dtype in DataType::ALL {
            for &redop in RedOp::ALL
                .iter()
                .filter(|redop| **redop != RedOp::Avg || !dtype.is_float())
            {
                assert_eq!(exactness(dtype, redop, World(41)), Exactness::Exact);
            }
        }
    }
}
