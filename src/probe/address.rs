//! Addresses at which other hosts may reach this one.
//!
//! Does not try them: whether a firewall lets anybody through is found out by meeting.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// This host's own addresses, best first: the one that leads outside, then IPv4, then IPv6;
/// loopback and link-local ones never.
pub fn own() -> Vec<IpAddr> {
    let mut all: Vec<IpAddr> = outward().into_iter().collect();
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    all.extend(ipv4_in(&read("/proc/net/fib_trie")).map(IpAddr::V4));
    all.extend(ipv6_in(&read("/proc/net/if_inet6")).map(IpAddr::V6));
    let mut kept: Vec<IpAddr> = Vec::new();
    for address in all {
        if is_reachable(&address) && !kept.contains(&address) {
            kept.push(address);
        }
    }
    kept
}

/// The address that the default route uses. Connecting a UDP socket sends nothing.
///
/// # Source
/// RFC 5737: 192.0.2.0/24 belongs to nobody.
fn outward() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn is_reachable(address: &IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !link_local && !address.is_loopback() && !address.is_unspecified()
}

/// Addresses of `/proc/net/fib_trie` whose next line says that they are this host's.
fn ipv4_in(fib_trie: &str) -> impl Iterator<Item = Ipv4Addr> {
    let lines = fib_trie.lines();
    lines
        .clone()
        .zip(lines.skip(1))
        .filter(|(_, next)| next.contains("/32 host LOCAL"))
        .filter_map(|(line, _)| line.trim().strip_prefix("|-- ")?.parse().ok())
}

/// Addresses of `/proc/net/if_inet6`: 32 hexadecimal digits at the start of each line.
fn ipv6_in(if_inet6: &str) -> impl Iterator<Item = Ipv6Addr> {
    if_inet6.lines().filter_map(|line| {
        let digits = line.split_whitespace().next()?;
        (digits.len() == 32).then_some(())?;
        u128::from_str_radix(digits, 16).ok().map(Ipv6Addr::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_read_from_the_kernels_tables() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.1.0\n        /24 link UNICAST\n     \
                    |-- 10.0.1.7\n        /32 host LOCAL\n     |-- 10.0.1.255\n        /32 link BROADCAST\n";
        assert_eq!(
            ipv4_in(trie).collect::<Vec<_>>(),
            [Ipv4Addr::new(10, 0, 1, 7)]
        );
        let inet6 = "20010db8000000000000000000000007 02 40 00 80     eth0\nrubbish\n";
        let expected: Ipv6Addr = "2001:db8::7".parse().unwrap();
        assert_eq!(ipv6_in(inet6).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn loopback_and_link_local_addresses_are_not_given_to_others() {
        assert!(own().iter().all(is_reachable));
        for address in ["127.0.0.1", "fe80::1", "169.254.3.4", "::1", "0.0.0.0"] {
            assert!(!is_reachable(&address.parse().unwrap()), "{address}");
        }
    }
}
