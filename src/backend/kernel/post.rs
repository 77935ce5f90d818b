//! Handing memory from process to process of one host: descriptors out, descriptors in.
//!
//! Every process has one doorway; who has memory to give connects to each of the others and sends a
//! descriptor with whose it is. Nothing here blocks; patience is the caller's.

use crate::base::Fault;
use crate::base::Kind;
use crate::ffi::handoff::Doorway;
use crate::ffi::handoff::Passage;
use crate::ffi::handoff::WORDS_BYTES;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

/// Whose memory, which of it, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) rank: u32,
    pub(super) index: u32,
    pub(super) len: u64,
}

impl Label {
    fn words(self) -> [u8; WORDS_BYTES] {
        let mut words = [0; WORDS_BYTES];
        words[..4].copy_from_slice(&self.rank.to_le_bytes());
        words[4..8].copy_from_slice(&self.index.to_le_bytes());
        words[8..].copy_from_slice(&self.len.to_le_bytes());
        words
    }

    fn read(words: [u8; WORDS_BYTES]) -> Self {
        let word = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&words[at..at + 4]);
            u32::from_le_bytes(bytes)
        };
        Self {
            rank: word(0),
            index: word(4),
            len: u64::from(word(12)) << 32 | u64::from(word(8)),
        }
    }
}

/// One process's connections.
#[derive(Debug)]
pub(super) struct Post {
    door: Doorway,
    incoming: Vec<Passage>,
    /// To each other process, once there is something to send.
    outgoing: Vec<Option<Passage>>,
    /// What could not be sent yet: to whom, and what.
    waiting: Vec<(usize, Label, OwnedFd)>,
}

impl Post {
    /// # Errors
    /// `Call` where the kernel refuses.
    pub(super) fn open() -> Result<Self, Fault> {
        Ok(Self {
            door: Doorway::open()?,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            waiting: Vec::new(),
        })
    }

    /// The name that others connect to.
    pub(super) fn name(&self) -> &str {
        self.door.name()
    }

    /// Puts memory in the post for process `to`.
    pub(super) fn send(&mut self, to: usize, label: Label, fd: OwnedFd) {
        self.waiting.push((to, label, fd));
    }

    /// Sends what can be sent and returns what has come. `names` are the doorways by process.
    ///
    /// # Errors
    /// `Peer` where a process is gone, `Call` where the kernel refuses.
    pub(super) fn pump(&mut self, names: &[String]) -> Result<Vec<(Label, OwnedFd)>, Fault> {
        for (to, label, fd) in std::mem::take(&mut self.waiting) {
            if !self
                .passage(to, names)?
                .send(label.words(), &[fd.as_fd()])?
            {
                self.waiting.push((to, label, fd));
            }
        }
        while let Some(passage) = self.door.accept()? {
            self.incoming.push(passage);
        }
        let mut come = Vec::new();
        let mut left = Vec::new();
        for (index, passage) in self.incoming.iter().enumerate() {
            match drain(passage, &mut come) {
                // Who has sent everything may leave; what is missing is missed elsewhere.
                Err(fault) if fault.kind == Kind::Peer => left.push(index),
                other => other?,
            }
        }
        for index in left.into_iter().rev() {
            self.incoming.swap_remove(index);
        }
        Ok(come)
    }

    fn passage(&mut self, to: usize, names: &[String]) -> Result<&Passage, Fault> {
        if self.outgoing.len() < names.len() {
            self.outgoing.resize_with(names.len(), || None);
        }
        let nowhere = || Fault::new(Kind::Disagree, format!("process {to} has no doorway"));
        let name = names.get(to).ok_or_else(nowhere)?;
        let slot = self.outgoing.get_mut(to).ok_or_else(nowhere)?;
        match slot {
            Some(passage) => Ok(passage),
            None => Ok(slot.insert(Passage::connect(name)?)),
        }
    }
}

fn drain(passage: &Passage, come: &mut Vec<(Label, OwnedFd)>) -> Result<(), Fault> {
    while let Some((words, fds)) = passage.receive()? {
        let label = Label::read(words);
        let [fd] = <[OwnedFd; 1]>::try_from(fds).map_err(|fds| {
            let what = format!("{label:?} came with {} descriptors", fds.len());
            Fault::new(Kind::Disagree, what)
        })?;
        come.push((label, fd));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_was_posted_comes_with_its_label() {
        let (mut one, mut other) = (Post::open().unwrap(), Post::open().unwrap());
        let names = [one.name().to_owned(), other.name().to_owned()];
        let label = Label {
            rank: 3,
            index: u32::MAX,
            len: 1 << 40,
        };
        let (near, far) = UnixStream::pair().unwrap();
        one.send(1, label, far.into());
        assert!(one.pump(&names).unwrap().is_empty());
        let come = other.pump(&names).unwrap();
        assert_eq!(come[0].0, label);
        let mut far = UnixStream::from(come.into_iter().next().unwrap().1);
        far.write_all(b"x").unwrap();
        drop(near);
    }
}
