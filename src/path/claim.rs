//! What a log alone says about the path.

use crate::record::path::{LogFacts, Verdict};
use std::collections::BTreeSet;

/// A verdict of one sort of evidence, with the reason where it is unknown or degraded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) verdict: Verdict,
    pub(super) reason: Option<String>,
}

impl Claim {
    pub(super) fn sure(verdict: Verdict) -> Self {
        Self {
            verdict,
            reason: None,
        }
    }

    pub(super) fn unknown(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Unknown,
            reason: Some(reason.into()),
        }
    }
}

/// What a log says. Channels are what was connected; the network's name is only what was chosen.
pub(super) fn of_log(facts: &LogFacts) -> Claim {
    if facts.lines == 0 {
        return Claim::unknown("there is no line of NCCL in the log");
    }
    if !facts.net_channels.is_empty() {
        return of_networks(facts.net_channels.keys(), facts);
    }
    if facts.ranks.iter().max() == Some(&1) {
        return Claim::unknown("a communicator of one rank sends nothing");
    }
    let nodes = facts.nodes.iter().max().copied();
    let spans = facts.nvlink_domain.zip(facts.ranks.iter().max().copied());
    let one_domain = spans.is_some_and(|(domain, ranks)| domain >= ranks);
    let any_local = !facts.local_channels.is_empty();
    let stays = nodes == Some(1) || any_local && (nodes.is_none() || one_domain);
    if stays {
        return Claim::sure(Verdict::IntraNode);
    }
    if facts.networks.is_empty() {
        return Claim::unknown("NCCL's log has no line that names a network or a channel");
    }
    of_networks(facts.networks.keys(), facts)
}

/// The worst that any of the networks is: one rank on sockets slows all.
fn of_networks<'a>(names: impl Iterator<Item = &'a String>, facts: &LogFacts) -> Claim {
    let claims: Vec<Claim> = names.map(|name| of_network(name, facts)).collect();
    let kinds: BTreeSet<Verdict> = claims.iter().map(|claim| claim.verdict).collect();
    if kinds.contains(&Verdict::Efa) && kinds.len() > 1 {
        let others: Vec<_> = facts
            .networks
            .keys()
            .chain(facts.net_channels.keys())
            .collect();
        let others: BTreeSet<_> = others.into_iter().map(String::as_str).collect();
        let names: Vec<_> = others.into_iter().collect();
        return Claim {
            verdict: Verdict::EfaDegraded,
            reason: Some(format!("ranks use several networks: {}", names.join(", "))),
        };
    }
    let worst = claims.into_iter().max_by_key(|claim| claim.verdict);
    worst.unwrap_or_else(|| Claim::unknown("no network is named"))
}

/// A network by the name that NCCL gives it. Libfabric is a library and no network: what it sends
/// over is its provider's business.
fn of_network(name: &str, facts: &LogFacts) -> Claim {
    let plain = name.trim_start_matches("COLLNET/").to_ascii_lowercase();
    if plain.contains("libfabric") || plain.contains("ofi") {
        return of_providers(facts);
    }
    match plain.as_str() {
        "socket" | "fastsocket" => Claim::sure(Verdict::Socket),
        "gib" | "sharp" | "ucx" => Claim::sure(Verdict::Infiniband),
        name if name == "ib" || name.starts_with("ibext") => Claim::sure(Verdict::Infiniband),
        _ => Claim::unknown(format!("the network `{name}` is none that is known here")),
    }
}

fn of_providers(facts: &LogFacts) -> Claim {
    let kinds: BTreeSet<Verdict> = facts
        .providers
        .keys()
        .map(|name| of_provider(name))
        .collect();
    let names: Vec<_> = facts.providers.keys().map(String::as_str).collect();
    match (kinds.len(), kinds.first()) {
        (0, _) | (_, None) => {
            Claim::unknown("NCCL uses Libfabric, and no line says over which provider")
        }
        (1, Some(Verdict::Unknown)) => Claim::unknown(format!(
            "Libfabric's provider `{}` is none that is known here",
            names.join(", ")
        )),
        (1, Some(&kind)) => Claim::sure(kind),
        _ if kinds.contains(&Verdict::Efa) => Claim {
            verdict: Verdict::EfaDegraded,
            reason: Some(format!("ranks use several providers: {}", names.join(", "))),
        },
        _ => Claim::unknown(format!("ranks use several providers: {}", names.join(", "))),
    }
}

/// A provider of Libfabric; `tcp;ofi_rxm` is `tcp` with a layer on it.
fn of_provider(name: &str) -> Verdict {
    let core = name.split(';').next().unwrap_or(name).trim();
    match core.to_ascii_lowercase().as_str() {
        "efa" => Verdict::Efa,
        "tcp" | "sockets" | "udp" | "net" => Verdict::TcpProvider,
        "verbs" => Verdict::Infiniband,
        _ => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::log::facts;

    fn claim(said: &[&str]) -> Claim {
        let lines: Vec<_> = said
            .iter()
            .map(|said| format!("a:1:1 [0] NCCL INFO {said}"))
            .collect();
        of_log(&facts(&lines.join("\n")))
    }

    #[test]
    fn a_provider_over_tcp_is_no_efa_although_the_network_is_libfabric() {
        let network = "Using network Libfabric";
        for (provider, verdict) in [
            ("efa, fabric is efa-direct (found 8 nics)", Verdict::Efa),
            (
                "tcp;ofi_rxm, fabric is 10.0.0.0/8 (found 1 nics)",
                Verdict::TcpProvider,
            ),
            ("sockets", Verdict::TcpProvider),
            ("verbs;ofi_rxm", Verdict::Infiniband),
            ("cxi", Verdict::Unknown),
        ] {
            let line = format!("NET/OFI Selected provider is {provider}");
            assert_eq!(claim(&[network, &line]).verdict, verdict, "{provider}");
        }
        let without = claim(&[network]);
        assert_eq!(without.verdict, Verdict::Unknown);
        assert!(without.reason.unwrap().contains("provider"));
    }

    #[test]
    fn on_one_node_the_networks_name_says_nothing() {
        let one = "comm 0x5 rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 0";
        assert_eq!(
            claim(&["Using network Socket", one]).verdict,
            Verdict::IntraNode
        );
        let two = "comm 0x5 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0";
        assert_eq!(
            claim(&["Using network Socket", two]).verdict,
            Verdict::Socket
        );
        let local = "Channel 02/0 : 0[0] -> 1[1] via P2P/CUMEM";
        assert_eq!(
            claim(&["Using network IB", two, local]).verdict,
            Verdict::Infiniband
        );
        let domain = "MNNVL 1 cliqueId 0 cliqueSize 4 cliqueRank 3";
        assert_eq!(
            claim(&["Using network IB", two, domain, local]).verdict,
            Verdict::IntraNode
        );
    }

    #[test]
    fn one_rank_on_sockets_among_efa_degrades_all() {
        let log = [
            "Using network Libfabric",
            "NET/OFI Selected provider is efa",
            "Using network Socket",
        ];
        let claim = claim(&log);
        assert_eq!(claim.verdict, Verdict::EfaDegraded);
        assert_eq!(
            claim.reason.unwrap(),
            "ranks use several networks: Libfabric, Socket"
        );
    }

    #[test]
    fn one_rank_an_empty_log_and_a_strange_network_are_unknown_with_the_reason() {
        let alone = "ncclCommInitRankConfig comm 0x5 rank 0 nranks 1 cudaDev 0 - Init START";
        for (said, words) in [
            (vec!["Using network IB", alone], "one rank"),
            (vec![], "no line of NCCL"),
            (vec!["Using network GPUDirectTCPX_v7"], "GPUDirectTCPX_v7"),
            (vec!["Bootstrap: Using eth0"], "no line that names"),
        ] {
            let claim = claim(&said);
            assert_eq!(claim.verdict, Verdict::Unknown);
            assert!(claim.reason.unwrap().contains(words), "{said:?}");
        }
    }
}
