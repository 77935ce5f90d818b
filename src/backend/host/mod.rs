//! Backend `host`: collectives on the CPU, with real data, real processes and real time.
//!
//! Every rank is a thread. Ranks of one host identity, in one process or in many, share memory and
//! read and write each other's buffers directly; hosts talk over TCP. It measures this machine's
//! memory and network, never a GPU's.
//!
//! | file | concern |
//! |---|---|
//! | `roster` | who sits where |
//! | `join`, `life` | how a host's ranks come to share memory; which of them are still there |
//! | `board`, `memory` | what lies where in it: words that signal, buffers |
//! | `patience`, `crew` | waiting; working together |
//! | `links`, `exchange` | connections between hosts; messages over them |
//! | `fold`, `all_reduce`, `all_to_all`, `reduce`, `point_to_point` | the algorithms |
//! | `comm`, `verbs`, `session` | what the rest of the program sees |

mod all_reduce;
mod all_to_all;
mod board;
mod comm;
mod crew;
mod exchange;
mod fold;
mod join;
mod life;
mod links;
mod memory;
mod patience;
mod point_to_point;
mod reduce;
mod roster;
mod session;
#[cfg(test)]
mod tests;
mod verbs;

use super::Backend;
use super::Equipment;
use super::Session;
use super::ThreadSeat;
use super::Wish;
use super::machine;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::bootstrap::Bootstrap;
use crate::record::DeviceRecord;
use board::Board;
use comm::Comm;
use crew::Crew;
use fold::Scratch;
use join::Joined;
use links::Links;
use memory::Memory;
use patience::{Patience, Stop};
use roster::Roster;
use session::HostSession;
use std::cell::RefCell;
use std::sync::Arc;

/// The CPU.
#[derive(Debug)]
pub(super) struct Host;

impl Backend for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn summary(&self) -> &'static str {
        "the CPU: shared memory within a host, TCP between hosts; needs no GPU"
    }

    fn measures(&self) -> bool {
        true
    }

    fn lanes_share_a_thread(&self) -> bool {
        false
    }

    fn launches_block(&self) -> bool {
        true
    }

    fn probe(&self, _wish: &Wish) -> Result<Equipment, Fault> {
        let device = DeviceRecord {
            ordinal: 0,
            name: machine::processor()?,
            bus_id: "0000:00:00".to_owned(),
            uuid: None,
            memory_bytes: machine::total_memory()?.map(|memory| memory.0),
        };
        Ok(Equipment {
            libraries: Vec::new(),
            devices: vec![device],
            notes: Vec::new(),
        })
    }

    fn open(&self, seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<Box<dyn Session>, Fault> {
        let session = open(seat, boot).while_doing(|| "opening the host backend".to_owned())?;
        Ok(Box::new(session))
    }
}

fn open(seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<HostSession, Fault> {
    let stop = Arc::new(Stop::default());
    let roster = Roster::exchange(seat, boot)?;
    let (local, ranks) = (roster.mine().local, roster.neighbours().len());
    let patience = Patience::of(seat, Arc::clone(&stop), ranks);
    let Joined { file, life } = join::join(&roster, seat, boot, &patience.limited(seat.limit))?;
    let board = file
        .map(0, Board::bytes(ranks))
        .map(|region| Board::new(region, ranks))?;
    let links = Links::exchange(&roster, seat, boot)?;
    let comm = Comm {
        crew: Crew::new(board, roster, life, patience),
        memory: RefCell::new(Memory::new(file, local)),
        links: RefCell::new(links),
        scratch: RefCell::new(Scratch::new()),
    };
    Ok(HostSession::new(comm, seat, stop))
}
