//! Who the processes of a run are, and how messages name them.
//!
//! Pure: what a process says of itself arrives by its launcher's caller and travels in the hello.

use crate::base::fault::Place;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::net::IpAddr;

/// This process and its machine, as they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Here {
    /// Host name, up to the first dot.
    pub host: String,
    /// Host name, boot id and network namespace, or `--host-label`.
    pub identity: String,
    /// Process id.
    pub pid: u32,
    /// Version of the program.
    pub version: String,
    /// Addresses at which others may reach this host, best first.
    pub addresses: Vec<IpAddr>,
}

impl Here {
    /// What to say of it to others, for a process that holds `ranks` ranks.
    pub fn introduce(&self, ranks: u32) -> PeerInfo {
        PeerInfo {
            host: self.host.clone(),
            identity: self.identity.clone(),
            pid: self.pid,
            version: self.version.clone(),
            ranks,
        }
    }
}

/// What a process says of itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerInfo {
    /// Host name, up to the first dot.
    pub host: String,
    /// Host name, boot id and network namespace, or `--host-label`.
    pub identity: String,
    /// Process id on its host.
    pub pid: u32,
    /// Version of the program.
    pub version: String,
    /// Ranks that the process holds; the same for all processes.
    pub ranks: u32,
}

/// A process's place among the processes of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalPlace {
    /// Its index, in the order of the processes.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

/// Counts `member` among those of the same host identity.
pub fn local_place(peers: &[PeerInfo], member: usize) -> LocalPlace {
    let mine = peers.get(member).map(|peer| &peer.identity);
    let here = |peers: &[PeerInfo]| {
        let same = peers
            .iter()
            .filter(|peer| Some(&peer.identity) == mine)
            .count();
        u32::try_from(same).unwrap_or(u32::MAX)
    };
    LocalPlace {
        index: here(&peers[..member.min(peers.len())]),
        count: here(peers),
    }
}

/// Whether all processes share one host identity.
pub fn one_host(peers: &[PeerInfo]) -> bool {
    peers
        .windows(2)
        .all(|pair| pair[0].identity == pair[1].identity)
}

/// `rank 3 (node2, pid 4711)`, or `ranks 4–7 (…)` where a process holds several.
pub fn describe(peer: &PeerInfo, member: usize) -> String {
    let ranks = ranks_of(peer.ranks, member);
    format!("{ranks} ({}, pid {})", peer.host, peer.pid)
}

/// Where a process is, for a fault that it met.
pub fn place(peer: &PeerInfo, member: usize) -> Place {
    Place {
        rank: first_rank(peer.ranks, member),
        host: peer.host.clone(),
        gpu: None,
    }
}

/// `rank 3` or `ranks 4–7`.
pub fn ranks_of(ranks_per_process: u32, member: usize) -> String {
    let first = first_rank(ranks_per_process, member);
    match ranks_per_process {
        0 | 1 => format!("rank {first}"),
        several => format!("ranks {first}–{}", first.saturating_add(several - 1)),
    }
}

pub(super) fn first_rank(ranks_per_process: u32, member: usize) -> u32 {
    let member = u32::try_from(member).unwrap_or(u32::MAX);
    member.saturating_mul(ranks_per_process.max(1))
}

/// The ranks of some processes as people read them: `8, 10–15`. `members` is in order.
pub fn rank_list(ranks_per_process: u32, members: &[usize]) -> String {
    let each = ranks_per_process.max(1);
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &member in members {
        let first = first_rank(each, member);
        match spans.last_mut() {
            Some((_, end)) if *end == first => *end = first.saturating_add(each),
            _ => spans.push((first, first.saturating_add(each))),
        }
    }
    let mut text = String::new();
    for (start, end) in spans {
        let comma = if text.is_empty() { "" } else { ", " };
        // writing to a String cannot fail
        let _ = match end - start {
            1 => write!(text, "{comma}{start}"),
            2 => write!(text, "{comma}{start}, {}", end - 1),
            _ => write!(text, "{comma}{start}–{}", end - 1),
        };
    }
    text
}

/// `rank 3 (node2)` or `ranks 3, 5–7 (node2)`.
pub fn named_ranks(peers: &[PeerInfo], members: &[usize]) -> String {
    let each = peers.first().map_or(1, |peer| peer.ranks);
    let one = each <= 1 && members.len() == 1;
    let word = if one { "rank" } else { "ranks" };
    format!("{word} {}", ranks_with_hosts(peers, members))
}

/// Which process holds a rank.
pub fn member_of(peers: &[PeerInfo], rank: u32) -> usize {
    let each = peers.first().map_or(1, |peer| peer.ranks.max(1));
    usize::try_from(rank / each).unwrap_or(usize::MAX)
}

/// As [`rank_list`], with the hosts behind: `8, 10–15 (node-b)`; from four hosts on, their number.
pub fn ranks_with_hosts(peers: &[PeerInfo], members: &[usize]) -> String {
    let each = peers.first().map_or(1, |peer| peer.ranks);
    let mut hosts: Vec<&str> = members
        .iter()
        .filter_map(|&member| peers.get(member))
        .map(|peer| peer.host.as_str())
        .collect();
    hosts.dedup();
    let list = rank_list(each, members);
    match hosts.len() {
        0 => list,
        1..=3 => format!("{list} ({})", hosts.join(", ")),
        many => format!("{list} ({many} hosts)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(host: &str, ranks: u32) -> PeerInfo {
        PeerInfo {
            host: host.to_owned(),
            identity: format!("{host}/boot/netns"),
            pid: 7,
            version: "0".to_owned(),
            ranks,
        }
    }

    #[test]
    fn ranks_in_a_row_are_written_as_a_span() {
        assert_eq!(rank_list(1, &[8, 10, 11, 12, 15, 16]), "8, 10–12, 15, 16");
        assert_eq!(rank_list(4, &[1, 2, 5]), "4–11, 20–23");
        assert_eq!(rank_list(1, &[]), "");
    }

    #[test]
    fn a_process_is_counted_among_those_of_its_own_host_only() {
        let peers: Vec<_> = ["a", "a", "b", "a", "b"].map(|host| peer(host, 1)).into();
        assert_eq!(local_place(&peers, 3), LocalPlace { index: 2, count: 3 });
        assert_eq!(local_place(&peers, 4), LocalPlace { index: 1, count: 2 });
        assert!(!one_host(&peers));
        assert!(one_host(&peers[..2]));
    }

    #[test]
    fn a_process_is_named_by_its_ranks_host_and_pid() {
        assert_eq!(describe(&peer("a", 1), 0), "rank 0 (a, pid 7)");
        let four = [peer("a", 4), peer("b", 4)];
        assert_eq!(describe(&four[1], 1), "ranks 4–7 (b, pid 7)");
        assert_eq!(ranks_with_hosts(&four, &[0, 1]), "0–7 (a, b)");
    }
}
