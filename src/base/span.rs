//! A stretch of a buffer, named without a pointer.
//!
//! What is behind a [`Buffer`] (device memory, shared memory, nothing at all) is the session's own business.

use super::Bytes;

/// A buffer of one lane of one session, by the index that `Session::alloc` returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer(pub usize);

/// `len` bytes of `buffer` from byte `offset` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Which buffer.
    pub buffer: Buffer,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Span {
    /// The whole of a buffer of `len` bytes.
    pub fn whole(buffer: Buffer, len: Bytes) -> Self {
        Self {
            buffer,
            offset: 0,
            len: len.0,
        }
    }

    /// The part of this span that starts `offset` bytes into it and is `len` bytes long.
    #[must_use]
    pub fn part(self, offset: u64, len: u64) -> Self {
        debug_assert!(offset + len <= self.len, "a part lies within its span");
        Self {
            buffer: self.buffer,
            offset: self.offset + offset,
            len,
        }
    }
}
