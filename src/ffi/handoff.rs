//! Handing file descriptors from process to process of one host over an abstract Unix socket.
//!
//! Only processes of the same user get in. What the descriptors mean is the caller's business, and
//! so is patience: nothing here blocks.

use crate::base::Fault;
use crate::base::Kind;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// How many descriptors one message may carry; the kernel's own limit is 253.
pub const FDS_AT_ONCE: usize = 64;

/// Bytes of a message beside its descriptors.
pub const WORDS_BYTES: usize = 16;

/// The bytes of a message and its descriptors.
pub type Message = ([u8; WORDS_BYTES], Vec<OwnedFd>);

/// Where others come to.
#[derive(Debug)]
pub struct Doorway {
    listener: UnixListener,
    name: String,
}

impl Doorway {
    /// Opens one under a name that nobody else has.
    ///
    /// # Errors
    /// `Call` where the kernel refuses.
    pub fn open() -> Result<Self, Fault> {
        let pid = std::process::id();
        // Process ids repeat where containers share a network namespace, so a name may be taken.
        for attempt in 0..10_000_u32 {
            let name = format!("ncclbench-{pid}-{attempt}");
            let address = address(&name)?;
            match UnixListener::bind_addr(&address) {
                Ok(listener) => {
                    let listening = listener.set_nonblocking(true);
                    listening.map_err(|error| failed("fcntl", &error))?;
                    return Ok(Self { listener, name });
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(failed("bind", &error)),
            }
        }
        Err(Fault::new(Kind::Call, "no free name for a Unix socket"))
    }

    /// The name to connect to.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Somebody who has come, if somebody has. Other users' processes are turned away.
    ///
    /// # Errors
    /// `Call` where the kernel refuses.
    pub fn accept(&self) -> Result<Option<Passage>, Fault> {
        let (stream, _) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(failed("accept", &error)),
        };
        let theirs = socket_peercred(&stream).map_err(|error| failed("getsockopt", &error))?;
        if theirs.uid != rustix::process::geteuid() {
            return Ok(None);
        }
        Passage::over(stream).map(Some)
    }
}

impl AsFd for Doorway {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// A connection over which messages of [`WORDS_BYTES`] bytes and some descriptors go.
#[derive(Debug)]
pub struct Passage {
    stream: UnixStream,
}

impl Passage {
    /// Connects to a [`Doorway`].
    ///
    /// # Errors
    /// `Call` where nobody is there.
    pub fn connect(name: &str) -> Result<Self, Fault> {
        let stream = UnixStream::connect_addr(&address(name)?);
        Self::over(stream.map_err(|error| failed("connect", &error))?)
    }

    fn over(stream: UnixStream) -> Result<Self, Fault> {
        let quiet = stream.set_nonblocking(true);
        quiet.map_err(|error| failed("fcntl", &error))?;
        Ok(Self { stream })
    }

    /// Sends a message; false if the other side has not yet made room for it.
    ///
    /// # Errors
    /// `Peer` where the other side is gone, `Call` where the kernel refuses.
    pub fn send(&self, words: [u8; WORDS_BYTES], fds: &[BorrowedFd<'_>]) -> Result<bool, Fault> {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_AT_ONCE))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            let what = format!("{} descriptors in one message", fds.len());
            return Err(Fault::new(Kind::Call, what));
        }
        let sent = rustix::net::sendmsg(
            &self.stream,
            &[IoSlice::new(&words)],
            &mut control,
            SendFlags::NOSIGNAL,
        );
        match sent {
            Ok(WORDS_BYTES) => Ok(true),
            Ok(_) => Err(Fault::new(Kind::Call, "sendmsg took a part of a message")),
            Err(Errno::AGAIN) => Ok(false),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(gone()),
            Err(error) => Err(failed("sendmsg", &error)),
        }
    }

    /// A message that has come, if one has.
    ///
    /// # Errors
    /// As [`Passage::send`].
    pub fn receive(&self) -> Result<Option<Message>, Fault> {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_AT_ONCE))];
        let mut control = RecvAncillaryBuffer::new(&mut room);
        let mut words = [0; WORDS_BYTES];
        let received = rustix::net::recvmsg(
            &self.stream,
            &mut [IoSliceMut::new(&mut words)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        );
        match received.map(|message| message.bytes) {
            Ok(WORDS_BYTES) => {}
            Ok(0) | Err(Errno::CONNRESET) => return Err(gone()),
            Ok(_) => return Err(Fault::new(Kind::Call, "recvmsg gave a part of a message")),
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(failed("recvmsg", &error)),
        }
        let fds = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        });
        Ok(Some((words, fds.flatten().collect())))
    }
}

impl AsFd for Passage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn address(name: &str) -> Result<SocketAddr, Fault> {
    SocketAddr::from_abstract_name(name).map_err(|error| failed("bind", &error))
}

fn gone() -> Fault {
    Fault::new(Kind::Peer, "the process at the other end is gone")
}

fn failed(call: &str, error: &dyn std::fmt::Display) -> Fault {
    Fault::new(
        Kind::Call,
        format!("{call} on a Unix socket failed: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_descriptor_that_was_handed_on_is_the_same_file() {
        let door = Doorway::open().unwrap();
        let guest = Passage::connect(door.name()).unwrap();
        let host = door.accept().unwrap().expect("a guest is at the door");
        let (mut near, far) = UnixStream::pair().unwrap();
        assert!(guest.send([9; WORDS_BYTES], &[far.as_fd()]).unwrap());
        drop(far);
        let (words, mut fds) = host.receive().unwrap().expect("a message has come");
        assert_eq!((words, fds.len()), ([9; WORDS_BYTES], 1));
        let mut far = UnixStream::from(fds.remove(0));
        near.write_all(b"x").unwrap();
        let mut got = [0];
        far.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"x");
    }

    #[test]
    fn every_doorway_has_a_name_of_its_own() {
        let (one, other) = (Doorway::open().unwrap(), Doorway::open().unwrap());
        assert_ne!(one.name(), other.name());
    }

    #[test]
    fn nothing_sent_is_nothing_received_and_a_closed_end_is_a_lost_peer() {
        let door = Doorway::open().unwrap();
        assert!(door.accept().unwrap().is_none());
        let guest = Passage::connect(door.name()).unwrap();
        assert!(guest.receive().unwrap().is_none());
        drop(door.accept().unwrap());
        assert_eq!(guest.receive().unwrap_err().kind, Kind::Peer);
    }
}
