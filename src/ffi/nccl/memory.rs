//! NCCL's allocator, where the library has one (2.19 and newer): what nccl-tests' buffers come from.

use super::Nccl;
use crate::base::Fault;
use crate::ffi::cuda::Memory;
use std::ffi::c_void;
use std::ptr::null_mut;

impl Nccl {
    /// Whether it has an allocator.
    pub fn allocates(&self) -> bool {
        self.calls.mem_alloc.is_some() && self.calls.mem_free.is_some()
    }

    /// Allocates on the current context's device.
    ///
    /// # Errors
    /// `Unsupported` where the library has no allocator, `Call` where it fails.
    pub fn alloc(&self, len: u64) -> Result<Memory, Fault> {
        let Some(call) = self.calls.mem_alloc else {
            return Err(self.lacks("ncclMemAlloc", "2.19"));
        };
        let mut address: *mut c_void = null_mut();
        // SAFETY: writes one address.
        let code = unsafe { call(&raw mut address, super::verbs::size(len)) };
        self.check("ncclMemAlloc", code)?;
        Ok(Memory {
            address: address.addr() as u64,
            len,
        })
    }

    /// Frees what [`Nccl::alloc`] gave.
    ///
    /// # Errors
    /// As [`Nccl::alloc`].
    pub fn free(&self, memory: Memory) -> Result<(), Fault> {
        let Some(call) = self.calls.mem_free else {
            return Err(self.lacks("ncclMemFree", "2.19"));
        };
        // SAFETY: the address came from `alloc`, and its owner gives it up here.
        let code = unsafe { call(super::verbs::pointer(memory.address)) };
        self.check("ncclMemFree", code)
    }
}
