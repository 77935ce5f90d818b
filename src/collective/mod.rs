//! What is measured: one file for each collective.
//!
//! A collective says its shape, its bandwidth rule, how to launch it and where each element of its
//! output comes from. It never times, allocates, checks or prints.

mod all_gather;
mod all_reduce;
mod all_to_all;
mod all_to_all_v;
mod broadcast;
mod gather;
mod hypercube;
mod reduce;
mod reduce_scatter;
mod scatter;
mod send_recv;

use crate::base::pattern::{Source, Stretch};
use crate::base::{Bytes, DataType, Fault, Rank, RedOp, Span, Traffic, Uneven, World};
use crate::ops::Ops;
use crate::record::InPlace;
use std::fmt::Debug;
use std::sync::Arc;

/// Every collective, in the order in which lists show them.
pub const ALL: &[&dyn Collective] = &[
    &all_reduce::AllReduce,
    &all_gather::AllGather,
    &reduce_scatter::ReduceScatter,
    &all_to_all::AllToAll,
    &all_to_all_v::AllToAllV,
    &broadcast::Broadcast,
    &reduce::Reduce,
    &gather::Gather,
    &scatter::Scatter,
    &send_recv::SendRecv,
    &hypercube::Hypercube,
];

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

    /// Counts for a requested size; `uneven` is for the collective whose parts differ in size.
    fn layout(&self, want: Bytes, dtype: DataType, world: World, uneven: &Uneven) -> Layout;

    /// busbw / algbw; finite for every world.
    fn bus_factor(&self, world: World) -> f64;

    /// With how many other ranks a rank exchanges messages, where those are few whatever the world: a
    /// library may then spare resources.
    fn p2p_peers(&self) -> Option<u32> {
        None
    }

    /// How many times [`Collective::launch`] is called for one operation, each time with the next
    /// `call.round`. What one round receives only a later one may send: rounds are never in one group.
    fn rounds(&self, _world: World) -> u32 {
        1
    }

    /// Enqueues one round of one operation; does not wait and does not allocate.
    ///
    /// # Errors
    /// Those of the verbs it calls.
    fn launch(&self, ops: &dyn Ops, call: &Call, layout: &Layout) -> Result<(), Fault>;

    /// Where `rank`'s output comes from: consecutive stretches that cover it.
    fn expected(
        &self,
        rank: Rank,
        layout: &Layout,
        world: World,
        root: Option<Rank>,
    ) -> Vec<Stretch>;
}

/// What a collective does with an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// It has none.
    None,
    /// It copies, and nccl-tests runs it for each operator all the same (`sendrecv`).
    Named,
    /// It reduces.
    Applied,
}

/// What a collective takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses {
    /// Whether it takes an operator, and what it does with it.
    pub redop: Operator,
    /// It has a root.
    pub root: bool,
    /// NCCL defines its in-place form, so that the result can be checked.
    pub in_place: bool,
    /// Its parts differ in size.
    pub uneven: bool,
}

/// Counts of one operation, in elements for each rank unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The count argument of the call.
    pub count: u64,
    /// What each rank sends, or the rank that sends the most.
    pub send: u64,
    /// What each rank receives, or the rank that receives the most.
    pub recv: u64,
    /// Where the in-place form puts things.
    pub in_place: InPlace,
    /// The table's `size` column.
    pub size: Bytes,
    /// Numerator of algbw.
    pub algo_bytes: Bytes,
    /// Who sends how much to whom, where parts differ in size.
    pub traffic: Option<Arc<Traffic>>,
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
    /// Which round of the operation it is, from 0.
    pub round: u32,
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

/// The layout of a collective whose buffers have one part for each rank on both sides; the count
/// argument is a part's. What has one part only on a side says so.
fn equal_parts(want: Bytes, dtype: DataType, world: World) -> Layout {
    let n = u64::from(world.0);
    let count = aligned(want.0 / dtype.size() / n, dtype);
    Layout {
        count,
        ..equal(count * n, dtype)
    }
}

/// [`equal_parts`] of which a rank sends one: its slot of the receive buffer where that is in place.
fn gathered(want: Bytes, dtype: DataType, world: World) -> Layout {
    let parts = equal_parts(want, dtype, world);
    Layout {
        send: parts.count,
        in_place: InPlace::SendInRecv {
            stride: parts.count,
        },
        ..parts
    }
}

/// [`equal_parts`] of which a rank receives one: its slot of the send buffer where that is in place.
fn scattered(want: Bytes, dtype: DataType, world: World) -> Layout {
    let parts = equal_parts(want, dtype, world);
    Layout {
        recv: parts.count,
        in_place: InPlace::RecvInSend {
            stride: parts.count,
        },
        ..parts
    }
}

/// The layout of a collective in which every rank sends and receives `count` elements.
fn equal(count: u64, dtype: DataType) -> Layout {
    let size = Bytes(count * dtype.size());
    Layout {
        count,
        send: count,
        recv: count,
        in_place: InPlace::Same,
        size,
        algo_bytes: size,
        traffic: None,
    }
}

/// The bus factor where of n parts one stays where it is.
fn all_but_one(world: World) -> f64 {
    let n = f64::from(world.0);
    (n - 1.0) / n
}

/// An output of one part of `count` elements from each rank, in their order.
fn one_from_each(count: u64, world: World) -> Vec<Stretch> {
    let part = |rank| Stretch {
        len: count,
        source: Source::Copied { rank, at: 0 },
    };
    world.ranks().map(part).collect()
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
                    let layout = collective.layout(Bytes(size), dtype, world, &Uneven::default());
                    assert!(layout.size.0 <= size, "{collective:?} {world} {size}");
                    assert_eq!(layout.size.0, layout.send.max(layout.recv) * dtype.size());
                    let last = Rank(world.0 - 1);
                    let root = collective.uses().root.then_some(last);
                    let stretches = collective.expected(last, &layout, world, root);
                    assert_eq!(
                        stretches.iter().map(|stretch| stretch.len).sum::<u64>(),
                        layout.recv
                    );
                }
            }
        }
    }
}
