//! Backend `mpi` (cargo feature `mpi`): MPI's own collectives on host memory.
//!
//! A rank is a process, and its number is MPI's. It measures an MPI library and this machine's
//! memory and network, never a GPU's.

mod session;
mod verbs;

use super::Backend;
use super::Equipment;
use super::Session;
use super::ThreadSeat;
use super::Wish;
use super::machine;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::ffi::mpi;
use crate::ffi::mpi::Mpi;
use crate::record::DeviceRecord;
use crate::record::LibraryRecord;
use session::MpiSession;

/// See the module.
#[derive(Debug)]
pub(super) struct MpiBackend;

impl Backend for MpiBackend {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn summary(&self) -> &'static str {
        "MPI's own collectives on host memory; needs no GPU"
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

    fn probe(&self, wish: &Wish) -> Result<Equipment, Fault> {
        Mpi::expect_joinable(&wish.env)?;
        let library = LibraryRecord {
            name: "mpi".to_owned(),
            path: "linked".to_owned(),
            version: mpi::library_version()?,
            code: None,
            stand_in: false,
        };
        let device = DeviceRecord {
            ordinal: 0,
            name: machine::processor()?,
            bus_id: "0000:00:00".to_owned(),
            uuid: None,
            memory_bytes: machine::total_memory()?.map(|memory| memory.0),
        };
        Ok(Equipment {
            libraries: vec![library],
            devices: vec![device],
            notes: Vec::new(),
        })
    }

    fn open(&self, seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<Box<dyn Session>, Fault> {
        let session = open(seat, boot).while_doing(|| "opening the mpi backend".to_owned())?;
        Ok(Box::new(session))
    }
}

fn open(seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<MpiSession, Fault> {
    let step = Step {
        name: "the ranks' hosts",
        limit: seat.limit,
    };
    let hosts = boot.all_gather(step, seat.host_identity.as_bytes())?;
    let mine = seat.host_identity.as_bytes();
    let neighbours = hosts.iter().filter(|host| host.as_slice() == mine).count();
    let mpi = Mpi::join(&seat.wish.env)?;
    let me = (seat.ranks.first().map_or(0, |rank| rank.0), seat.world.0);
    expect_same(me, (mpi.rank(), mpi.size()), mpi.library()).inspect_err(|_| mpi.spoil())?;
    Ok(MpiSession::new(mpi, seat, neighbours.max(1) as u64))
}

/// Refuses ranks that MPI numbers otherwise: it would be another world than the table's.
fn expect_same(ours: (u32, u32), mpis: (u32, u32), library: &str) -> Result<(), Fault> {
    if ours == mpis {
        return Ok(());
    }
    let ((rank, world), (its_rank, its_size)) = (ours, mpis);
    let text =
        format!("this is rank {rank} of {world}, but to MPI it is rank {its_rank} of {its_size}");
    Err(Fault::new(Kind::Launch, text)
        .detail(format!("this program is linked to {library}"))
        .hint("start one rank in each process (`-t 1 -g 1`) by the launcher of that MPI")
        .hint("`--launcher mpi` takes ranks from MPI itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_that_mpi_sees_otherwise_are_refused() {
        assert_eq!(expect_same((2, 3), (2, 3), "MPICH"), Ok(()));
        for other in [(0, 1), (1, 3), (2, 6)] {
            let fault = expect_same((2, 3), other, "MPICH").unwrap_err();
            assert!(fault.message.contains("rank 2 of 3"), "{fault}");
        }
    }
}
