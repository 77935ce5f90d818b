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
    let size = usize::try_from(dtype.size()).unwrap_or(8);
    let mut ranks = [0u8; 8];
    ranks[..size].copy_from_slice(&rounded(dtype, world).to_le_bytes()[..size]);
    let reciprocal = reciprocal_bits(DataType::Float, world.0);
    let ranks = u64::from(single_of(dtype, &ranks).to_bits());
    let quotient = product(DataType::Float, ranks, reciprocal);
    #[expect(clippy::cast_possible_truncation, reason = "bits of a binary32")]
    let quotient = f32::from_bits(quotient as u32);
    encode(dtype, quotient)
}

/// A value of at most 32 bits, widened.
fn single_of(dtype: DataType, bytes: &[u8; 8]) -> f32 {
    use crate::base::float8::{E4M3, E5M2};
    let [a, b, c, d, ..] = *bytes;
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
