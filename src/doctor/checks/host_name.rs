//! What this host's own name means to it.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;
use std::net::IpAddr;

pub(super) const CHECK: Check = Check {
    name: "host-name",
    what: "what the host's own name resolves to",
    why: "A name that resolves to `fe80::…` or to loopback makes Slurm call the node `down` and launchers hang: others are told an address that leads nowhere.",
    reads: "the resolver, as programs use it; under a root `doctor/getent` (`getent ahosts NAME`)",
    hint: "give the name an IPv4 address of the network in `/etc/hosts` or the name service (Slurm: `NodeAddr=`)",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let Some(name) = scene.host() else {
        return Look::unknown("/proc/sys/kernel/hostname cannot be read");
    };
    let addresses = match scene.resolve(&name) {
        Ok(addresses) => addresses,
        Err(why) if scene.is_live() => {
            return Look::default().and(
                Health::Failure,
                format!("`{name}` cannot be resolved: {why}"),
            );
        }
        Err(why) => return Look::unknown(why),
    };
    let told: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    let told = format!("`{name}` resolves to {}", told.join(", "));
    let is_good = |one: &IpAddr| !one.is_loopback() && !is_link_local(one);
    let mut look = Look::default();
    look.own(
        "address",
        addresses
            .iter()
            .find(|one| is_good(one))
            .map_or_else(|| "none".to_owned(), IpAddr::to_string),
    );
    match addresses.first() {
        Some(first) if is_link_local(first) => look.fail(format!(
            "{told}: a link-local address leads to no other host"
        )),
        _ if addresses.iter().all(IpAddr::is_loopback) => {
            look.warn(format!("{told}: to every other host that is itself"));
        }
        _ if !addresses.iter().any(is_good) => {
            look.fail(format!("{told}: none leads to this host"));
        }
        _ if !addresses.iter().any(std::net::IpAddr::is_ipv4) => {
            look.warn(format!("{told}: there is no IPv4 address"));
        }
        _ => look.ok(told),
    }
    look
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}
