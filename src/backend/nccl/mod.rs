//! Backend `nccl`: the library under test on GPUs, both loaded at run time.
//!
//! One engine thread drives its ranks with grouped calls, as nccl-tests does. Nothing here times,
//! prints or decides what to do about a fault.

mod abort;
mod extras;
mod ids;
mod lane;
mod open;
mod ras;
mod session;

use super::Backend;
use super::CommWish;
use super::Equipment;
use super::Session;
use super::ThreadSeat;
use super::Wish;
use crate::base::Fault;
use crate::base::World;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Witness;
use crate::ffi::cuda::Driver;
use crate::ffi::nccl::Nccl;
use crate::record::LibraryRecord;
use std::sync::Arc;

/// NCCL on the GPUs that this process can see.
#[derive(Debug)]
pub(super) struct NcclBackend;

impl Backend for NcclBackend {
    fn name(&self) -> &'static str {
        "nccl"
    }

    fn summary(&self) -> &'static str {
        "NCCL on GPUs: libcuda and libnccl are loaded at run time"
    }

    fn measures(&self) -> bool {
        true
    }

    fn lanes_share_a_thread(&self) -> bool {
        true
    }

    fn heed(&self, _wish: CommWish) -> Result<(), Fault> {
        Ok(())
    }

    fn witness(&self, wish: &Wish) -> Option<Witness> {
        ras::witness(&wish.env)
    }

    fn probe(&self, wish: &Wish) -> Result<Equipment, Fault> {
        let tools = Tools::load(wish)?;
        Ok(Equipment {
            libraries: tools.records()?,
            devices: tools.driver.devices()?,
            notes: Vec::new(),
        })
    }

    fn joining(&self, wish: &Wish, world: World) -> Option<String> {
        let nccl = Nccl::load(wish.nccl_lib.as_deref()).ok()?;
        ids::note(world, &nccl, &wish.env)
    }

    fn open(&self, seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<Box<dyn Session>, Fault> {
        Ok(Box::new(open::open(seat, boot)?))
    }
}

/// The two libraries.
#[derive(Debug, Clone)]
struct Tools {
    driver: Arc<Driver>,
    nccl: Arc<Nccl>,
}

impl Tools {
    /// Loads both. A second time costs some symbol look-ups: the loader keeps what it has mapped.
    fn load(wish: &Wish) -> Result<Self, Fault> {
        Ok(Self {
            driver: Arc::new(Driver::load(&wish.env)?),
            nccl: Arc::new(Nccl::load(wish.nccl_lib.as_deref())?),
        })
    }

    fn records(&self) -> Result<Vec<LibraryRecord>, Fault> {
        Ok(vec![self.driver.record()?, self.nccl.record()])
    }
}
