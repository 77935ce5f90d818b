//! TCP between the ranks: how they find each other, and how bytes cross.

use crate::{Code, INTERNAL, REMOTE, SYSTEM, fail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long a wait lasts before it looks whether the communicator was aborted.
const LOOK: Duration = Duration::from_millis(5);

/// The address that peers are told: a variable's, else the host's first that is not loopback.
pub fn own_address() -> IpAddr {
    let told = std::env::var("STAND_IN_NCCL_ADDR")
        .ok()
        .and_then(|text| text.parse().ok());
    told.or_else(first_local)
        .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

/// From `/proc/net/fib_trie`: an address in one line, `/32 host LOCAL` in the next.
fn first_local() -> Option<IpAddr> {
    let trie = std::fs::read_to_string("/proc/net/fib_trie").ok()?;
    let lines: Vec<_> = trie.lines().collect();
    lines.windows(2).find_map(|pair| {
        let address: Ipv4Addr = pair[0].trim_start_matches([' ', '|', '-']).parse().ok()?;
        (pair[1].contains("host LOCAL") && !address.is_loopback()).then_some(IpAddr::V4(address))
    })
}

/// An id: a random tag and the address where the ranks meet.
#[derive(Debug, Clone, Copy)]
pub struct Meeting {
    tag: u64,
    root: SocketAddr,
}

impl Meeting {
    /// Opens a meeting in this process; the ranks are introduced by a thread.
    pub fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((own_address(), 0))?;
        let mut tag = [0; 8];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut tag)?;
        let meeting = Self {
            tag: u64::from_le_bytes(tag),
            root: listener.local_addr()?,
        };
        std::thread::spawn(move || introduce(&listener, meeting.tag));
        Ok(meeting)
    }

    pub fn to_text(self) -> String {
        format!("{} {}", self.tag, self.root)
    }

    pub fn from_text(text: &str) -> Option<Self> {
        let (tag, root) = text.split_once(' ')?;
        Some(Self {
            tag: tag.parse().ok()?,
            root: root.parse().ok()?,
        })
    }

    /// Joins as `rank` of `world`; returns a connection to every other rank.
    pub fn join(
        self,
        rank: usize,
        world: usize,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<TcpStream>>, Code> {
        let failed =
            |error: std::io::Error| fail(SYSTEM, &format!("meeting at {}: {error}", self.root));
        let listener = TcpListener::bind((own_address(), 0)).map_err(failed)?;
        let mine = listener.local_addr().map_err(failed)?;
        let mut root = TcpStream::connect(self.root).map_err(failed)?;
        let hello = format!("{} {rank} {world} {mine}", self.tag);
        send_text(&mut root, &hello).map_err(failed)?;
        root.set_read_timeout(Some(LOOK)).map_err(failed)?;
        let table = receive_text(&mut root, given_up).map_err(failed)?;
        let table: Vec<SocketAddr> = table
            .split(' ')
            .filter_map(|text| text.parse().ok())
            .collect();
        self.connect_all(rank, &table, &listener, given_up)
            .map_err(failed)
    }

    /// Connects to the lower ranks and accepts the higher ones.
    fn connect_all(
        self,
        rank: usize,
        table: &[SocketAddr],
        listener: &TcpListener,
        given_up: &dyn Fn() -> bool,
    ) -> std::io::Result<Vec<Option<TcpStream>>> {
        let mut peers: Vec<Option<TcpStream>> = table.iter().map(|_| None).collect();
        for peer in 0..rank {
            let mut stream = TcpStream::connect(table[peer])?;
            send_text(&mut stream, &format!("{} {rank}", self.tag))?;
            peers[peer] = Some(stream);
        }
        listener.set_nonblocking(true)?;
        while peers[rank + 1..].iter().any(Option::is_none) {
            let mut stream = accept(listener, given_up)?;
            let hello = receive_text(&mut stream, given_up)?;
            let peer = hello
                .strip_prefix(&format!("{} ", self.tag))
                .and_then(|text| text.parse().ok());
            match peer {
                Some(peer) if (rank + 1..table.len()).contains(&peer) => peers[peer] = Some(stream),
                _ => continue, // a stranger
            }
        }
        for stream in peers.iter().flatten() {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
        }
        Ok(peers)
    }
}

fn accept(listener: &TcpListener, given_up: &dyn Fn() -> bool) -> std::io::Result<TcpStream> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(LOOK))?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(LOOK),
            Err(error) => return Err(error),
        }
        if given_up() {
            return Err(ErrorKind::Interrupted.into());
        }
    }
}

/// Collects every rank's address and gives all of them the table.
fn introduce(listener: &TcpListener, tag: u64) {
    let mut ranks: Vec<Option<(TcpStream, String)>> = Vec::new();
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let Ok(hello) = receive_text(&mut stream, &|| false) else {
            continue;
        };
        let fields: Vec<_> = hello.split(' ').collect();
        let [theirs, rank, world, address] = fields[..] else {
            continue;
        };
        let (Ok(rank), Ok(world)) = (rank.parse::<usize>(), world.parse::<usize>()) else {
            continue;
        };
        if theirs != tag.to_string() || rank >= world {
            continue;
        }
        ranks.resize_with(world.max(ranks.len()), || None);
        ranks[rank] = Some((stream, address.to_owned()));
        if ranks.iter().all(Option::is_some) {
            break;
        }
    }
    let table: Vec<_> = ranks
        .iter()
        .flatten()
        .map(|(_, address)| address.as_str())
        .collect();
    let table = table.join(" ");
    for (stream, _) in ranks.iter_mut().flatten() {
        let _ = send_text(stream, &table);
    }
}

fn send_text(stream: &mut TcpStream, text: &str) -> std::io::Result<()> {
    stream.write_all(&(text.len() as u32).to_le_bytes())?;
    stream.write_all(text.as_bytes())
}

fn receive_text(stream: &mut TcpStream, given_up: &dyn Fn() -> bool) -> std::io::Result<String> {
    let mut len = [0; 4];
    receive(stream, &mut len, given_up)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > 1 << 20 {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; len];
    receive(stream, &mut text, given_up)?;
    String::from_utf8(text).map_err(|_| ErrorKind::InvalidData.into())
}

fn receive(
    stream: &mut TcpStream,
    into: &mut [u8],
    given_up: &dyn Fn() -> bool,
) -> std::io::Result<()> {
    let mut at = 0;
    while at < into.len() {
        match stream.read(&mut into[at..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => at += read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if given_up() {
                    return Err(ErrorKind::Interrupted.into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Bytes before each message: what operation it belongs to and how long it is.
const HEADER: usize = 16;

/// A message to a peer.
pub struct Outgoing<'a> {
    peer: usize,
    header: [u8; HEADER],
    body: &'a [u8],
    done: usize,
}

/// A message from a peer.
pub struct Incoming<'a> {
    peer: usize,
    header: [u8; HEADER],
    got: [u8; HEADER],
    body: &'a mut [u8],
    done: usize,
}

fn header(kind: u64, len: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&kind.to_le_bytes());
    header[8..].copy_from_slice(&(len as u64).to_le_bytes());
    header
}

impl<'a> Outgoing<'a> {
    pub fn new(peer: usize, kind: u64, body: &'a [u8]) -> Self {
        Self {
            peer,
            header: header(kind, body.len()),
            body,
            done: 0,
        }
    }

    fn remaining(&self) -> usize {
        HEADER + self.body.len() - self.done
    }

    fn push(&mut self, mut stream: &TcpStream) -> std::io::Result<bool> {
        let from = if self.done < HEADER {
            &self.header[self.done..]
        } else {
            &self.body[self.done - HEADER..]
        };
        let wrote = stream.write(from)?;
        self.done += wrote;
        Ok(wrote > 0)
    }
}

impl<'a> Incoming<'a> {
    pub fn new(peer: usize, kind: u64, body: &'a mut [u8]) -> Self {
        Self {
            peer,
            header: header(kind, body.len()),
            got: [0; HEADER],
            body,
            done: 0,
        }
    }

    fn remaining(&self) -> usize {
        HEADER + self.body.len() - self.done
    }

    fn pull(&mut self, mut stream: &TcpStream) -> std::io::Result<bool> {
        let into = if self.done < HEADER {
            &mut self.got[self.done..]
        } else {
            &mut self.body[self.done - HEADER..]
        };
        let read = stream.read(into)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.done += read;
        if self.done == HEADER && self.got != self.header {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(true)
    }
}

/// Moves all messages, in order for each peer and direction.
pub fn exchange(
    peers: &[Option<TcpStream>],
    out: &mut [Outgoing<'_>],
    into: &mut [Incoming<'_>],
    given_up: &dyn Fn() -> bool,
) -> Result<(), Code> {
    loop {
        let mut waits = Vec::new();
        let mut moved = false;
        let mut seen = vec![false; peers.len()];
        for message in out.iter_mut().filter(|message| message.remaining() > 0) {
            if !std::mem::replace(&mut seen[message.peer], true) {
                let stream = link(peers, message.peer)?;
                moved |= step(message.peer, message.push(stream))?;
                waits.push((stream, PollFlags::OUT));
            }
        }
        seen.fill(false);
        for message in into.iter_mut().filter(|message| message.remaining() > 0) {
            if !std::mem::replace(&mut seen[message.peer], true) {
                let stream = link(peers, message.peer)?;
                moved |= step(message.peer, message.pull(stream))?;
                waits.push((stream, PollFlags::IN));
            }
        }
        if waits.is_empty() {
            return Ok(());
        }
        if given_up() {
            return Err(INTERNAL);
        }
        if !moved {
            wait(&waits);
        }
    }
}

fn link(peers: &[Option<TcpStream>], peer: usize) -> Result<&TcpStream, Code> {
    peers.get(peer).and_then(Option::as_ref).ok_or(INTERNAL)
}

fn step(peer: usize, result: std::io::Result<bool>) -> Result<bool, Code> {
    match result {
        Ok(moved) => Ok(moved),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(false)
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(fail(
            REMOTE,
            &format!("rank {peer} is in another operation"),
        )),
        Err(error) => Err(fail(REMOTE, &format!("rank {peer}: {error}"))),
    }
}

fn wait(links: &[(&TcpStream, PollFlags)]) {
    let mut fds: Vec<_> = links
        .iter()
        .map(|&(stream, flags)| PollFd::new(stream, flags))
        .collect();
    let look = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK.subsec_nanos().into(),
    };
    // Woken early or not at all: the next round looks again.
    let _ = poll(&mut fds, Some(&look));
}
