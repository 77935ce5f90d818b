//! NCCL's log to facts, over all versions of NCCL and of its plugins that are known.
//!
//! A reader looks for one sort of line; what no reader knows is passed over. Network, provider and
//! fabric are separate facts: `Using network Libfabric` with the provider `tcp` is possible.
//!
//! # Source
//! NCCL 2.30.7: `src/init.cc`, `src/transport/{net,p2p,shm,coll_net,net_socket}.cc`,
//! `src/transport/net_ib/init.cc`, `src/graph/topo.cc`, `src/plugin/net.cc`, `src/mnnvl.cc`.
//! aws-ofi-nccl 1.7 to 1.21: `src/nccl_ofi_net.cpp`, `src/platform-aws.cpp` and what they were before.

use super::line::Level;
use super::line::message;
use crate::record::path::LogFacts;

/// Lines about trouble that are kept.
const TROUBLES: usize = 16;

/// Bytes of such a line, and of a variable's value, that are kept.
const MOST_BYTES: usize = 200;

/// What a line tells.
type Reader = fn(&str, &mut LogFacts);

const READERS: &[Reader] = &[
    version, network, plugin, ofi, provider, protocol, platform, channel, collnet, size, mnnvl,
    gpu_direct, interfaces, setting, trouble,
];

/// The facts of a whole log.
pub fn facts(log: &str) -> LogFacts {
    let mut facts = LogFacts::default();
    for line in log.lines() {
        read(line, &mut facts);
    }
    facts
}

/// Adds what one line tells, if it is NCCL's.
pub fn read(line: &str, facts: &mut LogFacts) {
    let Some((level, said)) = message(line) else {
        return;
    };
    facts.lines += 1;
    if level == Level::Warn {
        keep_trouble(said, facts);
    }
    for reader in READERS {
        reader(said, facts);
    }
}

/// The facts of two logs together.
pub fn merge(into: &mut LogFacts, other: &LogFacts) {
    into.lines += other.lines;
    let counts = [
        (&mut into.networks, &other.networks),
        (&mut into.providers, &other.providers),
        (&mut into.local_channels, &other.local_channels),
    ];
    for (mine, theirs) in counts {
        for (name, count) in theirs {
            *mine.entry(name.clone()).or_default() += count;
        }
    }
    for (name, channels) in &other.net_channels {
        let mine = into.net_channels.entry(name.clone()).or_default();
        mine.all += channels.all;
        mine.gpu_direct += channels.gpu_direct;
    }
    let words = [
        (&mut into.nccl, &other.nccl),
        (&mut into.plugins, &other.plugins),
        (&mut into.aws_ofi_nccl, &other.aws_ofi_nccl),
        (&mut into.libfabric, &other.libfabric),
        (&mut into.fabrics, &other.fabrics),
        (&mut into.protocols, &other.protocols),
        (&mut into.platforms, &other.platforms),
        (&mut into.instances, &other.instances),
        (&mut into.gpu_direct_on, &other.gpu_direct_on),
        (&mut into.gpu_direct_off, &other.gpu_direct_off),
        (&mut into.interfaces, &other.interfaces),
        (&mut into.ib_ports, &other.ib_ports),
    ];
    for (mine, theirs) in words {
        mine.extend(theirs.iter().cloned());
    }
    for trouble in &other.troubles {
        keep_trouble(trouble, into);
    }
    into.nics.extend(&other.nics);
    into.ranks.extend(&other.ranks);
    into.nodes.extend(&other.nodes);
    into.nvlink_domain = into.nvlink_domain.max(other.nvlink_domain);
    into.settings.extend(other.settings.clone());
}

/// The rest of `said` behind `start`, trimmed.
fn after<'a>(said: &'a str, start: &str) -> Option<&'a str> {
    let (_, rest) = said.split_once(start)?;
    Some(rest.trim()).filter(|rest| !rest.is_empty())
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

fn version(said: &str, facts: &mut LogFacts) {
    if let Some(version) = after(said, "NCCL version ") {
        facts.nccl.insert(first_word(version).to_owned());
    }
}

/// `Using network AWS Libfabric`: the name goes to the end of the line.
fn network(said: &str, facts: &mut LogFacts) {
    if let Some(name) = said.strip_prefix("Using network ") {
        *facts.networks.entry(name.trim().to_owned()).or_default() += 1;
    }
}

/// `NET/Plugin: Loaded net plugin Libfabric (v11)`; older: `NET/Plugin : Loaded net plugin …`.
fn plugin(said: &str, facts: &mut LogFacts) {
    if !said.starts_with("NET/Plugin") {
        return;
    }
    let name = after(said, "Loaded net plugin ").or_else(|| after(said, "Using net plugin "));
    facts.plugins.extend(name.map(str::to_owned));
}

/// `NET/OFI Initializing aws-ofi-nccl 1.21.1`, `NET/OFI Using Libfabric version 2.6`.
fn ofi(said: &str, facts: &mut LogFacts) {
    let keep = |version: &str| first_word(version).to_owned();
    if said.contains("Initializing aws-ofi-nccl") || said.contains("Using aws-ofi-nccl") {
        let version = after(said, "aws-ofi-nccl ").map(keep);
        facts.aws_ofi_nccl.extend(version);
    }
    let libfabric = after(said, "Using Libfabric version ").map(keep);
    facts.libfabric.extend(libfabric);
}

/// `Selected Provider is efa (found 4 nics)`, `Selected provider is efa, fabric is efa-direct (found 8 nics)`.
fn provider(said: &str, facts: &mut LogFacts) {
    let lower = said.to_ascii_lowercase();
    let Some(at) = lower.find("selected provider is ") else {
        return;
    };
    let rest = &said[at + "selected provider is ".len()..];
    let (rest, found) = match rest.split_once(" (found ") {
        Some((rest, found)) => (rest, Some(found)),
        None => (rest, None),
    };
    let (name, fabric) = match rest.split_once(", fabric is ") {
        Some((name, fabric)) => (name, Some(fabric)),
        None => (rest, None),
    };
    let name = name.trim().trim_end_matches(',').to_owned();
    *facts.providers.entry(name).or_default() += 1;
    facts
        .fabrics
        .extend(fabric.map(|name| name.trim().to_owned()));
    let nics = found.and_then(|found| first_word(found).parse().ok());
    facts.nics.extend(nics.iter());
}

/// `Using transport protocol RDMA (platform set)`.
fn protocol(said: &str, facts: &mut LogFacts) {
    if let Some(name) = after(said, "Using transport protocol ") {
        facts.protocols.insert(first_word(name).to_owned());
    }
}

/// `Plugin selected platform: AWS`, `Running on p4d.24xlarge platform, …`.
fn platform(said: &str, facts: &mut LogFacts) {
    if let Some(name) = after(said, "Plugin selected platform: ") {
        facts.platforms.insert(first_word(name).to_owned());
    }
    if let Some(rest) = after(said, "Running on ")
        && let Some((name, _)) = rest.split_once(" platform")
    {
        facts.instances.insert(name.to_owned());
    }
}

/// `Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0(3)/GDRDMA(PCI)/Shared`, `… via P2P/CUMEM`.
fn channel(said: &str, facts: &mut LogFacts) {
    if !said.starts_with("Channel ") {
        return;
    }
    let Some(way) = after(said, " via ") else {
        return;
    };
    if let Some(rest) = way.strip_prefix("NET/") {
        over_network(rest.split('/').next().unwrap_or(rest), rest, facts);
    } else {
        let parts: Vec<&str> = way.split('/').take(2).collect();
        *facts.local_channels.entry(parts.join("/")).or_default() += 1;
    }
}

/// `CollNet 00/0 : 1 [send] via COLLNET/SHARP/0/GDRDMA`: a network that reduces.
fn collnet(said: &str, facts: &mut LogFacts) {
    if let Some(rest) = after(said, " via COLLNET/") {
        let name = rest.split('/').next().unwrap_or(rest);
        over_network(&format!("COLLNET/{name}"), rest, facts);
    }
}

fn over_network(name: &str, way: &str, facts: &mut LogFacts) {
    let channels = facts.net_channels.entry(name.to_owned()).or_default();
    channels.all += 1;
    channels.gpu_direct += u64::from(way.contains("/GDRDMA"));
}

/// The number behind a word: `nRanks 4`.
fn number(said: &str, word: &str) -> Option<u32> {
    let mut words = said.split_whitespace();
    words.find(|one| *one == word)?;
    words.next()?.trim_end_matches(',').parse().ok()
}

/// `comm 0x55 rank 1 nRanks 4 nNodes 2 localRanks 2 localRank 1 MNNVL 0`.
fn size(said: &str, facts: &mut LogFacts) {
    if let Some(nodes) = number(said, "nNodes") {
        facts.nodes.insert(nodes);
        facts.ranks.extend(number(said, "nRanks").iter());
    } else if said.starts_with("ncclCommInit") {
        facts.ranks.extend(number(said, "nranks").iter());
    }
}

/// `MNNVL 1 cliqueId 0 cliqueSize 8 cliqueRank 3`.
fn mnnvl(said: &str, facts: &mut LogFacts) {
    if said.starts_with("MNNVL 1 ") {
        facts.nvlink_domain = facts.nvlink_domain.max(number(said, "cliqueSize"));
    }
}

/// `NET/Libfabric : GPU Direct RDMA Enabled for HCA 0 'rdmap16s27'`.
fn gpu_direct(said: &str, facts: &mut LogFacts) {
    let Some(rest) = after(said, "GPU Direct RDMA ") else {
        return;
    };
    let Some(name) = rest.split('\'').nth(1) else {
        return;
    };
    match first_word(rest) {
        "Enabled" => facts.gpu_direct_on.insert(name.to_owned()),
        "Disabled" => facts.gpu_direct_off.insert(name.to_owned()),
        _ => false,
    };
}

/// `NET/Socket : Using [0]eth0:10.0.0.1<0> [1]…`, `NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:…`.
fn interfaces(said: &str, facts: &mut LogFacts) {
    let listed = |said: &str, start: &str| -> Vec<String> {
        let list = after(said, start).unwrap_or_default();
        let list = list.split("; OOB").next().unwrap_or_default();
        let entry = |word: &str| Some(word.strip_prefix('[')?.split_once(']')?.1.to_owned());
        let entries = list.split_whitespace().filter_map(entry);
        entries.filter(|entry| !entry.is_empty()).collect()
    };
    let name = |entry: String| entry.split(':').next().unwrap_or_default().to_owned();
    let sockets = listed(said, "NET/Socket : Using ").into_iter().map(name);
    facts.interfaces.extend(sockets);
    facts.ib_ports.extend(listed(said, "NET/IB : Using "));
}

/// `NCCL_NET set by environment to Socket`.
fn setting(said: &str, facts: &mut LogFacts) {
    if let Some((name, value)) = said.split_once(" set by environment to ")
        && name.starts_with("NCCL_")
        && !name.contains(' ')
    {
        let value = value.trim_end_matches('.');
        facts
            .settings
            .insert(name.to_owned(), cut(value).to_owned());
    }
}

/// Words of lines that tell of trouble with the network.
const TROUBLE: [&str; 8] = [
    "Could not find: libnccl-net",
    "No plugin found",
    "Plugin load (",
    "No eligible providers",
    "aws-ofi-nccl initialization failed",
    "EFA provider requires",
    "GDR disabled on GDR-supported instance",
    "Failed to initialize NET plugin",
];

/// That NCCL's own InfiniBand finds no device is usual on EFA.
fn trouble(said: &str, facts: &mut LogFacts) {
    let usual = said.trim_end() == "Failed to initialize NET plugin IB";
    if !usual && TROUBLE.iter().any(|words| said.contains(words)) {
        keep_trouble(said, facts);
    }
}

fn keep_trouble(said: &str, facts: &mut LogFacts) {
    if facts.troubles.len() < TROUBLES {
        facts.troubles.insert(cut(said.trim()).to_owned());
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests;
