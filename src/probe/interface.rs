//! Network interfaces: names, state, addresses, speed.

use super::netlink::Entry;
use super::netlink::Table;
use serde::Deserialize;
use serde::Serialize;
use std::net::IpAddr;

/// An interface of this process's network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// `eth0`.
    pub name: String,
    /// `up`, `down`, `unknown`, … as the kernel has it.
    pub state: String,
    /// Its addresses, IPv4 first.
    pub addresses: Vec<IpAddr>,
    /// Its speed in Mb/s, where it has one and `/sys` shows it.
    pub speed_mbit: Option<u32>,
    /// The largest packet it carries, in bytes.
    pub mtu_bytes: Option<u32>,
}

/// Attributes of links and addresses.
///
/// # Source
/// Linux, `include/uapi/linux/if_link.h` and `if_addr.h`.
const LINK_NAME: u16 = 3;
const LINK_MTU: u16 = 4;
const LINK_STATE: u16 = 16;
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;

/// All interfaces, in the kernel's order.
///
/// # Errors
/// The system's words where the kernel does not tell.
pub fn all() -> Result<Vec<Interface>, String> {
    let words = |error: rustix::io::Errno| error.to_string();
    let links = Table::Links.read().map_err(words)?;
    let addresses = Table::Addresses.read().map_err(words)?;
    Ok(links
        .iter()
        .filter_map(|link| interface(link, &addresses))
        .collect())
}

fn interface(link: &Entry, addresses: &[Entry]) -> Option<Interface> {
    let name = link.get(LINK_NAME)?;
    let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next()?).into_owned();
    let mine = addresses.iter().filter(|one| one.index() == link.index());
    let mut mine: Vec<IpAddr> = mine.filter_map(address).collect();
    mine.sort_by_key(IpAddr::is_ipv6);
    Some(Interface {
        state: state(link.get(LINK_STATE)).to_owned(),
        addresses: mine,
        speed_mbit: speed(&name),
        mtu_bytes: link
            .get(LINK_MTU)
            .and_then(|bytes| Some(u32::from_ne_bytes(bytes.try_into().ok()?))),
        name,
    })
}

/// The interface's own address; on a point-to-point link `ADDRESS` is the other end's.
fn address(entry: &Entry) -> Option<IpAddr> {
    let bytes = entry.get(LOCAL).or_else(|| entry.get(ADDRESS))?;
    let four = || <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    let sixteen = || <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from);
    four().or_else(sixteen)
}

/// # Source
/// RFC 2863, `ifOperStatus`, as Linux numbers it in `if.h`.
fn state(value: Option<&[u8]>) -> &'static str {
    const NAMES: [&str; 7] = [
        "unknown",
        "not present",
        "down",
        "lower layer down",
        "testing",
        "dormant",
        "up",
    ];
    let number = value.and_then(|bytes| bytes.first());
    number
        .and_then(|number| NAMES.get(usize::from(*number)))
        .unwrap_or(&NAMES[0])
}

/// The kernel gives -1 for what has no speed, and an error for what is down.
fn speed(name: &str) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok()?;
    text.trim().parse().ok().filter(|speed| *speed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_its_address() {
        let all = all().unwrap();
        let loopback = all.iter().find(|one| one.name == "lo").unwrap();
        let expected: IpAddr = "127.0.0.1".parse().unwrap();
        assert!(loopback.addresses.contains(&expected), "{loopback:?}");
        assert_eq!(loopback.speed_mbit, None);
    }

    #[test]
    fn addresses_belong_to_the_interface_whose_index_they_carry() {
        let link = |index: u8, name: &[u8]| Entry {
            fixed: vec![0, 0, 0, 0, index, 0, 0, 0],
            attributes: vec![(LINK_NAME, name.to_vec()), (LINK_STATE, vec![6])],
        };
        let at = |index: u8, attributes| Entry {
            fixed: vec![2, 24, 0, 0, index, 0, 0, 0],
            attributes,
        };
        let addresses = [
            at(7, vec![(ADDRESS, vec![0xfe; 16])]),
            at(
                7,
                vec![(ADDRESS, vec![10, 0, 1, 1]), (LOCAL, vec![10, 0, 1, 7])],
            ),
            at(8, vec![(LOCAL, vec![10, 0, 1, 8])]),
        ];
        let found = interface(&link(7, b"none7\0"), &addresses).unwrap();
        assert_eq!((found.name.as_str(), found.state.as_str()), ("none7", "up"));
        assert_eq!(found.addresses[0], IpAddr::from([10, 0, 1, 7]));
        assert_eq!(found.addresses.len(), 2);
    }
}
