//! Addresses: which to listen on, which to try, and connections set up as we want them.
//!
//! Names are resolved by the system; link-local addresses (`fe80::`, `169.254.`) are never used.

use crate::base::{Fault, Kind};
use rustix::net::sockopt;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::time::Duration;

/// Where processes meet: a host as it was named, and the ports to be tried in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A name or an address.
    pub host: String,
    /// At least one; both sides try them in this order.
    pub ports: Vec<u16>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracketed = self.host.contains(':');
        let (open, close) = if bracketed { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:", self.host)?;
        match self.ports.as_slice() {
            [one] => write!(f, "{one}"),
            [first, .., last] => write!(f, "{first}…{last}"),
            [] => f.write_str("?"),
        }
    }
}

/// The addresses of `host`, best first.
///
/// # Errors
/// `Launch` with the resolver's words if there are none that can be used.
pub fn resolve(host: &str) -> Result<Vec<IpAddr>, Fault> {
    let failed = |why: String| {
        Fault::new(Kind::Launch, format!("cannot resolve `{host}`: {why}"))
            .hint("name the first process's host by an address: `--rendezvous 10.0.1.7:29500`")
    };
    let found = (host, 0)
        .to_socket_addrs()
        .map_err(|error| failed(error.to_string()))?;
    let addresses = preferred(found.map(|address| address.ip()).collect());
    if addresses.is_empty() {
        return Err(failed("it has no address but link-local ones".to_owned()));
    }
    Ok(addresses)
}

/// Usable addresses, best first: IPv4 before IPv6, loopback last, link-local not at all.
pub fn preferred(mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    addresses.retain(|address| !is_link_local(address) && !address.is_unspecified());
    addresses.sort_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    addresses.dedup();
    addresses
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Listens at the first port that is free on all of `addresses` that are this host's own.
///
/// # Errors
/// `Launch` with the system's words for each port tried.
pub fn bind(addresses: &[IpAddr], ports: &[u16]) -> Result<Vec<std::net::TcpListener>, Fault> {
    let mut fault = Fault::new(Kind::Launch, "cannot listen for the other processes");
    for &port in ports {
        match bind_port(addresses, port) {
            Ok(listeners) => return Ok(listeners),
            Err((address, error)) => fault = fault.detail(format!("{address}: {error}")),
        }
    }
    Err(fault)
}

/// Whether [`bind`] failed because no address is this host's own: a name that stands for another
/// one, behind which this host is reached.
pub fn is_elsewhere(fault: &Fault) -> bool {
    let words = io::Error::from_raw_os_error(rustix::io::Errno::ADDRNOTAVAIL.raw_os_error());
    let words = words.to_string();
    !fault.details.is_empty() && fault.details.iter().all(|line| line.ends_with(&words))
}

fn bind_port(
    addresses: &[IpAddr],
    port: u16,
) -> Result<Vec<std::net::TcpListener>, (SocketAddr, io::Error)> {
    let mut listeners = Vec::new();
    let mut foreign = None;
    let mut port = port;
    for &address in addresses {
        let address = SocketAddr::new(address, port);
        match std::net::TcpListener::bind(address) {
            Ok(listener) => {
                // the system chose one: the other addresses share it
                port = listener.local_addr().map_or(port, |bound| bound.port());
                listeners.push(listener);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                foreign = Some((address, error));
            }
            Err(error) => return Err((address, error)),
        }
    }
    match foreign {
        Some(foreign) if listeners.is_empty() => Err(foreign),
        _ => Ok(listeners),
    }
}

/// Sets up a connection of the control plane: small messages at once, and a host that is gone is noticed.
pub(super) fn tune(stream: impl AsFd) -> io::Result<()> {
    sockopt::set_tcp_nodelay(&stream, true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(&stream, 3)?;
    Ok(())
}

/// How many connections the system holds that are not accepted yet: all processes of a large run
/// come at once, and one that finds the queue full comes again only after a second.
/// The kernel takes `net.core.somaxconn` where that is less.
const BACKLOG: i32 = 16 << 10;

/// Descriptors that a process needs beside its connections: libraries, devices, files, strangers.
const OTHER_DESCRIPTORS: u64 = 64;

/// Has the system hold more connections than the standard library asks for.
pub(super) fn deepen(listener: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::listen(listener, BACKLOG)?)
}

/// Allows as many connections as the system lets this process have; `None`: as many as one likes.
pub(super) fn raise_descriptor_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: now.maximum,
        maximum: now.maximum,
    };
    match setrlimit(Resource::Nofile, most) {
        Ok(()) => now.maximum,
        Err(_) => now.current,
    }
}

/// Refuses a world that this process cannot hold a connection to each member of.
///
/// # Errors
/// `Launch` with what is allowed and what is needed.
pub(super) fn check_descriptors(members: u32, allowed: Option<u64>) -> Result<(), Fault> {
    let needed = u64::from(members) + OTHER_DESCRIPTORS;
    match allowed {
        Some(allowed) if allowed < needed => {
            let text = format!(
                "rank 0 may open {allowed} files, but a world of {members} processes needs {needed}"
            );
            Err(Fault::new(Kind::Launch, text)
                .hint(format!(
                    "raise the hard limit on its host: `ulimit -Hn {needed}`"
                ))
                .hint("under Slurm the limit is slurmd's: `LimitNOFILE` of its service"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(addresses: &[&str]) -> Vec<IpAddr> {
        addresses.iter().map(|one| one.parse().unwrap()).collect()
    }

    #[test]
    fn ipv4_comes_first_loopback_last_and_link_local_not_at_all() {
        let all = [
            "fe80::1",
            "127.0.0.1",
            "2001:db8::1",
            "169.254.1.1",
            "10.0.1.7",
            "::1",
        ];
        assert_eq!(
            preferred(parse(&all)),
            parse(&["10.0.1.7", "2001:db8::1", "127.0.0.1", "::1"])
        );
    }

    #[test]
    fn a_port_that_is_taken_is_passed_over() {
        let home = parse(&["127.0.0.1"]);
        let taken = bind(&home, &[0]).unwrap();
        let free = bind(&home, &[0]).unwrap();
        let port = |listeners: &[std::net::TcpListener]| listeners[0].local_addr().unwrap().port();
        let (taken_port, free_port) = (port(&taken), port(&free));
        drop(free);
        let bound = bind(&home, &[taken_port, free_port]).unwrap();
        assert_eq!(port(&bound), free_port);
        let fault = bind(&home, &[taken_port]).unwrap_err();
        assert!(fault.details[0].contains("in use"), "{fault}");
    }

    #[test]
    fn a_world_that_needs_more_descriptors_than_there_are_is_refused_with_both_numbers() {
        let fault = check_descriptors(4096, Some(1024)).unwrap_err();
        assert_eq!(fault.kind, Kind::Launch);
        assert!(fault.message.contains("may open 1024"), "{fault}");
        assert!(fault.message.contains("needs 4160"), "{fault}");
        for allowed in [Some(4160), None] {
            assert_eq!(check_descriptors(4096, allowed), Ok(()));
        }
    }

    #[test]
    fn an_address_of_another_host_is_told_unless_one_is_ours() {
        let mixed = parse(&["192.0.2.1", "127.0.0.1"]);
        assert_eq!(bind(&mixed, &[0]).unwrap().len(), 1);
        assert!(is_elsewhere(&bind(&mixed[..1], &[0]).unwrap_err()));
    }
}
