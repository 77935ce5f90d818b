//! Memory that processes of one host share: an anonymous file of which any stretch can be mapped.
//!
//! Bytes enter and leave a mapping only by copies, and words that signal are atomics: no reference
//! to plain bytes of it is ever formed, because another process may write them at any moment.
//! Who may write what when is the caller's protocol; breaking it gives wrong bytes, nothing worse.

use crate::base::Fault;
use crate::base::Kind;
use rustix::fs::{FallocateFlags, MemfdFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// An anonymous file in memory. It lives as long as somebody holds its descriptor or a mapping.
#[derive(Debug)]
pub struct SharedFile {
    fd: OwnedFd,
}

impl SharedFile {
    /// Creates a sparse file of `len` bytes; it takes no memory before [`SharedFile::reserve`].
    ///
    /// # Errors
    /// `Call` where the kernel refuses.
    pub fn create(name: &str, len: u64) -> Result<Self, Fault> {
        let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)
            .map_err(|error| failed("memfd_create", error))?;
        rustix::fs::ftruncate(&fd, len).map_err(|error| failed("ftruncate", error))?;
        Ok(Self { fd })
    }

    /// Takes over a descriptor that another process has handed on.
    pub fn adopt(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// The descriptor, to be handed on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Takes the memory behind a stretch now, so that a shortage is an error here and not a signal
    /// at the first touch.
    ///
    /// # Errors
    /// `Call` where there is not enough memory.
    pub fn reserve(&self, at: u64, len: u64) -> Result<(), Fault> {
        rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), at, len).map_err(|error| {
            failed("fallocate", error).hint("ask for smaller buffers or fewer ranks on this host")
        })
    }

    /// Maps a reserved stretch; `at` is a multiple of the page size.
    ///
    /// # Errors
    /// `Call` where the kernel refuses, or the file ends before the stretch does.
    pub fn map(&self, at: u64, len: usize) -> Result<Region, Fault> {
        let end = u64::try_from(len).ok().and_then(|len| at.checked_add(len));
        let size = rustix::fs::fstat(&self.fd).map_err(|error| failed("fstat", error))?;
        if len == 0 || end.is_none_or(|end| i128::from(end) > i128::from(size.st_size)) {
            let what = format!("cannot map {len} bytes at {at}: the file ends before");
            return Err(Fault::new(Kind::Call, what));
        }
        // SAFETY: a null address lets the kernel choose a free range, so nothing that exists is
        // touched; the range belongs to the `Region` made here until its `Drop` unmaps it.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
                &self.fd,
                at,
            )
        };
        let base = base.map_err(|error| failed("mmap", error))?;
        // SAFETY: the range was mapped above and nobody uses it yet; `MADV_HUGEPAGE` changes no
        // contents. It is a wish: a kernel without huge pages for shared memory says no.
        let _ = unsafe { rustix::mm::madvise(base, len, Advice::LinuxHugepage) };
        let base = NonNull::new(base.cast::<u8>())
            .ok_or_else(|| Fault::new(Kind::Call, "mmap gave the null address"))?;
        Ok(Region { base, len })
    }
}

fn failed(call: &str, error: rustix::io::Errno) -> Fault {
    Fault::new(Kind::Call, format!("{call} failed: {error}"))
}

/// A mapped stretch of a [`SharedFile`]; unmapped when dropped.
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process and not to the thread that made it.
unsafe impl Send for Region {}

// SAFETY: all methods copy or hand out atomics; none forms a reference to plain bytes, so that
// threads that use one region together are no worse off than processes that do.
unsafe impl Sync for Region {}

impl Region {
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a region has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies bytes out.
    ///
    /// # Panics
    /// If the stretch leaves the region: the caller's own arithmetic is wrong.
    pub fn load(&self, at: usize, into: &mut [u8]) {
        let from = self.place(at, into.len());
        // SAFETY: `place` has checked that the source lies in the mapping, which lives as long as
        // `self`; `into` is exclusive and private, so the two cannot overlap.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) }
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// As [`Region::load`].
    pub fn store(&self, at: usize, from: &[u8]) {
        let into = self.place(at, from.len());
        // SAFETY: as in `load`, with the directions exchanged; nobody holds a reference to the
        // bytes written, because no method gives one out.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), into, from.len()) }
    }

    /// Copies bytes in past the caches, where the processor can: for results much larger than
    /// a cache, whose lines need then not be read before they are overwritten.
    ///
    /// The bytes are visible to others once the caller signals with a release store.
    ///
    /// # Panics
    /// As [`Region::load`].
    pub fn store_past_cache(&self, at: usize, from: &[u8]) {
        let into = self.place(at, from.len());
        stream(into, from);
    }

    /// Copies `len` bytes from another region, or from elsewhere in this one.
    ///
    /// # Panics
    /// As [`Region::load`].
    pub fn copy(&self, at: usize, from: &Self, from_at: usize, len: usize) {
        let (into, from) = (self.place(at, len), from.place(from_at, len));
        // SAFETY: both stretches lie in mappings that live as long as the borrows; they may
        // overlap, also by two mappings of one stretch, which at worst mixes old and new bytes.
        unsafe { std::ptr::copy(from, into, len) }
    }

    /// The 32-bit word at `at`, a multiple of 4.
    ///
    /// # Panics
    /// As [`Region::load`], or if `at` is not a multiple of 4.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(
            at.is_multiple_of(4),
            "a word lies at a multiple of its size"
        );
        #[expect(
            clippy::cast_ptr_alignment,
            reason = "mappings begin at a page, and `at` is checked"
        )]
        let word = self.place(at, 4).cast::<u32>();
        // SAFETY: in bounds and aligned (mappings begin at a page); the bytes are only ever used
        // as this atomic, which the callers' layout of the region sees to.
        unsafe { AtomicU32::from_ptr(word) }
    }

    /// The 64-bit word at `at`, a multiple of 8.
    ///
    /// # Panics
    /// As [`Region::load`], or if `at` is not a multiple of 8.
    pub fn long(&self, at: usize) -> &AtomicU64 {
        assert!(
            at.is_multiple_of(8),
            "a word lies at a multiple of its size"
        );
        #[expect(
            clippy::cast_ptr_alignment,
            reason = "mappings begin at a page, and `at` is checked"
        )]
        let long = self.place(at, 8).cast::<u64>();
        // SAFETY: as in `word`.
        unsafe { AtomicU64::from_ptr(long) }
    }

    /// The address of a stretch, for foreign calls.
    ///
    /// # Panics
    /// As [`Region::load`].
    pub(super) fn place(&self, at: usize, len: usize) -> *mut u8 {
        let fits = at.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(fits, "{len} bytes at {at} leave a region of {}", self.len);
        // SAFETY: `at` is within the mapping or one past its end.
        unsafe { self.base.as_ptr().add(at) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `SharedFile::map` for this value alone, and every borrow
        // of it has ended. An error would mean that it is not mapped: nothing is left to do then.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(
    clippy::cast_ptr_alignment,
    reason = "the load takes any alignment, and the store's is made by the split"
)]
fn stream(into: *mut u8, from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let head = into.align_offset(16).min(from.len());
    let (head, rest) = from.split_at(head);
    let (body, tail) = rest.split_at(rest.len() / 16 * 16);
    // SAFETY: the caller gives room for all of `from` at `into`, and the three parts are written
    // one after the other. The body begins at a multiple of 16, which the store wants.
    unsafe {
        std::ptr::copy_nonoverlapping(head.as_ptr(), into, head.len());
        let middle = into.add(head.len());
        for (index, vector) in body.chunks_exact(16).enumerate() {
            let value = _mm_loadu_si128(vector.as_ptr().cast::<__m128i>());
            _mm_stream_si128(middle.add(index * 16).cast::<__m128i>(), value);
        }
        std::ptr::copy_nonoverlapping(tail.as_ptr(), middle.add(body.len()), tail.len());
        // Such stores are not ordered by a release store; the fence makes them so.
        _mm_sfence();
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(into: *mut u8, from: &[u8]) {
    // SAFETY: the caller gives room for all of `from` at `into`.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), into, from.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_of_one_file_show_the_same_bytes() {
        let file = SharedFile::create("test", 1 << 40).unwrap();
        file.reserve(4096, 8192).unwrap();
        let (one, other) = (file.map(4096, 8192).unwrap(), file.map(4096, 8192).unwrap());
        one.store(4090, b"across a page");
        let mut got = [0; 13];
        other.load(4090, &mut got);
        assert_eq!(&got, b"across a page");
        one.word(8).store(7, Ordering::Release);
        assert_eq!(other.word(8).load(Ordering::Acquire), 7);
    }

    #[test]
    fn stores_past_the_cache_write_every_byte_at_every_alignment() {
        let file = SharedFile::create("test", 8192).unwrap();
        let region = file.map(0, 8192).unwrap();
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for at in 0..33 {
            for len in [0, 1, 15, 16, 17, 31, 100, 999] {
                region.store(0, &[0; 2048]);
                region.store_past_cache(at, &bytes[..len]);
                let mut got = [0; 2048];
                region.load(0, &mut got);
                assert_eq!(&got[at..at + len], &bytes[..len]);
                assert!(
                    got[..at]
                        .iter()
                        .chain(&got[at + len..])
                        .all(|byte| *byte == 0)
                );
            }
        }
    }

    #[test]
    fn a_stretch_past_the_end_of_the_file_is_refused() {
        let file = SharedFile::create("test", 4096).unwrap();
        let fault = file.map(0, 4097).unwrap_err();
        assert!(fault.message.contains("ends before"), "{fault}");
        assert!(file.map(4096, 0).is_err());
    }
}
