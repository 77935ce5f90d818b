//! A reduction as one rank computes it: in rank order, step by step through private memory.
//!
//! What the operators mean is `base::arith`'s; here is only when scaling and dividing happen, which
//! is as in the library under test.
//!
//! # Source
//! NCCL 2.30, `src/enqueue.cc`, `hostToDevRedOp`: averages of floats scale each input by 1/n,
//! averages of integers divide the sum, `PreMulSum` scales each input by its rank's scalar.

use crate::base::DataType;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::World;
use crate::base::arith;
use crate::base::pattern;

/// Bytes that are folded at a time: two such buffers stay in a first-level cache.
pub(super) const STEP: usize = 16 << 10;

/// An operator on a datatype over a world.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fold {
    pub(super) dtype: DataType,
    pub(super) redop: RedOp,
    pub(super) world: World,
}

impl Fold {
    /// Bytes of one element.
    pub(super) fn size(self) -> usize {
        usize::try_from(self.dtype.size()).unwrap_or(8)
    }

    /// Does to a rank's input what comes before it is combined.
    pub(super) fn prepare(self, rank: Rank, input: &mut [u8]) {
        match self.redop {
            RedOp::Avg if self.dtype.is_float() => {
                let bits = arith::reciprocal_bits(self.dtype, self.world.0);
                arith::scale(self.dtype, input, bits);
            }
            RedOp::MulSum => {
                let bits = pattern::mulsum_scalar_bits(self.dtype, rank);
                arith::scale(self.dtype, input, bits);
            }
            _ => {}
        }
    }

    /// Combines what has been gathered with one more.
    pub(super) fn combine(self, gathered: &mut [u8], more: &[u8]) {
        arith::reduce_into(self.dtype, self.redop, gathered, more);
    }

    /// Does to the whole reduction what comes last.
    pub(super) fn finish(self, gathered: &mut [u8]) {
        if self.redop == RedOp::Avg {
            arith::divide_by(self.dtype, gathered, self.world.0);
        }
    }
}

/// Fetches a stretch of the n-th input.
pub(super) type Load<'a, E> = dyn FnMut(usize, &mut [u8]) -> Result<(), E> + 'a;

/// Two private buffers to fold in.
#[derive(Debug)]
pub(super) struct Scratch {
    gathered: Vec<u8>,
    more: Vec<u8>,
}

impl Scratch {
    /// Two buffers of [`STEP`] bytes.
    pub(super) fn new() -> Self {
        Self {
            gathered: vec![0; STEP],
            more: vec![0; STEP],
        }
    }

    /// Folds `len` bytes of the inputs of `ranks`, in their order; `load` fetches the input of the
    /// `n`-th of them. The result is not finished.
    ///
    /// # Errors
    /// Those of `load`.
    pub(super) fn fold<E>(
        &mut self,
        fold: Fold,
        ranks: &[Rank],
        len: usize,
        load: &mut Load<'_, E>,
    ) -> Result<&mut [u8], E> {
        let (gathered, more) = (&mut self.gathered[..len], &mut self.more[..len]);
        for (index, rank) in ranks.iter().enumerate() {
            if index == 0 {
                load(index, gathered)?;
                fold.prepare(*rank, gathered);
            } else {
                load(index, more)?;
                fold.prepare(*rank, more);
                fold.combine(gathered, more);
            }
        }
        Ok(gathered)
    }
}

/// Part `index` of `count` elements cut into `parts`, as even as can be: first element and number.
pub(super) fn cut(count: usize, parts: usize, index: usize) -> (usize, usize) {
    let (each, rest) = (count / parts, count % parts);
    (
        index * each + index.min(rest),
        each + usize::from(index < rest),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_cut_cover_everything_once() {
        for (count, parts) in [(0, 3), (2, 5), (7, 7), (1000, 7), (65537, 4)] {
            let mut end = 0;
            for index in 0..parts {
                let (start, len) = cut(count, parts, index);
                assert_eq!(start, end);
                end += len;
            }
            assert_eq!(end, count);
        }
    }

    #[test]
    fn an_average_of_integers_divides_the_sum_and_one_of_floats_scales_the_inputs() {
        let of = |dtype| Fold {
            dtype,
            redop: RedOp::Avg,
            world: World(3),
        };
        let mut scratch = Scratch::new();
        let inputs = [7_i32, -4, -9];
        let mut load = |index: usize, into: &mut [u8]| -> Result<(), ()> {
            into.copy_from_slice(&inputs[index].to_le_bytes());
            Ok(())
        };
        let ranks = [Rank(0), Rank(1), Rank(2)];
        let sum = scratch
            .fold(of(DataType::Int32), &ranks, 4, &mut load)
            .unwrap();
        of(DataType::Int32).finish(sum);
        assert_eq!(sum, (-2_i32).to_le_bytes());
        let third = 1.0_f32 / 3.0;
        let mut input = 1.0_f32.to_le_bytes();
        of(DataType::Float).prepare(Rank(1), &mut input);
        of(DataType::Float).finish(&mut input);
        assert_eq!(input, third.to_le_bytes());
    }
}
