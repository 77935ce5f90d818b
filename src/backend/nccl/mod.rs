//! Backend `nccl`: the library under test on GPUs, both loaded at run time.
//!
//! One engine thread drives its ranks with grouped calls, as nccl-tests does. Nothing here times,
//! prints or decides what to do about a fault.

mod abort;
mod check;
mod lane;
mod open;
mod ras;
mod session;

use super::Backend;
use super::Equipment;
use super::Session;
use super::ThreadSeat;
use super::Wish;
use crate::base::Fault;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Witness;
use crate::ffi::cuda::Driver;
use crate::ffi::nccl::Nccl;
use crate::record::DeviceRecord;
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

    fn witness(&self, wish: &Wish) -> Option<Witness> {
        ras::witness(&wish.env)
    }

    fn probe(&self, wish: &Wish) -> Result<Equipment, Fault> {
        let tools = Tools::load(wish)?;
        Ok(Equipment {
            libraries: tools.records()?,
            devices: devices(&tools.driver)?,
            notes: Vec::new(),
        })
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
        let version = self.driver.version()?;
        Ok(vec![
            LibraryRecord {
                name: "cuda driver".to_owned(),
                path: self.driver.path().to_owned(),
                version: format!("{}.{}", version / 1000, version % 1000 / 10),
                code: Some(version),
                stand_in: self.driver.is_stand_in(),
            },
            LibraryRecord {
                name: "nccl".to_owned(),
                path: self.nccl.path().to_owned(),
                version: self.nccl.version_text(),
                code: Some(self.nccl.version()),
                stand_in: self.nccl.is_stand_in(),
            },
        ])
    }
}

fn devices(driver: &Driver) -> Result<Vec<DeviceRecord>, Fault> {
    (0..driver.device_count()?)
        .map(|ordinal| {
            let device = driver.device(ordinal)?;
            Ok(DeviceRecord {
                ordinal,
                name: driver.device_name(device)?,
                bus_id: driver.device_bus_id(device)?,
                uuid: Some(driver.device_uuid(device)?),
                memory_bytes: Some(driver.device_memory(device)?),
            })
        })
        .collect()
}
