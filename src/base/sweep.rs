//! The sizes of a sweep, by nccl-tests' rules, with what would never end refused.

use super::{Bytes, Fault};
use serde::{Deserialize, Serialize};

/// How one size leads to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Multiply; at least 2.
    Factor(u64),
    /// Add; at least 1 byte.
    Bytes(u64),
}

/// From the smallest to the largest size, both included where the steps meet them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// Smallest size.
    pub min: Bytes,
    /// Largest size.
    pub max: Bytes,
    /// What lies between.
    pub step: Step,
}

impl Sweep {
    /// A sweep that ends.
    ///
    /// # Errors
    /// `Usage` if it would be empty or endless: `min > max`, a factor below 2 or a step of 0.
    /// `min = 0` is endless under a factor only if there is more than the one size.
    pub fn new(min: Bytes, max: Bytes, step: Step) -> Result<Self, Fault> {
        if min > max {
            let (min, max) = (min.0, max.0);
            return Err(Fault::usage(format!(
                "the smallest size, {min} B, is above the largest, {max} B"
            ))
            .hint("give both `-b MIN` and `-e MAX`"));
        }
        match step {
            Step::Factor(0 | 1) => Err(Fault::usage("a step factor must be at least 2")),
            Step::Bytes(0) => Err(Fault::usage(
                "a step of 0 bytes never ends; expected at least 1",
            )),
            Step::Factor(_) if min.0 == 0 => Err(Fault::usage(
                "a sweep by a factor cannot start at 0 bytes; expected `-b` of at least 1",
            )),
            _ => Ok(Self { min, max, step }),
        }
    }

    /// The sizes, ascending.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `TimeTest`.
    pub fn sizes(self) -> impl Iterator<Item = Bytes> {
        std::iter::successors(Some(self.min), move |size| self.next(*size))
            .take_while(move |size| *size <= self.max)
    }

    /// The warm-up sizes: always doubling, whatever the step.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `TimeTest`.
    pub fn warmup_sizes(self) -> impl Iterator<Item = Bytes> {
        let first = Bytes(self.min.0.max(1));
        std::iter::successors(Some(first), |size| size.0.checked_mul(2).map(Bytes))
            .take_while(move |size| *size <= self.max)
    }

    /// The same sweep with nothing above `limit`.
    #[must_use]
    pub fn clamped(self, limit: Bytes) -> Self {
        Self {
            min: self.min.min(limit),
            max: self.max.min(limit),
            step: self.step,
        }
    }

    fn next(self, size: Bytes) -> Option<Bytes> {
        match self.step {
            Step::Factor(factor) => size.0.checked_mul(factor).map(Bytes),
            Step::Bytes(bytes) => size.0.checked_add(bytes).map(Bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn eight_bytes_to_16_gib_by_two_is_32_sizes() {
        let sweep = Sweep::new(Bytes(8), Bytes(16 << 30), Step::Factor(2)).unwrap();
        let sizes: Vec<_> = sweep.sizes().collect();
        assert_eq!(
            (sizes.len(), sizes[0], sizes[31]),
            (32, Bytes(8), Bytes(16 << 30))
        );
    }

    #[test]
    fn a_sweep_that_would_never_end_is_refused() {
        for (min, step) in [
            (0, Step::Factor(2)),
            (8, Step::Factor(1)),
            (8, Step::Bytes(0)),
        ] {
            assert!(Sweep::new(Bytes(min), Bytes(64), step).is_err());
        }
        assert!(Sweep::new(Bytes(65), Bytes(64), Step::Factor(2)).is_err());
    }

    proptest! {
        #[test]
        fn sizes_ascend_within_the_bounds_and_start_at_the_first(
            min in 1u64..5000, more in 0u64..1 << 20, factor in 2u64..9, by_step: bool
        ) {
            let step = if by_step { Step::Bytes(factor * 4096) } else { Step::Factor(factor) };
            let sweep = Sweep::new(Bytes(min), Bytes(min + more), step).unwrap();
            let sizes: Vec<_> = sweep.sizes().collect();
            prop_assert_eq!(sizes[0], Bytes(min));
            prop_assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(*sizes.last().unwrap() <= sweep.max);
        }
    }
}
