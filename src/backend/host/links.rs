//! TCP connections to ranks of other hosts, made when first needed: the lower rank connects, the
//! higher one accepts.
//!
//! Who connects must know the run's secret; a stranger is dropped without disturbing anybody.
//! Bytes are moved by [`super::exchange`].

use super::roster::{Roster, random};
use crate::backend::ThreadSeat;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::base::Rank;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use rustix::net::sockopt;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// What a connection opens with: the secret, who calls, whom it calls.
const HELLO: usize = 24;

/// How many that have not said who they are may wait at the same time.
const STRANGERS: usize = 4096;

/// How long one attempt to connect may block; the wait around it has the operation's limit.
const ATTEMPT: Duration = Duration::from_secs(1);

/// How many attempts in a row may get no answer at all.
const ATTEMPTS: u32 = 30;

/// What a rank says of its listener.
#[derive(Debug, Serialize, Deserialize)]
struct Address {
    listens: Option<SocketAddr>,
    secret: [u64; 2],
}

/// Somebody who has connected and not yet said who it is.
#[derive(Debug)]
struct Stranger {
    stream: TcpStream,
    said: [u8; HELLO],
    len: usize,
}

/// My connections.
#[derive(Debug)]
pub(super) struct Links {
    me: Rank,
    secret: [u64; 2],
    listener: Option<TcpListener>,
    addresses: Vec<Option<SocketAddr>>,
    open: HashMap<Rank, TcpStream>,
    strangers: Vec<Stranger>,
    unanswered: u32,
}

impl Links {
    /// Listens, and tells all ranks where; with one host there is nothing to do.
    ///
    /// # Errors
    /// On every rank the fault of the first that failed: `Call` where the kernel refuses, faults of
    /// the control plane.
    pub(super) fn exchange(
        roster: &Roster,
        seat: &ThreadSeat,
        boot: &dyn Bootstrap,
    ) -> Result<Self, Fault> {
        let mut links = Self {
            me: roster.me,
            secret: [0; 2],
            listener: None,
            addresses: Vec::new(),
            open: HashMap::new(),
            strangers: Vec::new(),
            unanswered: 0,
        };
        if roster.hosts.len() < 2 {
            return Ok(links);
        }
        let mine = links
            .listen()
            .while_doing(|| "listening for ranks of other hosts".to_owned());
        let step = Step {
            name: "the ranks' addresses",
            limit: seat.limit,
        };
        for theirs in boot.all_gather(step, &bootstrap::encode(&mine)?)? {
            let theirs: Address = bootstrap::decode::<Result<Address, Fault>>(&theirs)??;
            links.addresses.push(theirs.listens);
            if links.addresses.len() == 1 {
                links.secret = theirs.secret;
            }
        }
        Ok(links)
    }

    fn listen(&mut self) -> Result<Address, Fault> {
        let address = SocketAddr::new(IpAddr::V4(own_address()), 0);
        let listener =
            TcpListener::bind(address).map_err(|error| failed("bind", address, &error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| failed("fcntl", address, &error))?;
        let listens = listener
            .local_addr()
            .map_err(|error| failed("getsockname", address, &error))?;
        self.listener = Some(listener);
        Ok(Address {
            listens: Some(listens),
            secret: [random(), random()],
        })
    }

    /// The connection to a rank, if there is one by now; where there is none it is worked on.
    ///
    /// # Errors
    /// `Peer` if nobody listens there any more.
    pub(super) fn link(&mut self, peer: Rank) -> Result<Option<&mut TcpStream>, Fault> {
        if !self.open.contains_key(&peer) {
            if self.me < peer {
                self.connect(peer)?;
            } else {
                self.let_in()?;
            }
        }
        Ok(self.open.get_mut(&peer))
    }

    /// The connection to a rank where one has been made.
    pub(super) fn stream(&self, peer: Rank) -> Option<&TcpStream> {
        self.open.get(&peer)
    }

    /// What to sleep on for new connections.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let strangers = self
            .strangers
            .iter()
            .map(|stranger| stranger.stream.as_fd());
        self.listener.iter().map(AsFd::as_fd).chain(strangers)
    }

    fn connect(&mut self, peer: Rank) -> Result<(), Fault> {
        let address = self.addresses.get(peer.0 as usize).copied().flatten();
        let address =
            address.ok_or_else(|| Fault::new(Kind::Disagree, "a rank without an address"))?;
        let mut stream = match TcpStream::connect_timeout(&address, ATTEMPT) {
            Ok(stream) => stream,
            Err(error) if error.kind() == ErrorKind::TimedOut && self.unanswered < ATTEMPTS => {
                self.unanswered += 1;
                return Ok(());
            }
            Err(error) => return Err(unreachable(address, &error)),
        };
        self.unanswered = 0;
        let hello = hello(self.secret, self.me, peer);
        // The first bytes of a connection fit into its empty send buffer.
        stream
            .write_all(&hello)
            .map_err(|error| unreachable(address, &error))?;
        prepare(&stream).map_err(|error| failed("setsockopt", address, &error))?;
        self.open.insert(peer, stream);
        Ok(())
    }

    /// Takes in who has come and said the secret.
    fn let_in(&mut self) -> Result<(), Fault> {
        for stranger in std::mem::take(&mut self.strangers) {
            self.hear(stranger);
        }
        while let Some(listener) = &self.listener {
            match listener.accept() {
                // One that cannot be set up has gone again.
                Ok((stream, _)) if prepare(&stream).is_err() => {}
                Ok((stream, _)) => self.hear(Stranger {
                    stream,
                    said: [0; HELLO],
                    len: 0,
                }),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => break,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return Err(Fault::new(Kind::Call, format!("accept failed: {error}"))),
                },
            }
        }
        Ok(())
    }

    /// Listens to a stranger, who is let in, kept waiting or dropped.
    fn hear(&mut self, mut stranger: Stranger) {
        match stranger.listen() {
            Some(true) => self.greet(stranger),
            Some(false) if self.strangers.len() < STRANGERS => self.strangers.push(stranger),
            _ => {}
        }
    }

    fn greet(&mut self, stranger: Stranger) {
        let said = u32::from_le_bytes([
            stranger.said[16],
            stranger.said[17],
            stranger.said[18],
            stranger.said[19],
        ]);
        let peer = Rank(said);
        let is_one_of_us = hello(self.secret, peer, self.me) == stranger.said;
        if is_one_of_us && peer < self.me && !self.open.contains_key(&peer) {
            self.open.insert(peer, stranger.stream);
        }
    }
}

impl Stranger {
    /// Whether it has said all of its hello; none if it is gone.
    fn listen(&mut self) -> Option<bool> {
        while self.len < HELLO {
            match self.stream.read(&mut self.said[self.len..]) {
                Ok(0) => return None,
                Ok(more) => self.len += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(true)
    }
}

fn hello(secret: [u64; 2], from: Rank, to: Rank) -> [u8; HELLO] {
    let mut bytes = [0; HELLO];
    bytes[..8].copy_from_slice(&secret[0].to_le_bytes());
    bytes[8..16].copy_from_slice(&secret[1].to_le_bytes());
    bytes[16..20].copy_from_slice(&from.0.to_le_bytes());
    bytes[20..].copy_from_slice(&to.0.to_le_bytes());
    bytes
}

/// No delay; a host that vanished is noticed within half a minute even where no limit is set.
fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(stream, 4)?;
    sockopt::set_tcp_user_timeout(stream, 30_000)?;
    Ok(())
}

/// The address of the interface that the default route uses, else the first that is not the
/// loopback's, else the loopback: then there are no other machines.
fn own_address() -> Ipv4Addr {
    routed()
        .or_else(|| first_local(&std::fs::read_to_string("/proc/net/fib_trie").ok()?))
        .unwrap_or(Ipv4Addr::LOCALHOST)
}

/// A connected UDP socket has the address that its packets would carry; none is sent.
fn routed() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address that is never assigned (RFC 5737, TEST-NET-3), so only the default route fits.
    socket.connect((Ipv4Addr::new(203, 0, 113, 1), 9)).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) if !address.is_loopback() && !address.is_unspecified() => Some(address),
        _ => None,
    }
}

/// The first local address in the kernel's routing table: a line `|-- ADDRESS` followed by one
/// that says `/32 host LOCAL`.
fn first_local(table: &str) -> Option<Ipv4Addr> {
    let lines: Vec<&str> = table.lines().map(str::trim).collect();
    let local = lines.windows(2).filter(|pair| pair[1] == "/32 host LOCAL");
    local
        .filter_map(|pair| pair[0].strip_prefix("|-- ")?.parse::<Ipv4Addr>().ok())
        .find(|address| !address.is_loopback())
}

fn unreachable(address: SocketAddr, error: &std::io::Error) -> Fault {
    Fault::new(Kind::Peer, format!("cannot connect to {address}: {error}"))
}

fn failed(call: &str, address: SocketAddr, error: &std::io::Error) -> Fault {
    Fault::new(Kind::Call, format!("{call} for {address} failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_local_address_is_not_the_loopbacks() {
        let table = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 127.0.0.1\n        /32 host LOCAL\n     \
                     |-- 10.0.1.255\n        /32 link BROADCAST\n     |-- 10.0.1.7\n        /32 host LOCAL\n";
        assert_eq!(first_local(table), Some(Ipv4Addr::new(10, 0, 1, 7)));
        assert_eq!(first_local("|-- 127.0.0.1\n/32 host LOCAL\n"), None);
    }

    #[test]
    fn a_hello_with_another_secret_or_for_another_rank_opens_nothing() {
        let mut links = Links {
            me: Rank(5),
            secret: [1, 2],
            listener: None,
            addresses: Vec::new(),
            open: HashMap::new(),
            strangers: Vec::new(),
            unanswered: 0,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        links.listener = Some(listener.try_clone().unwrap());
        listener.set_nonblocking(true).unwrap();
        let call = |bytes: &[u8]| {
            let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            stream.write_all(bytes).unwrap();
            stream
        };
        let strangers = [
            call(&hello([1, 3], Rank(2), Rank(5))),
            call(&hello([1, 2], Rank(2), Rank(4))),
            call(&hello([1, 2], Rank(7), Rank(5))),
            call(b"GET / HTTP/1.0\r\n"),
        ];
        let right = call(&hello([1, 2], Rank(2), Rank(5)));
        for _ in 0..1000 {
            if links.link(Rank(2)).unwrap().is_some() {
                break;
            }
            std::thread::yield_now();
        }
        let open: Vec<_> = links
            .open
            .iter()
            .map(|(rank, link)| (*rank, link.peer_addr().unwrap()))
            .collect();
        assert_eq!(open, [(Rank(2), right.local_addr().unwrap())]);
        drop(strangers);
    }
}
