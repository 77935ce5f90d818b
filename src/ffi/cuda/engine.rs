//! What the copy engines do in the order of a stream, without a kernel: copies, flags and waits.

use super::Driver;
use super::Memory;
use super::Stream;
use super::newer;
use crate::base::Fault;

/// `CU_STREAM_WAIT_VALUE_GEQ`: the signed difference is not negative.
const AT_LEAST: u32 = 0;
/// `CU_STREAM_WRITE_VALUE_DEFAULT`: what was enqueued before is to be seen before the value.
const AFTER_EARLIER_WORK: u32 = 0;

impl Driver {
    /// Enqueues a copy of `len` bytes between device addresses.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn copy(&self, from: u64, to: u64, len: u64, stream: Stream) -> Result<(), Fault> {
        let copy = newer("cuMemcpyDtoDAsync", self.calls.memcpy_dtod_async)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        // SAFETY: both ranges are vouched for by their owner.
        let code = unsafe { copy(to, from, len, stream.0) };
        self.check("cuMemcpyDtoDAsync", code)
    }

    /// Enqueues writing a flag, after everything that was enqueued before.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn write_flag(&self, at: u64, value: u32, stream: Stream) -> Result<(), Fault> {
        let write = newer("cuStreamWriteValue32", self.calls.stream_write_value32)?;
        // SAFETY: the address is vouched for by its owner.
        let code = unsafe { write(stream.0, at, value, AFTER_EARLIER_WORK) };
        self.check("cuStreamWriteValue32", code)
    }

    /// Enqueues waiting until a flag is `value` or later; there is no limit to it.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn await_flag(&self, at: u64, value: u32, stream: Stream) -> Result<(), Fault> {
        let wait = newer("cuStreamWaitValue32", self.calls.stream_wait_value32)?;
        // SAFETY: the address is vouched for by its owner.
        let code = unsafe { wait(stream.0, at, value, AT_LEAST) };
        self.check("cuStreamWaitValue32", code)
    }

    /// Enqueues setting every 32-bit word of `memory`.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn set_words(&self, memory: Memory, value: u32, stream: Stream) -> Result<(), Fault> {
        let set = newer("cuMemsetD32Async", self.calls.memset_d32_async)?;
        let count = usize::try_from(memory.len / 4).unwrap_or(usize::MAX);
        // SAFETY: the range is one that the owner of the memory vouches for.
        let code = unsafe { set(memory.address, value, count, stream.0) };
        self.check("cuMemsetD32Async", code)
    }
}
