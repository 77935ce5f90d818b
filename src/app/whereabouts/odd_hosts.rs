//! What is odd about the hosts of a launch, and between them. Pure.

use super::odd::Oddity;
use super::sighting::Sighting;
use crate::probe::library::Found;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Hosts by what they have in common, each list in the order of the first rank.
type Sides<'a> = BTreeMap<String, Vec<&'a str>>;

/// The first process of each host, which looked at it, and the host's number of ranks.
fn hosts(all: &[Sighting]) -> Vec<(&Sighting, u32)> {
    let mut hosts: Vec<(&Sighting, u32)> = Vec::new();
    for one in all {
        let ranks = one.card.shape.ranks();
        let same =
            |host: &&mut (&Sighting, u32)| host.0.card.host_identity == one.card.host_identity;
        match hosts.iter_mut().find(same) {
            Some((_, count)) => *count += ranks,
            None => hosts.push((one, ranks)),
        }
    }
    hosts
}

/// `8 on node1; 7 on node2, node3`; from four hosts on, their number.
fn told(sides: &Sides<'_>) -> String {
    let side = |(what, hosts): (&String, &Vec<&str>)| format!("{what} on {}", hosts_text(hosts));
    sides.iter().map(side).collect::<Vec<_>>().join("; ")
}

/// Up to three names, else the first and how many there are.
pub(super) fn hosts_text(hosts: &[&str]) -> String {
    match hosts.len() {
        0..=3 => hosts.join(", "),
        many => format!("{}, … ({many} hosts)", hosts[0]),
    }
}

fn sides(all: &[Sighting], say: impl Fn(&(&Sighting, u32)) -> Option<String>) -> Sides<'_> {
    let mut sides = Sides::new();
    for host in hosts(all) {
        if let Some(said) = say(&host) {
            sides.entry(said).or_default().push(&host.0.card.host);
        }
    }
    sides
}

/// Hosts whose own name does not lead others to them.
pub(super) fn names(all: &[Sighting]) -> Vec<Oddity> {
    const HINT: &str = "give the name an IPv4 address of the network in `/etc/hosts` or the name service (in Slurm: `NodeAddr=`)";
    let wrong = sides(all, |(one, _)| wrong_name(one));
    let line = |(wrong, hosts): (&String, &Vec<&str>)| {
        Oddity::new(
            format!("{}: the host's own name {wrong}", hosts_text(hosts)),
            HINT,
        )
    };
    wrong.iter().map(line).collect()
}

fn wrong_name(one: &Sighting) -> Option<String> {
    let resolved = &one.machine.as_ref()?.resolved;
    if let Some(failure) = &resolved.failure {
        return Some(format!("cannot be resolved: {failure}"));
    }
    let local = |address: &&IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    if let Some(address) = resolved.found.iter().find(local) {
        // each host has its own: the kind is what they have in common
        let kind = if address.is_ipv6() {
            "fe80::"
        } else {
            "169.254."
        };
        return Some(format!("resolves to a link-local address ({kind}…)"));
    }
    let first = resolved.found.first()?;
    let is_loopback = resolved.found.iter().all(IpAddr::is_loopback);
    is_loopback.then(|| format!("resolves to {first}, which is another host to every other one"))
}

/// Hosts with different numbers of ranks.
pub(super) fn uneven(all: &[Sighting]) -> Vec<Oddity> {
    let sides = sides(all, |(_, ranks)| Some(ranks.to_string()));
    let odd = (sides.len() > 1).then(|| {
        Oddity::new(
            format!("hosts have different numbers of ranks: {}", told(&sides)),
            "say `--ntasks-per-node=N` (Slurm) or `--map-by ppr:N:node` (Open MPI)",
        )
    });
    odd.into_iter().collect()
}

/// Libraries that differ between hosts, or are on some only.
pub(super) fn libraries(all: &[Sighting]) -> Vec<Oddity> {
    let mut odd = Vec::new();
    for name in ["cuda driver", "nccl", "pmix"] {
        let sides = sides(all, |(one, _)| {
            Some(match one.library(name)? {
                Found::Loaded(record) => record.version.clone(),
                Found::Absent { .. } => "none".to_owned(),
            })
        });
        if sides.len() > 1 {
            let what = format!("{name} differs between hosts: {}", told(&sides));
            odd.push(Oddity::new(
                what,
                "install one version on all hosts, or one image",
            ));
        }
    }
    odd
}

/// Hosts with different network devices of the fast kind.
pub(super) fn rdma(all: &[Sighting]) -> Vec<Oddity> {
    let sides = sides(all, |(one, _)| {
        let devices = &one.machine.as_ref()?.rdma;
        let active = |state: &str| state == "ACTIVE";
        let active = devices
            .iter()
            .filter(|one| one.state.as_deref().is_some_and(active))
            .count();
        Some(format!("{active} active of {}", devices.len()))
    });
    let odd = (sides.len() > 1).then(|| {
        Oddity::new(
            format!(
                "hosts have different InfiniBand or EFA devices: {}",
                told(&sides)
            ),
            "look at cables and attached interfaces, and whether the job may see `/dev/infiniband`",
        )
    });
    odd.into_iter().collect()
}
