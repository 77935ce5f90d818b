//! The kernel's tables of interfaces and addresses, asked for over a netlink socket.
//!
//! `/sys` and `/proc` would need no parsing of bytes, but `/proc` does not say which interface an
//! IPv4 address belongs to, and a container may show the host's `/sys`, or none.

use rustix::io::Errno;
use rustix::net::AddressFamily;
use rustix::net::RecvFlags;
use rustix::net::SendFlags;
use rustix::net::SocketFlags;
use rustix::net::SocketType;
use rustix::net::netlink::SocketAddrNetlink;

/// What is asked for.
///
/// # Source
/// rtnetlink(7): `RTM_GETLINK`, `RTM_GETADDR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Links,
    Addresses,
}

/// An entry of a table: its fixed part, and its attributes by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fixed: Vec<u8>,
    pub(super) attributes: Vec<(u16, Vec<u8>)>,
}

impl Entry {
    /// The value of attribute `number`.
    pub(super) fn get(&self, number: u16) -> Option<&[u8]> {
        let mut found = self.attributes.iter().filter(|(one, _)| *one == number);
        found.next().map(|(_, value)| value.as_slice())
    }

    /// Four bytes of the fixed part, where an index stands.
    pub(super) fn index(&self) -> Option<u32> {
        self.fixed.get(4..8).map(|bytes| word(bytes, 0))
    }
}

const HEADER: usize = 16;
const REQUEST_DUMP: u16 = 0x0301; // NLM_F_REQUEST | NLM_F_DUMP
const DONE: u16 = 3;
const ERROR: u16 = 2;

impl Table {
    fn request(self) -> u16 {
        match self {
            Self::Links => 18,
            Self::Addresses => 22,
        }
    }

    /// Length of the fixed part: `struct ifinfomsg`, `struct ifaddrmsg`.
    fn fixed(self) -> usize {
        match self {
            Self::Links => 16,
            Self::Addresses => 8,
        }
    }

    /// All entries.
    ///
    /// # Errors
    /// The system's, where the socket or the table cannot be had.
    pub(super) fn read(self) -> Result<Vec<Entry>, Errno> {
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None, // NETLINK_ROUTE is 0
        )?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        rustix::net::send(&socket, &self.message(), SendFlags::empty())?;
        let mut entries = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (got, _) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty())?;
            if got == 0 || self.take(&buffer[..got], &mut entries)? {
                return Ok(entries);
            }
        }
    }

    /// The request: a header and a fixed part of zeros, which asks for every family.
    fn message(self) -> Vec<u8> {
        let length = HEADER + self.fixed();
        let mut message = vec![0; length];
        message[0] = u8::try_from(length).unwrap_or_default();
        message[4..6].copy_from_slice(&self.request().to_ne_bytes());
        message[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
        message
    }

    /// Takes one datagram's messages; true where it held the last one.
    fn take(self, mut bytes: &[u8], entries: &mut Vec<Entry>) -> Result<bool, Errno> {
        while bytes.len() >= HEADER {
            let length = word(bytes, 0) as usize;
            if length < HEADER || length > bytes.len() {
                return Err(Errno::BADMSG);
            }
            let body = &bytes[HEADER..length];
            match u16::from_ne_bytes([bytes[4], bytes[5]]) {
                DONE => return Ok(true),
                ERROR => return Err(refused(body)),
                _ => entries.extend(self.entry(body)),
            }
            bytes = bytes.get(aligned(length)..).unwrap_or_default();
        }
        Ok(false)
    }

    fn entry(self, body: &[u8]) -> Option<Entry> {
        let (fixed, mut rest) = body.split_at_checked(self.fixed())?;
        let mut attributes = Vec::new();
        while rest.len() >= 4 {
            let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
            let value = rest.get(4..length)?;
            let number = u16::from_ne_bytes([rest[2], rest[3]]);
            attributes.push((number, value.to_vec()));
            rest = rest.get(aligned(length)..).unwrap_or_default();
        }
        Some(Entry {
            fixed: fixed.to_vec(),
            attributes,
        })
    }
}

/// An error message's body starts with the number, negated.
fn refused(body: &[u8]) -> Errno {
    let number = body.get(..4).map_or(0, |bytes| word(bytes, 0));
    Errno::from_raw_os_error(number.cast_signed().wrapping_neg())
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(four)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_a_loopback_interface_with_a_name() {
        let links = Table::Links.read().unwrap();
        let named = |name: &[u8]| links.iter().any(|link| link.get(3) == Some(name));
        assert!(named(b"lo\0"), "{links:?}");
        assert!(links.iter().all(|link| link.index().is_some()));
    }

    #[test]
    fn bytes_that_are_cut_short_are_refused_or_left_out_and_never_read_past() {
        let mut whole = Table::Addresses.message();
        whole[4] = 20; // RTM_NEWADDR
        whole.extend([8, 0, 1, 0, 10, 0, 1, 7]); // IFA_ADDRESS
        whole[0] = u8::try_from(whole.len()).unwrap();
        let mut entries = Vec::new();
        assert_eq!(Table::Addresses.take(&whole, &mut entries), Ok(false));
        assert_eq!(entries[0].get(1), Some(&[10, 0, 1, 7][..]));
        for end in HEADER..whole.len() {
            let cut = &whole[..end];
            assert_eq!(Table::Addresses.take(cut, &mut entries), Err(Errno::BADMSG));
        }
        whole[24] = 200; // an attribute that is longer than its message
        entries.clear();
        assert_eq!(Table::Addresses.take(&whole, &mut entries), Ok(false));
        assert_eq!(entries, []);
    }
}
