//! Slices of the pattern on the CPU: writing them and comparing with them.
//!
//! A slice may begin and end anywhere, in memory and in the pattern; words are the pattern's.

#![expect(
    clippy::inline_always,
    reason = "these run once a word; loops over words are vectorised only around inlined bodies"
)]

use super::input::Input;
use super::{Plain, Scheme};

/// A source of words, made for each scheme and lane so that loops over it are fast.
pub(super) trait Words {
    fn word(&self, w: u64) -> u64;
}

impl Words for Plain {
    #[inline(always)]
    fn word(&self, w: u64) -> u64 {
        Plain::word(self, w)
    }
}

struct Inputs<'a, const SCHEME: u8, const BITS: u32>(&'a Input);

impl<const SCHEME: u8, const BITS: u32> Words for Inputs<'_, SCHEME, BITS> {
    #[inline(always)]
    fn word(&self, w: u64) -> u64 {
        self.0.word::<SCHEME, BITS>(w)
    }
}

/// What to do with a source of words, whichever it is.
pub(super) trait Visitor {
    type Out;
    fn visit(self, words: &impl Words) -> Self::Out;
}

/// Calls `visitor` with the words of an input.
pub(super) fn with_input<V: Visitor>(input: &Input, visitor: V) -> V::Out {
    macro_rules! lanes {
        ($scheme:ident: $($bits:literal),*) => {
            match input.result.bits {
                $($bits => visitor.visit(&Inputs::<{ Scheme::$scheme as u8 }, $bits>(input)),)*
                _ => visitor.visit(&Inputs::<{ Scheme::$scheme as u8 }, 64>(input)),
            }
        };
    }
    match input.scheme {
        Scheme::Raw => lanes!(Raw:),
        Scheme::IntegerSum => lanes!(IntegerSum: 8, 32),
        Scheme::IntegerProduct => lanes!(IntegerProduct: 8, 32),
        Scheme::FloatSum => lanes!(FloatSum: 8, 16, 32),
        Scheme::FloatProduct => lanes!(FloatProduct:),
        Scheme::Extreme => lanes!(Extreme:),
        Scheme::Carrier => lanes!(Carrier:),
    }
}

/// Fills `out` from byte `from` of the pattern on.
pub(super) struct Fill<'a> {
    pub(super) from: u64,
    pub(super) out: &'a mut [u8],
}

impl Visitor for Fill<'_> {
    type Out = ();

    fn visit(self, words: &impl Words) {
        let (skip, head) = lead(self.from, self.out.len());
        let (first, rest) = self.out.split_at_mut(head);
        let mut w = self.from / 8;
        if head > 0 {
            first.copy_from_slice(&words.word(w).to_le_bytes()[skip..skip + head]);
            w += 1;
        }
        let (body, tail) = rest.as_chunks_mut::<8>();
        for chunk in body {
            *chunk = words.word(w).to_le_bytes();
            w += 1;
        }
        if !tail.is_empty() {
            tail.copy_from_slice(&words.word(w).to_le_bytes()[..tail.len()]);
        }
    }
}

/// Calls `differs(word index, expected, got, bytes that count)` for every word of `got` that is not
/// as expected; bytes that do not count are equal.
pub(super) struct Compare<'a, F> {
    pub(super) from: u64,
    pub(super) got: &'a [u8],
    pub(super) differs: F,
}

impl<F: FnMut(u64, u64, u64)> Visitor for Compare<'_, F> {
    type Out = ();

    fn visit(mut self, words: &impl Words) {
        const BLOCK: u64 = 8;
        let (skip, head) = lead(self.from, self.got.len());
        let (first, rest) = self.got.split_at(head);
        let mut w = self.from / 8;
        if head > 0 {
            self.part(w, words.word(w), first, skip);
            w += 1;
        }
        let (body, tail) = rest.as_chunks::<8>();
        for block in body.chunks(8) {
            // One branch for a block: differences are rare.
            let mut difference = 0;
            for (i, got) in (w..).zip(block) {
                difference |= words.word(i) ^ u64::from_le_bytes(*got);
            }
            if difference != 0 {
                for (i, got) in (w..).zip(block) {
                    self.part(i, words.word(i), got, 0);
                }
            }
            w += BLOCK;
        }
        let w = self.from / 8 + u64::from(head > 0) + (body.len() as u64);
        if !tail.is_empty() {
            self.part(w, words.word(w), tail, 0);
        }
    }
}

impl<F: FnMut(u64, u64, u64)> Compare<'_, F> {
    /// Compares the bytes of one word from `skip` on.
    fn part(&mut self, w: u64, expected: u64, got: &[u8], skip: usize) {
        let mut bytes = expected.to_le_bytes();
        bytes[skip..skip + got.len()].copy_from_slice(got);
        let got = u64::from_le_bytes(bytes);
        if got != expected {
            (self.differs)(w, expected, got);
        }
    }
}

/// One word.
pub(super) struct One(pub(super) u64);

impl Visitor for One {
    type Out = u64;

    fn visit(self, words: &impl Words) -> u64 {
        words.word(self.0)
    }
}

/// How many bytes of the first word to skip, and how many of it to use; none where a slice begins
/// with a whole word.
fn lead(from: u64, len: usize) -> (usize, usize) {
    let skip = usize::try_from(from % 8).unwrap_or(0);
    if skip == 0 {
        (0, 0)
    } else {
        (skip, (8 - skip).min(len))
    }
}
