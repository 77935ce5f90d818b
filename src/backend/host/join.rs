//! How the ranks of a host come to share memory: the first of them makes the file and hands it on.
//!
//! Two rounds over the control plane (where is the door; have all come in) and one visit at the
//! door for each rank, which leaves an end to watch its process by and takes the file and the
//! others' ends.

use super::board::Board;
use super::life::Life;
use super::memory;
use super::patience::{Awaited, NAP, Patience};
use super::roster::Roster;
use crate::backend::ThreadSeat;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::base::Rank;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::ffi::handoff::Doorway;
use crate::ffi::handoff::Passage;
use crate::ffi::handoff::WORDS_BYTES;
use crate::ffi::shm::SharedFile;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// What a rank has after joining.
#[derive(Debug)]
pub(super) struct Joined {
    /// The host's file; its first bytes are the board's.
    pub(super) file: SharedFile,
    /// The other processes.
    pub(super) life: Life,
}

/// What the first rank of a host has before the others come.
struct Offer {
    file: SharedFile,
    door: Doorway,
}

/// Joins the ranks of this host.
///
/// # Errors
/// On every rank the fault of the first that failed: `Call` where the kernel refuses, `Timeout`
/// where a neighbour does not come, faults of the control plane.
pub(super) fn join(
    roster: &Roster,
    seat: &ThreadSeat,
    boot: &dyn Bootstrap,
    patience: &Patience,
) -> Result<Joined, Fault> {
    let offer = (roster.mine().local == 0)
        .then(|| make_offer(roster))
        .transpose();
    let said = offer
        .as_ref()
        .map(|offer| offer.as_ref().map(|offer| offer.door.name().to_owned()));
    let step = Step {
        name: "the hosts' shared memory",
        limit: seat.limit,
    };
    let said = bootstrap::encode(&said.map_err(Clone::clone))?;
    let doors = boot.all_gather(step, &said)?;
    let doors = doors
        .iter()
        .map(|door| bootstrap::decode::<Result<Option<String>, Fault>>(door)?);
    let doors: Vec<Option<String>> = doors.collect::<Result<_, Fault>>()?;
    let mut visit = Visit {
        roster,
        boot,
        patience,
    };
    let joined = match offer? {
        Some(offer) => visit.welcome(offer),
        None => visit.call_at(doors[roster.neighbours()[0].0 as usize].as_deref()),
    };
    let (joined, outcome) = match joined.while_doing(|| "sharing memory".to_owned()) {
        Ok(joined) => (Some(joined), Ok(())),
        Err(fault) => (None, Err(fault)),
    };
    boot.agree(step, outcome)?;
    joined.ok_or_else(|| Fault::new(Kind::Disagree, "a fault of this rank was not agreed on"))
}

fn make_offer(roster: &Roster) -> Result<Offer, Fault> {
    let ranks = roster.neighbours().len();
    let file = SharedFile::create("ncclbench", memory::file_len(ranks))?;
    file.reserve(0, Board::bytes(ranks) as u64)?;
    Ok(Offer {
        file,
        door: Doorway::open()?,
    })
}

/// Everything a visit needs to know.
struct Visit<'a> {
    roster: &'a Roster,
    boot: &'a dyn Bootstrap,
    patience: &'a Patience,
}

impl Visit<'_> {
    /// The first rank's side: lets all others in, then hands each the file and all ends.
    fn welcome(&mut self, offer: Offer) -> Result<Joined, Fault> {
        let mut life = Life::default();
        let own = self.own_end()?.map(|end| (self.roster.mine().process, end));
        let mut ends: Vec<(u64, OwnedFd)> = own.into_iter().collect();
        let mut guests: Vec<Option<Passage>> =
            self.roster.neighbours().iter().map(|_| None).collect();
        while let Some(missing) = (1..guests.len()).find(|local| guests[*local].is_none()) {
            let guest = self.poll(missing, offer.door.as_fd(), || offer.door.accept())?;
            let (words, mut given) = self.poll(missing, guest.as_fd(), || guest.receive())?;
            let [local, process] = split(words);
            if let Some(end) = given.pop() {
                ends.push((process, end));
            }
            match usize::try_from(local)
                .ok()
                .and_then(|local| guests.get_mut(local))
            {
                Some(place) => *place = Some(guest),
                None => return Err(Fault::new(Kind::Disagree, "a stranger came for the memory")),
            }
        }
        for (local, guest) in guests.iter().enumerate() {
            if let Some(guest) = guest {
                self.hand_on(local, guest, &offer.file, &ends)?;
            }
        }
        for (process, end) in ends {
            self.keep(&mut life, process, end)?;
        }
        Ok(Joined {
            file: offer.file,
            life,
        })
    }

    /// Sends the file, then the ends with their processes' numbers, one by one.
    fn hand_on(
        &self,
        local: usize,
        guest: &Passage,
        file: &SharedFile,
        ends: &[(u64, OwnedFd)],
    ) -> Result<(), Fault> {
        let send = |words, fds: &[BorrowedFd<'_>]| {
            self.poll(local, guest.as_fd(), || {
                Ok(guest.send(words, fds)?.then_some(()))
            })
        };
        send(join_words([ends.len() as u64, 0]), &[file.fd()])?;
        for (process, end) in ends {
            send(join_words([*process, 0]), &[end.as_fd()])?;
        }
        Ok(())
    }

    /// The other ranks' side.
    fn call_at(&mut self, door: Option<&str>) -> Result<Joined, Fault> {
        let door = door.ok_or_else(|| Fault::new(Kind::Disagree, "nobody opened a door"))?;
        let own = self.own_end()?;
        let passage = Passage::connect(door)?;
        let mine = self.roster.mine();
        let words = join_words([mine.local as u64, mine.process]);
        let given: Vec<BorrowedFd<'_>> = own.iter().map(AsFd::as_fd).collect();
        self.poll(0, passage.as_fd(), || {
            Ok(passage.send(words, &given)?.then_some(()))
        })?;
        let (words, mut fds) = self.poll(0, passage.as_fd(), || passage.receive())?;
        let file = fds
            .pop()
            .ok_or_else(|| Fault::new(Kind::Disagree, "no file was handed on"))?;
        let mut life = Life::default();
        for _ in 0..split(words)[0] {
            let (words, fds) = self.poll(0, passage.as_fd(), || passage.receive())?;
            for end in fds {
                self.keep(&mut life, split(words)[0], end)?;
            }
        }
        Ok(Joined {
            file: SharedFile::adopt(file),
            life,
        })
    }

    /// The end to give, if this rank is the first of its process on this host and there are other
    /// processes. The other end is left to the process: the kernel closes it when that ends.
    fn own_end(&self) -> Result<Option<OwnedFd>, Fault> {
        let process = |rank: &Rank| self.roster.at(*rank).process;
        let mine = self.roster.mine().process;
        let ranks = self.roster.neighbours();
        let first = ranks.iter().find(|rank| process(rank) == mine);
        if first != Some(&self.roster.me) || ranks.iter().all(|rank| process(rank) == mine) {
            return Ok(None);
        }
        let (held, given) = UnixStream::pair().map_err(|error| refused(&error))?;
        let _ = held.into_raw_fd();
        Ok(Some(given.into()))
    }

    /// Keeps another process's end; my own process needs no watching.
    fn keep(&self, life: &mut Life, process: u64, end: OwnedFd) -> Result<(), Fault> {
        if process == self.roster.mine().process {
            return Ok(());
        }
        let end = UnixStream::from(end);
        end.set_nonblocking(true).map_err(|error| refused(&error))?;
        life.watch(process, end);
        Ok(())
    }

    /// Tries until there is something, sleeping on `fd` in between.
    fn poll<T>(
        &self,
        missing: usize,
        fd: BorrowedFd<'_>,
        mut attempt: impl FnMut() -> Result<Option<T>, Fault>,
    ) -> Result<T, Fault> {
        let mut wait = self.patience.begin();
        loop {
            if let Some(thing) = attempt()? {
                return Ok(thing);
            }
            let nap = Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(NAP.subsec_nanos()),
            };
            // Whatever it says, the next attempt finds out.
            let _ = rustix::event::poll(
                &mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)],
                Some(&nap),
            );
            wait.check(
                &|| false,
                &Neighbour {
                    visit: self,
                    local: missing,
                },
            )?;
        }
    }
}

/// A neighbour who has not come to the door.
struct Neighbour<'a> {
    visit: &'a Visit<'a>,
    local: usize,
}

impl Awaited for Neighbour<'_> {
    fn lost(&self) -> Option<Fault> {
        self.visit.boot.ended()
    }

    fn late(&self, limit: Duration) -> Fault {
        let who = self
            .visit
            .roster
            .who(self.visit.roster.neighbours()[self.local]);
        let limit = super::patience::spoken(limit);
        Fault::new(Kind::Timeout, format!("{who} did not come within {limit}"))
    }
}

fn join_words(words: [u64; 2]) -> [u8; WORDS_BYTES] {
    let mut bytes = [0; WORDS_BYTES];
    bytes[..8].copy_from_slice(&words[0].to_le_bytes());
    bytes[8..].copy_from_slice(&words[1].to_le_bytes());
    bytes
}

fn split(bytes: [u8; WORDS_BYTES]) -> [u64; 2] {
    let half = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    [half(0), half(8)]
}

fn refused(error: &std::io::Error) -> Fault {
    Fault::new(
        Kind::Call,
        format!("a Unix socket could not be set up: {error}"),
    )
}
