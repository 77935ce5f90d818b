//! Device memory: allocating, clearing and copying; who owns it is the caller's business.

use super::Driver;
use super::Memory;
use super::Stream;
use crate::base::Fault;

impl Driver {
    /// Allocates on the current context's device.
    ///
    /// # Errors
    /// `Call` where there is not enough memory.
    pub fn alloc(&self, len: u64) -> Result<Memory, Fault> {
        let mut address = 0;
        // SAFETY: writes one address.
        let code = unsafe { (self.calls.mem_alloc)(&raw mut address, size(len)) };
        self.check("cuMemAlloc", code)?;
        Ok(Memory { address, len })
    }

    /// Frees what [`Driver::alloc`] gave.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn free(&self, memory: Memory) -> Result<(), Fault> {
        // SAFETY: the address came from `alloc`, and its owner gives it up here.
        let code = unsafe { (self.calls.mem_free)(memory.address) };
        self.check("cuMemFree", code)
    }

    /// Free and total bytes of the current context's device.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn memory_info(&self) -> Result<(u64, u64), Fault> {
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: writes two sizes.
        let code = unsafe { (self.calls.mem_get_info)(&raw mut free, &raw mut total) };
        self.check("cuMemGetInfo", code)?;
        Ok((free as u64, total as u64))
    }

    /// Enqueues setting every byte of `memory` to zero.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn zero(&self, memory: Memory, stream: Stream) -> Result<(), Fault> {
        // SAFETY: the range is one that the owner of the memory vouches for.
        let code =
            unsafe { (self.calls.memset_d8_async)(memory.address, 0, size(memory.len), stream.0) };
        self.check("cuMemsetD8Async", code)
    }

    /// Enqueues a copy of `bytes` into `memory`; the slice may be dropped when it returns.
    ///
    /// # Source
    /// CUDA driver API, "API synchronization behavior": a copy from pageable host memory returns
    /// when the source has been staged.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn upload(&self, bytes: &[u8], memory: Memory, stream: Stream) -> Result<(), Fault> {
        let len = bytes.len().min(size(memory.len));
        // SAFETY: reads no more than the slice holds and writes no more than the memory does.
        let code = unsafe {
            (self.calls.memcpy_htod_async)(memory.address, bytes.as_ptr().cast(), len, stream.0)
        };
        self.check("cuMemcpyHtoDAsync", code)
    }

    /// Copies `memory` into `bytes` and waits for it.
    ///
    /// It is not ordered after a non-blocking stream: the caller waits for what writes the memory.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn download(&self, memory: Memory, bytes: &mut [u8]) -> Result<(), Fault> {
        let len = bytes.len().min(size(memory.len));
        // SAFETY: writes no more than the slice holds and reads no more than the memory does; the
        // call returns only when the copy is complete.
        let code =
            unsafe { (self.calls.memcpy_dtoh)(bytes.as_mut_ptr().cast(), memory.address, len) };
        self.check("cuMemcpyDtoH", code)
    }
}

/// A byte count as the driver takes it.
fn size(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}
