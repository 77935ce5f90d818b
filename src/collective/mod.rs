//! What is measured: one file for each collective.
//!
//! A collective says its shape, its bandwidth rule, how to launch it and where each element of its
//! output comes from. It never times, allocates, checks or prints.

mod all_reduce;
mod all_to_all;

use crate::base::pattern::Stretch;
use crate::base::{Bytes, DataType, Fault, Rank, RedOp, Span, World};
use crate::ops::Ops;
use crate::record::InPlace;
use std::fmt::Debug;

/// Every collective, in the order in which lists show them.
pub const ALL: &[&dyn Collective] = &[&all_reduce::AllReduce, &all_to_all::AllToAll];

/// What a collective is.
pub trait Collective: Debug + Sync {
    /// The one spelling: command line, records, reports.
    fn name(&self) -> &'static str;

    /// nccl-tests' program for it, without `_perf`.
    fn nccl_tests_name(&self) -> &'static str;

    /// One line for lists.
    fn summary(&self) -> &'static str;

    /// Which of operator and root it takes, and whether its in-place form is defined.
    fn uses(&self) -> Uses;

    /// Counts for a requested size.
    fn layout(&self, want: Bytes, dtype: DataType, world: World) -> Layout;

    /// busbw / algbw; finite for every world.
    fn bus_factor(&self, world: World) -> f64;

    /// Enqueues one operation; does not wait and does not allocate.
    ///
    /// # Errors
    /// Those of the verbs it calls.
    fn launch(&self, ops: &dyn Ops, call: &Call) -> Result<(), Fault>;

    /// Where `rank`'s output comes from: consecutive stretches that cover it.
    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        world: World,
        root: Option<Rank>,
    ) -> Vec<Stretch>;
}

/// What a collective takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses {
    /// It reduces.
    pub redop: bool,
    /// It has a root.
    pub root: bool,
    /// NCCL defines its in-place form, so that the result can be checked.
    pub in_place: bool,
}

/// Counts of one operation, in elements for each rank unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The count argument of the call.
    pub count: u64,
    /// What each rank sends.
    pub send: u64,
    /// What each rank receives.
    pub recv: u64,
    /// Where the in-place form puts things.
    pub in_place: InPlace,
    /// The table's `size` column.
    pub size: Bytes,
    /// Numerator of algbw.
    pub algo_bytes: Bytes,
}

/// One operation on one rank's buffers.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// What this rank sends.
    pub send: Span,
    /// What this rank receives.
    pub recv: Span,
    /// Element type.
    pub dtype: DataType,
    /// Operator, for collectives that reduce.
    pub redop: Option<RedOp>,
    /// Root, for collectives that have one.
    pub root: Option<Rank>,
}

/// Finds a collective by its one spelling, an alias (`all_reduce`, `all-reduce`) or nccl-tests' program name.
///
/// # Errors
/// `Usage`, naming what is accepted.
pub fn by_name(text: &str) -> Result<&'static dyn Collective, Fault> {
    let wanted: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let wanted = wanted.to_ascii_lowercase();
    let wanted = wanted.strip_suffix("perf").unwrap_or(&wanted);
    ALL.iter()
        .copied()
        .find(|collective| collective.name() == wanted)
        .ok_or_else(|| {
            let names: Vec<_> = ALL.iter().map(|collective| collective.name()).collect();
            Fault::usage(format!(
                "unknown collective `{text}`; accepted: {}",
                names.join(", ")
            ))
        })
}

/// `count` rounded down to whole 16-byte vectors, as nccl-tests does where a buffer is cut into one part for each rank.
///
/// # Source
/// nccl-tests 2.19.6, `src/*.cu`, `*GetCollByteCount`.
fn aligned(count: u64, dtype: DataType) -> u64 {
    let vector = 16 / dtype.size();
    count / vector * vector
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLDS: [u32; 8] = [1, 2, 3, 4, 5, 7, 8, 4096];
    const SIZES: [u64; 6] = [1, 8, 100, 4096, 1 << 20, (1 << 30) + 8];

    #[test]
    fn names_are_unique_and_read_back_in_every_spelling() {
        for collective in ALL {
            for spelling in [
                collective.name(),
                collective.nccl_tests_name(),
                &format!("{}_perf", collective.nccl_tests_name()),
            ] {
                assert_eq!(by_name(spelling).unwrap().name(), collective.name());
            }
            assert!(!collective.summary().is_empty());
        }
        assert_eq!(by_name("all-reduce").unwrap().name(), "allreduce");
        assert!(
            by_name("allredux")
                .unwrap_err()
                .message
                .contains("alltoall")
        );
    }

    #[test]
    fn a_layout_never_exceeds_the_request_and_its_output_is_covered_exactly() {
        for collective in ALL {
            for world in WORLDS.map(World) {
                assert!(collective.bus_factor(world).is_finite());
                for (size, &dtype) in SIZES
                    .iter()
                    .flat_map(|size| DataType::ALL.iter().map(move |dtype| (*size, dtype)))
                {
                    let layout = collective.layout(Bytes(size), dtype, world);
                    assert!(layout.size.0 <= size, "{collective:?} {world} {size}");
                    assert_eq!(layout.size.0, layout.send.max(layout.recv) * dtype.size());
                    let last = Rank(world.0 - 1);
                    let stretches = collective.expected(last, &layout, world, None);
                    assert_eq!(
                        stretches.iter().map(|stretch| stretch.len).sum::<u64>(),
                        layout.recv
                    );
                }
            }
        }
    }
}
