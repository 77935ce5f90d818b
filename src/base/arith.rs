//! Element-wise arithmetic on buffers of any datatype, as the library under test does it.
//!
//! For backends and stand-ins that reduce on the CPU. Integers wrap; 8- and 16-bit floats are
//! widened to binary32 and rounded once a step. Buffers are bytes, little-endian, of any alignment.

#![expect(
    clippy::inline_always,
    reason = "these run once an element; loops over elements are vectorised only around inlined bodies"
)]

use super::float8::{E4M3, E5M2, Layout};
use super::{DataType, RedOp};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// `acc[i] = acc[i] op x[i]`. Averages and `mulsum` add: the scaling happens before or after, see
/// [`scale`] and [`divide_by`]. Both buffers hold the same whole number of elements.
pub fn reduce_into(dtype: DataType, redop: RedOp, acc: &mut [u8], x: &[u8]) {
    debug_assert_eq!(acc.len(), x.len(), "one element for each element");
    match redop {
        RedOp::Sum | RedOp::Avg | RedOp::MulSum => combine::<Add>(dtype, acc, x),
        RedOp::Prod => combine::<Mul>(dtype, acc, x),
        RedOp::Min => combine::<Min>(dtype, acc, x),
        RedOp::Max => combine::<Max>(dtype, acc, x),
    }
}

/// `buf[i] = buf[i] * scalar`, the scalar given by its bits: what `ncclRedOpCreatePreMulSum` does
/// to each rank's input, and with [`reciprocal_bits`] what `ncclAvg` does for floats.
pub fn scale(dtype: DataType, buf: &mut [u8], scalar_bits: u64) {
    const BLOCK: usize = 512;
    let bytes = scalar_bits.to_le_bytes();
    let size = usize::try_from(dtype.size()).unwrap_or(8);
    let mut factors = [0u8; BLOCK];
    for factor in factors.chunks_exact_mut(size) {
        factor.copy_from_slice(&bytes[..size]);
    }
    for block in buf.chunks_mut(BLOCK) {
        let factors = &factors[..block.len()];
        combine::<Mul>(dtype, block, factors);
    }
}

/// `buf[i] = buf[i] / n` for integer datatypes, truncating toward zero; floats are left alone,
/// because NCCL multiplies those by the reciprocal first.
///
/// # Source
/// NCCL 2.30, `src/device/reduce_kernel.h`, `FuncSumPostDiv::divide`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a quotient is not larger than its dividend"
)]
pub fn divide_by(dtype: DataType, buf: &mut [u8], n: u32) {
    let (signed, unsigned) = (i64::from(n.max(1)), u64::from(n.max(1)));
    match dtype {
        DataType::Int8 => map(buf, |x| {
            ((i64::from(i8::from_le_bytes(x)) / signed) as i8).to_le_bytes()
        }),
        DataType::Uint8 => map(buf, |x| {
            ((u64::from(u8::from_le_bytes(x)) / unsigned) as u8).to_le_bytes()
        }),
        DataType::Int32 => map(buf, |x| {
            ((i64::from(i32::from_le_bytes(x)) / signed) as i32).to_le_bytes()
        }),
        DataType::Uint32 => map(buf, |x| {
            ((u64::from(u32::from_le_bytes(x)) / unsigned) as u32).to_le_bytes()
        }),
        DataType::Int64 => map(buf, |x| (i64::from_le_bytes(x) / signed).to_le_bytes()),
        DataType::Uint64 => map(buf, |x| (u64::from_le_bytes(x) / unsigned).to_le_bytes()),
        _ => {}
    }
}

/// Bits of 1/n in a floating-point datatype, by the route that NCCL takes: binary64, binary32, `dtype`.
///
/// # Source
/// NCCL 2.30, `src/enqueue.cc`, `hostToDevRedOp`.
pub fn reciprocal_bits(dtype: DataType, n: u32) -> u64 {
    let exact = 1.0 / f64::from(n);
    if dtype == DataType::Double {
        return exact.to_bits();
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is meant")]
    let single = exact as f32;
    encode(dtype, single)
}

/// Bits of `value` rounded to a datatype of at most 32 bits; integers truncate.
pub(crate) fn encode(dtype: DataType, value: f32) -> u64 {
    match dtype {
        DataType::Half => u64::from(f16::from_f32(value).to_bits()),
        DataType::Bfloat16 => u64::from(bf16::from_f32(value).to_bits()),
        DataType::F8e4m3 => u64::from(E4M3.encode(value)),
        DataType::F8e5m2 => u64::from(E5M2.encode(value)),
        DataType::Double => f64::from(value).to_bits(),
        _ => u64::from(value.to_bits()),
    }
}

/// A binary operation on every native type.
trait Operator {
    fn int<T: Integer>(a: T, b: T) -> T;
    fn single(a: f32, b: f32) -> f32;
    fn double(a: f64, b: f64) -> f64;
}

/// What the operators need of an integer.
trait Integer: Ord + Copy {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Integer for $t {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    )*};
}
integers!(i8, u8, i32, u32, i64, u64);

macro_rules! operators {
    ($($name:ident: $int:expr, $single:expr, $double:expr;)*) => {$(
        struct $name;
        impl Operator for $name {
            #[inline(always)]
            fn int<T: Integer>(a: T, b: T) -> T {
                $int(a, b)
            }
            #[inline(always)]
            fn single(a: f32, b: f32) -> f32 {
                $single(a, b)
            }
            #[inline(always)]
            fn double(a: f64, b: f64) -> f64 {
                $double(a, b)
            }
        }
    )*};
}
operators! {
    Add: T::plus, |a, b| a + b, |a, b| a + b;
    Mul: T::times, |a, b| a * b, |a, b| a * b;
    Min: T::min, f32::min, f64::min;
    Max: T::max, f32::max, f64::max;
}

/// Chooses the loop for a datatype, once for the whole buffer.
fn combine<O: Operator>(dtype: DataType, acc: &mut [u8], x: &[u8]) {
    macro_rules! native {
        ($t:ty, $op:expr) => {
            zip(acc, x, |a, b| {
                $op(<$t>::from_le_bytes(a), <$t>::from_le_bytes(b)).to_le_bytes()
            })
        };
    }
    match dtype {
        DataType::Int8 => native!(i8, O::int),
        DataType::Uint8 => native!(u8, O::int),
        DataType::Int32 => native!(i32, O::int),
        DataType::Uint32 => native!(u32, O::int),
        DataType::Int64 => native!(i64, O::int),
        DataType::Uint64 => native!(u64, O::int),
        DataType::Float => native!(f32, O::single),
        DataType::Double => native!(f64, O::double),
        DataType::Half => halves::<O>(acc, x),
        DataType::Bfloat16 => zip(acc, x, |a, b| {
            let (a, b) = (bf16::from_le_bytes(a), bf16::from_le_bytes(b));
            bf16::from_f32(O::single(a.to_f32(), b.to_f32())).to_le_bytes()
        }),
        DataType::F8e4m3 => eighths::<O>(E4M3, acc, x),
        DataType::F8e5m2 => eighths::<O>(E5M2, acc, x),
    }
}

/// `acc[i] = f(acc[i], x[i])` over elements of `W` bytes.
#[inline(always)]
fn zip<const W: usize>(acc: &mut [u8], x: &[u8], f: impl Fn([u8; W], [u8; W]) -> [u8; W]) {
    let (acc, _) = acc.as_chunks_mut::<W>();
    let (x, _) = x.as_chunks::<W>();
    for (a, b) in acc.iter_mut().zip(x) {
        *a = f(*a, *b);
    }
}

#[inline(always)]
fn map<const W: usize>(buf: &mut [u8], f: impl Fn([u8; W]) -> [u8; W]) {
    let (buf, _) = buf.as_chunks_mut::<W>();
    for element in buf {
        *element = f(*element);
    }
}

/// binary16 in blocks, because the processor converts several at a time.
fn halves<O: Operator>(acc: &mut [u8], x: &[u8]) {
    const BLOCK: usize = 256;
    let widen = |bytes: &[u8], wide: &mut [f32]| {
        let mut narrow = [f16::ZERO; BLOCK];
        let (chunks, _) = bytes.as_chunks::<2>();
        for (element, chunk) in narrow.iter_mut().zip(chunks) {
            *element = f16::from_le_bytes(*chunk);
        }
        narrow[..wide.len()].convert_to_f32_slice(wide);
    };
    for (acc, x) in acc.chunks_mut(2 * BLOCK).zip(x.chunks(2 * BLOCK)) {
        let (mut a, mut b) = ([0f32; BLOCK], [0f32; BLOCK]);
        let len = acc.len() / 2;
        widen(acc, &mut a[..len]);
        widen(x, &mut b[..len]);
        for (a, b) in a.iter_mut().zip(&b) {
            *a = O::single(*a, *b);
        }
        let mut narrow = [f16::ZERO; BLOCK];
        narrow[..len].convert_from_f32_slice(&a[..len]);
        let (chunks, _) = acc.as_chunks_mut::<2>();
        for (chunk, element) in chunks.iter_mut().zip(narrow) {
            *chunk = element.to_le_bytes();
        }
    }
}

fn eighths<O: Operator>(layout: Layout, acc: &mut [u8], x: &[u8]) {
    let values: [f32; 256] = std::array::from_fn(|bits| {
        #[expect(clippy::cast_possible_truncation, reason = "there are 256 codes")]
        let bits = bits as u8;
        layout.decode(bits)
    });
    for (a, b) in acc.iter_mut().zip(x) {
        *a = layout.encode(O::single(values[usize::from(*a)], values[usize::from(*b)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: bytemuck::NoUninit>(values: &[T]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    fn reduced<T: bytemuck::NoUninit>(dtype: DataType, redop: RedOp, a: &[T], b: &[T]) -> Vec<u8> {
        let mut acc = bytes(a);
        reduce_into(dtype, redop, &mut acc, &bytes(b));
        acc
    }

    #[test]
    fn integers_wrap() {
        let (a, b) = ([100i8, -100, 7], [100i8, -100, -9]);
        assert_eq!(
            reduced(DataType::Int8, RedOp::Sum, &a, &b),
            bytes(&[-56i8, 56, -2])
        );
        assert_eq!(
            reduced(DataType::Int8, RedOp::Prod, &a, &b),
            bytes(&[16i8, 16, -63])
        );
        let wide = [u64::MAX, 3];
        assert_eq!(
            reduced(DataType::Uint64, RedOp::Sum, &wide, &wide),
            bytes(&[u64::MAX - 1, 6])
        );
    }

    #[test]
    fn order_follows_the_sign_of_the_datatype() {
        let (a, b) = ([0xF0u8, 1], [0x10u8, 2]);
        assert_eq!(reduced(DataType::Uint8, RedOp::Max, &a, &b), [0xF0, 2]);
        assert_eq!(reduced(DataType::Int8, RedOp::Max, &a, &b), [0x10, 2]);
        let (a, b) = ([-1.5f32], [2.0f32]);
        assert_eq!(
            reduced(DataType::Float, RedOp::Min, &a, &b),
            bytes(&[-1.5f32])
        );
    }

    #[test]
    fn narrow_floats_round_once_to_nearest_even() {
        let (a, b) = ([f16::from_f32(2048.0); 700], [f16::from_f32(1.0); 700]);
        assert_eq!(reduced(DataType::Half, RedOp::Sum, &a, &b), bytes(&a));
        let (a, b) = ([bf16::from_f32(256.0)], [bf16::from_f32(3.0)]);
        let sum = bytes(&[bf16::from_f32(260.0)]);
        assert_eq!(reduced(DataType::Bfloat16, RedOp::Sum, &a, &b), sum);
        let (a, b) = ([E4M3.encode(448.0)], [E4M3.encode(448.0)]);
        assert_eq!(reduced(DataType::F8e4m3, RedOp::Sum, &a, &b), [0x7E]);
    }

    #[test]
    fn scaling_takes_the_scalar_by_its_bits() {
        let mut buf = bytes(&vec![3.0f32; 1001]);
        scale(DataType::Float, &mut buf, u64::from(0.5f32.to_bits()));
        assert_eq!(buf, bytes(&vec![1.5f32; 1001]));
        let mut buf = bytes(&[200u8, 3]);
        scale(DataType::Uint8, &mut buf, 3);
        assert_eq!(buf, [88, 9]);
        let mut buf = bytes(&[f16::from_f32(6.0); 3]);
        scale(DataType::Half, &mut buf, reciprocal_bits(DataType::Half, 2));
        assert_eq!(buf, bytes(&[f16::from_f32(3.0); 3]));
    }

    #[test]
    fn integer_averages_truncate_toward_zero() {
        let mut buf = bytes(&[-7i8, 7, -128]);
        divide_by(DataType::Int8, &mut buf, 3);
        assert_eq!(buf, bytes(&[-2i8, 2, -42]));
        let mut buf = bytes(&[-100i8]);
        divide_by(DataType::Int8, &mut buf, 300);
        assert_eq!(buf, [0]);
        let mut buf = bytes(&[u64::MAX]);
        divide_by(DataType::Uint64, &mut buf, 2);
        assert_eq!(buf, bytes(&[u64::MAX / 2]));
    }
}
