//! How many bytes operations must send from node to node: what counters are held against.

use serde::{Deserialize, Serialize};

/// Operations that were run alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The collective's one spelling.
    pub collective: String,
    /// The table's size in bytes.
    pub size: u64,
    /// The root, for collectives that have one.
    pub root: Option<u32>,
    /// How often it was run.
    pub times: u64,
}

/// What all nodes together must have sent to others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Needed {
    /// The least, whatever the algorithm.
    pub least: f64,
    /// The most that the usual algorithms send; twice that of the longest way, since the low-latency
    /// protocol sends a flag with every word.
    pub most: f64,
    /// Whether all ranks send to other nodes, so that all NICs have work.
    pub even: bool,
}

/// Sums up operations over ranks whose nodes are `nodes`, by rank; none where the parts of an
/// operation are not known (`alltoallv`).
///
/// # Units
/// Bytes, over all nodes together.
///
/// # Source
/// Ring and tree: NVIDIA nccl-tests, `doc/PERFORMANCE.md`, and a ring's one crossing of each node's
/// border for each channel; a tree's nodes but one pass the data up and down once.
pub fn needed(operations: &[Operation], nodes: &[u32]) -> Option<Needed> {
    let mut sum = Needed {
        even: true,
        ..Needed::default()
    };
    for operation in operations {
        let (least, most, even) = one(operation, nodes)?;
        let times = float(operation.times);
        sum.least += least * times;
        sum.most += most * times * LOW_LATENCY;
        sum.even &= even;
    }
    Some(sum)
}

/// NCCL's protocol LL sends four bytes of flag with four of data.
const LOW_LATENCY: f64 = 2.0;

#[expect(
    clippy::cast_precision_loss,
    reason = "an estimate, and 2^53 bytes is past any operation"
)]
fn float(number: u64) -> f64 {
    number as f64
}

/// Least and most bytes of one operation, and whether all ranks send to other nodes.
fn one(operation: &Operation, nodes: &[u32]) -> Option<(f64, f64, bool)> {
    let size = float(operation.size);
    let ranks = float(nodes.len() as u64);
    let node_count = float(count(nodes));
    let between = (node_count - 1.0) * size;
    let ring = node_count * (ranks - 1.0) / ranks * size;
    if node_count < 2.0 {
        return Some((0.0, 0.0, false));
    }
    let exactly = |bytes: f64, even| Some((bytes, bytes, even));
    match operation.collective.as_str() {
        "allreduce" => Some((2.0 * between, 2.0 * ring, true)),
        "allgather" | "reducescatter" => Some((between, ring, true)),
        "broadcast" | "reduce" => Some((between, node_count * size, false)),
        "gather" | "scatter" => exactly(beside_root(operation, nodes)? * size / ranks, false),
        "alltoall" => exactly(pairs(nodes) * size / ranks, true),
        "sendrecv" => exactly(
            crossings(nodes, |rank| (rank + 1) % nodes.len()) * size,
            false,
        ),
        "hypercube" => exactly(hypercube(nodes) * size / ranks, true),
        _ => None,
    }
}

fn count(nodes: &[u32]) -> u64 {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len() as u64
}

/// Ranks that are not on the root's node.
fn beside_root(operation: &Operation, nodes: &[u32]) -> Option<f64> {
    let root = nodes.get(operation.root? as usize)?;
    let others = nodes.iter().filter(|node| *node != root).count();
    Some(float(others as u64))
}

/// Ordered pairs of ranks on different nodes.
fn pairs(nodes: &[u32]) -> f64 {
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    let same = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| group.len() * group.len());
    let all = nodes.len() * nodes.len();
    float((all - same.sum::<usize>()) as u64)
}

/// Ranks whose peer is on another node.
fn crossings(nodes: &[u32], peer: impl Fn(usize) -> usize) -> f64 {
    let crosses = |rank: &usize| {
        nodes
            .get(peer(*rank))
            .is_some_and(|node| *node != nodes[*rank])
    };
    float((0..nodes.len()).filter(crosses).count() as u64)
}

/// Parts that cross: in the round of `mask` every rank sends `mask` parts to its neighbour there.
fn hypercube(nodes: &[u32]) -> f64 {
    let masks = (0..usize::BITS)
        .map(|bit| 1usize << bit)
        .take_while(|mask| *mask < nodes.len());
    masks
        .map(|mask| float(mask as u64) * crossings(nodes, |rank| rank ^ mask))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(collective: &str, nodes: &[u32]) -> Needed {
        let operation = Operation {
            collective: collective.to_owned(),
            size: 1600,
            root: Some(0),
            times: 3,
        };
        needed(&[operation], nodes).unwrap()
    }

    /// Two nodes of eight ranks.
    fn two_nodes() -> Vec<u32> {
        (0..16).map(|rank| rank / 8).collect()
    }

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-6, "{got} and not {expected}");
    }

    #[test]
    fn an_all_reduce_sends_between_a_tree_and_a_ring_of_the_low_latency_protocol() {
        let needed = of("allreduce", &two_nodes());
        // a tree: 2(k-1)/k S for each of k = 2 nodes; a ring: 2(N-1)/N S
        close(needed.least, 3.0 * 2.0 * 1600.0);
        close(needed.most, 3.0 * 2.0 * 2.0 * 2.0 * 15.0 / 16.0 * 1600.0);
    }

    #[test]
    fn an_all_to_all_sends_every_part_that_is_for_another_node() {
        // g S (N-g)/N out of each node
        close(
            of("alltoall", &two_nodes()).least,
            3.0 * 2.0 * 8.0 * 1600.0 * 8.0 / 16.0,
        );
        // nodes of 1 and 2 ranks: 4 of 9 ordered pairs cross
        close(of("alltoall", &[0, 1, 1]).least, 3.0 * 4.0 * 1600.0 / 3.0);
    }

    #[test]
    fn sends_and_receives_cross_where_the_next_rank_is_elsewhere() {
        close(of("sendrecv", &two_nodes()).least, 3.0 * 2.0 * 1600.0);
        close(of("sendrecv", &[0, 1, 0, 1]).least, 3.0 * 4.0 * 1600.0);
        close(of("gather", &[0, 0, 1, 2]).least, 3.0 * 2.0 * 400.0);
        // rounds of 1, 2 parts among 4 ranks on 2 nodes: only the second crosses, by all ranks
        close(of("hypercube", &[0, 0, 1, 1]).least, 3.0 * 8.0 * 400.0);
    }

    #[test]
    fn on_one_node_nothing_is_needed_and_uneven_parts_are_not_foretold() {
        close(of("allreduce", &[0, 0, 0]).least, 0.0);
        let uneven = Operation {
            collective: "alltoallv".to_owned(),
            size: 1,
            root: None,
            times: 1,
        };
        assert_eq!(needed(&[uneven], &[0, 1]), None);
    }
}
