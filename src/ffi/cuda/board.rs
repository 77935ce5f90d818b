//! Words in host memory that kernels see too: what they leave for the host without a copy, and what
//! it tells them while they run.

use super::Driver;
use super::newer;
use crate::base::Fault;
use std::ptr::NonNull;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// `CU_MEMHOSTALLOC_PORTABLE` and `CU_MEMHOSTALLOC_DEVICEMAP`.
const PORTABLE_AND_MAPPED: u32 = 3;

/// Some words, zero in the beginning; never freed, because a kernel that is stuck looks at them to
/// the very end.
#[derive(Debug)]
pub struct Board {
    words: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the words are atomics that are never freed.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Board {
    /// Word `index`.
    ///
    /// # Panics
    /// Where there is no such word, which is a defect of the caller.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.count, "a word of the board");
        // SAFETY: within the allocation, which is never freed; the device writes whole words.
        unsafe { self.words.add(index).as_ref() }
    }

    /// Its address on the device, which is that on the host.
    ///
    /// # Source
    /// CUDA driver API, "Unified Addressing": memory of cuMemHostAlloc has one address everywhere.
    pub fn address(&self) -> u64 {
        self.words.as_ptr().expose_provenance() as u64
    }

    /// All words as they are.
    pub fn read<const N: usize>(&self) -> [u64; N] {
        std::array::from_fn(|index| self.word(index).load(Ordering::Acquire))
    }
}

impl Driver {
    /// A board of `count` words, for all devices of this process.
    ///
    /// # Errors
    /// `Call` where there is no memory.
    pub fn board(&self, count: usize) -> Result<Board, Fault> {
        let alloc = newer("cuMemHostAlloc", self.calls.mem_host_alloc)?;
        let mut memory = null_mut();
        let bytes = count * size_of::<AtomicU64>();
        // SAFETY: writes one pointer.
        let code = unsafe { alloc(&raw mut memory, bytes, PORTABLE_AND_MAPPED) };
        self.check("cuMemHostAlloc", code)?;
        let words: NonNull<AtomicU64> = NonNull::new(memory.cast())
            .ok_or_else(|| Fault::new(crate::base::Kind::Call, "cuMemHostAlloc gave no memory"))?;
        let board = Board { words, count };
        for index in 0..count {
            board.word(index).store(0, Ordering::Release);
        }
        Ok(board)
    }
}
