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
    let ranks = rounded(dtype, world);
    let before = product(dtype, ranks, reciprocal_bits(dtype, world.0));
    let after = through_single(dtype, world);
    if before == one && after == one {
        Exactness::Exact
    } else {
        Exactness::OneUlp
    }
}

/// Bits of the number of ranks in a floating-point datatype.
pub(super) fn rounded(dtype: DataType, world: World) -> u64 {
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
fn through_single(dtype: DataType, world: World) -> u64 {
    if dtype == DataType::Double {
        return product(
            dtype,
            rounded(dtype, world),
            reciprocal_bits(dtype, world.0),
        );
    }
    #[expect(clippy::cast_possible_truncation, reason = "bits of a binary32")]
    let reciprocal = f32::from_bits(reciprocal_bits(DataType::Float, world.0) as u32);
    encode(dtype, widened(dtype, rounded(dtype, world)) * reciprocal)
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
            .find(|n| exactness(dtype, RedOp::Avg, World(*n)) == Exactness::OneUlp)
            .unwrap_or(0)
    }

    #[test]
    fn averages_are_exact_up_to_the_first_number_whose_reciprocal_does_not_undo_it() {
        assert_eq!(first_inexact(DataType::Half), 11);
        assert_eq!(first_inexact(DataType::Float), 41);
        assert_eq!(first_inexact(DataType::Double), 49);
        assert_eq!(first_inexact(DataType::Bfloat16), 61);
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
