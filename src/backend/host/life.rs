//! Which of a host's ranks are still there.
//!
//! Each process holds one end of a socket pair and gives the other end to every other process of
//! the host. The kernel closes the kept end when the process ends, however it ends, and whatever
//! process-id namespaces there are between them.

use super::board::Board;
use super::roster::Roster;
use crate::base::Fault;
use crate::base::Kind;
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;

/// Watches the other processes of the host, by [`super::roster::Member::process`].
#[derive(Debug, Default)]
pub(super) struct Life {
    processes: HashMap<u64, UnixStream>,
}

impl Life {
    /// Watches a process by the end that it gave; reads of it do not block.
    pub(super) fn watch(&mut self, process: u64, end: UnixStream) {
        self.processes.insert(process, end);
    }

    /// What to say if the rank with this index on the host is gone: its process ended, or it
    /// closed its session.
    pub(super) fn loss(&self, roster: &Roster, board: &Board, local: usize) -> Option<Fault> {
        let rank = roster.neighbours()[local];
        let how = if self.is_dead(roster.at(rank).process) {
            "its process ended"
        } else if board.left(local).load(Ordering::Acquire) != 0 {
            "it closed its session"
        } else {
            return None;
        };
        Some(Fault::new(
            Kind::Peer,
            format!("{} is gone: {how}", roster.who(rank)),
        ))
    }

    fn is_dead(&self, process: u64) -> bool {
        let Some(mut end) = self.processes.get(&process) else {
            return false;
        };
        match end.read(&mut [0]) {
            Ok(bytes) => bytes == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_dead_once_its_end_is_closed_and_not_before() {
        let (held, given) = UnixStream::pair().unwrap();
        given.set_nonblocking(true).unwrap();
        let mut life = Life::default();
        life.watch(7, given);
        assert!(!life.is_dead(7) && !life.is_dead(8));
        drop(held);
        assert!(life.is_dead(7) && life.is_dead(7));
    }
}
