//! What each rank does in a round: whom it sends to and whom it receives from.

use super::Pairs;

/// The partner that a rank sends to and the one that it receives from; none has nothing to do.
pub type Move = Option<(u32, u32)>;

/// A node and its ranks, in the order of their rails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its host's name.
    pub name: String,
    /// Its ranks, the one of rail 0 first.
    pub ranks: Vec<u32>,
}

/// Nodes that exchange: each rank with the rank of its rail; a rail that only one of them has rests.
pub fn of_nodes(nodes: &[Node], pairs: &Pairs, world: usize) -> Vec<Move> {
    let mut moves = vec![None; world];
    for &(a, b) in pairs {
        for (&left, &right) in nodes[a].ranks.iter().zip(&nodes[b].ranks) {
            moves[left as usize] = Some((right, right));
            moves[right as usize] = Some((left, left));
        }
    }
    moves
}

/// Ranks that exchange.
pub fn of_ranks(pairs: &Pairs, world: usize) -> Vec<Move> {
    let mut moves = vec![None; world];
    for &(a, b) in pairs {
        moves[a] = number(b).map(|peer| (peer, peer));
        moves[b] = number(a).map(|peer| (peer, peer));
    }
    moves
}

fn number(index: usize) -> Option<u32> {
    u32::try_from(index).ok()
}

/// Every node by itself: a ring of its ranks. A node of one rank rests.
pub fn alone(nodes: &[Node], world: usize) -> Vec<Move> {
    let mut moves = vec![None; world];
    for node in nodes.iter().filter(|node| node.ranks.len() > 1) {
        ring(&mut moves, &node.ranks);
    }
    moves
}

/// A ring of nodes on each rail, over the first of them that are given.
pub fn across(nodes: &[Node], world: usize) -> Vec<Move> {
    let mut moves = vec![None; world];
    let rails = nodes.iter().map(|node| node.ranks.len()).min().unwrap_or(0);
    for rail in 0..rails {
        let ranks: Vec<u32> = nodes.iter().map(|node| node.ranks[rail]).collect();
        if ranks.len() > 1 {
            ring(&mut moves, &ranks);
        }
    }
    moves
}

fn ring(moves: &mut [Move], ranks: &[u32]) {
    let count = ranks.len();
    for (at, &rank) in ranks.iter().enumerate() {
        let (next, before) = (ranks[(at + 1) % count], ranks[(at + count - 1) % count]);
        moves[rank as usize] = Some((next, before));
    }
}
