//! Device memory that other processes may map: created, exported as a descriptor, imported, mapped.
//!
//! Who unmaps what and when is the caller's business; the driver keeps memory for as long as
//! anybody has it mapped.

use super::Device;
use super::Driver;
use super::Memory;
use super::newer;
use super::sys::AccessDesc;
use super::sys::AllocationHandle;
use super::sys::AllocationProp;
use super::sys::Location;
use super::sys::POSIX_FILE_DESCRIPTOR;
use crate::base::Fault;
use std::ffi::c_int;
use std::ffi::c_void;
use std::os::fd::AsRawFd;
use std::os::fd::FromRawFd;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;

/// `CU_MEM_ALLOC_GRANULARITY_RECOMMENDED`.
const RECOMMENDED: u32 = 1;

/// Memory of a device that is not mapped anywhere by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    handle: AllocationHandle,
    /// Bytes, a multiple of the device's granularity.
    pub len: u64,
}

fn location(device: Device) -> Location {
    Location {
        kind: 1,
        id: device.0,
    }
}

fn prop(device: Device) -> AllocationProp {
    AllocationProp {
        kind: 1,
        handle_types: POSIX_FILE_DESCRIPTOR,
        location: location(device),
        win32: null_mut(),
        flags: [0; 2],
    }
}

fn size(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}

impl Driver {
    /// Creates memory on a device, at least `len` bytes.
    ///
    /// # Errors
    /// `Unsupported` where the driver cannot share memory, `Call` where there is not enough.
    pub fn create(&self, device: Device, len: u64) -> Result<Allocation, Fault> {
        let ask = newer(
            "cuMemGetAllocationGranularity",
            self.calls.mem_get_allocation_granularity,
        )?;
        let create = newer("cuMemCreate", self.calls.mem_create)?;
        let (prop, mut grain) = (prop(device), 0usize);
        // SAFETY: reads the description and writes one size.
        let code = unsafe { ask(&raw mut grain, &raw const prop, RECOMMENDED) };
        self.check("cuMemGetAllocationGranularity", code)?;
        let len = len.max(1).next_multiple_of(grain.max(1) as u64);
        let mut handle = 0;
        // SAFETY: reads the description and writes one handle.
        let code = unsafe { create(&raw mut handle, size(len), &raw const prop, 0) };
        self.check("cuMemCreate", code)?;
        Ok(Allocation { handle, len })
    }

    /// A descriptor by which another process can import an allocation.
    ///
    /// # Errors
    /// As [`Driver::create`].
    pub fn export(&self, allocation: &Allocation) -> Result<OwnedFd, Fault> {
        let export = newer("cuMemExportToShareableHandle", self.calls.mem_export)?;
        let mut fd: c_int = -1;
        // SAFETY: writes one int, which is what a handle of this type is.
        let code = unsafe {
            export(
                (&raw mut fd).cast(),
                allocation.handle,
                POSIX_FILE_DESCRIPTOR,
                0,
            )
        };
        self.check("cuMemExportToShareableHandle", code)?;
        // SAFETY: the driver has made it for us, and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// What another process exported, `len` bytes of it.
    ///
    /// # Errors
    /// As [`Driver::create`].
    pub fn import(&self, fd: &OwnedFd, len: u64) -> Result<Allocation, Fault> {
        let import = newer("cuMemImportFromShareableHandle", self.calls.mem_import)?;
        let mut handle = 0;
        let number = usize::try_from(fd.as_raw_fd()).unwrap_or(usize::MAX);
        let os_handle: *mut c_void = std::ptr::without_provenance_mut(number);
        // SAFETY: writes one handle; the descriptor is passed as a number and stays ours.
        let code = unsafe { import(&raw mut handle, os_handle, POSIX_FILE_DESCRIPTOR) };
        self.check("cuMemImportFromShareableHandle", code)?;
        Ok(Allocation { handle, len })
    }

    /// Maps an allocation where all of `devices` may read and write it.
    ///
    /// # Errors
    /// `Call` where a device cannot reach the memory.
    pub fn map(&self, allocation: &Allocation, devices: &[Device]) -> Result<Memory, Fault> {
        let reserve = newer("cuMemAddressReserve", self.calls.mem_address_reserve)?;
        let map = newer("cuMemMap", self.calls.mem_map)?;
        let mut address = 0;
        // SAFETY: writes one address.
        let code = unsafe { reserve(&raw mut address, size(allocation.len), 0, 0, 0) };
        self.check("cuMemAddressReserve", code)?;
        let memory = Memory {
            address,
            len: allocation.len,
        };
        // SAFETY: the range was reserved for this, and is as long as the allocation.
        let code = unsafe { map(address, size(memory.len), 0, allocation.handle, 0) };
        self.check("cuMemMap", code)
            .and_then(|()| {
                self.grant(memory, devices)
                    .inspect_err(|_| self.unmap_only(memory))
            })
            .inspect_err(|_| self.release_addresses(memory))?;
        Ok(memory)
    }

    fn grant(&self, memory: Memory, devices: &[Device]) -> Result<(), Fault> {
        let set_access = newer("cuMemSetAccess", self.calls.mem_set_access)?;
        let wanted: Vec<_> = devices
            .iter()
            .map(|&device| AccessDesc {
                location: location(device),
                flags: 3,
            })
            .collect();
        // SAFETY: the range is mapped, and the descriptions live through the call.
        let code = unsafe {
            set_access(
                memory.address,
                size(memory.len),
                wanted.as_ptr(),
                wanted.len(),
            )
        };
        self.check("cuMemSetAccess", code)
    }

    /// Takes back what [`Driver::map`] gave. What fails here concerns nobody any more.
    pub fn unmap(&self, memory: Memory) {
        self.unmap_only(memory);
        self.release_addresses(memory);
    }

    fn unmap_only(&self, memory: Memory) {
        if let Some(unmap) = self.calls.mem_unmap {
            // SAFETY: the range came from `map`, and its owner gives it up here.
            let _ = unsafe { unmap(memory.address, size(memory.len)) };
        }
    }

    fn release_addresses(&self, memory: Memory) {
        if let Some(free) = self.calls.mem_address_free {
            // SAFETY: the range came from a reservation of this length, and nothing is mapped there.
            let _ = unsafe { free(memory.address, size(memory.len)) };
        }
    }

    /// Gives up an allocation; it stays for as long as somebody has it mapped.
    pub fn release(&self, allocation: Allocation) {
        if let Some(release) = self.calls.mem_release {
            // SAFETY: the handle came from `create` or `import`, and its owner gives it up here.
            let _ = unsafe { release(allocation.handle) };
        }
    }
}
