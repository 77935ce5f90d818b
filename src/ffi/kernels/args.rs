//! The kernels' arguments and results as they lie in memory; the same structs stand in
//! `kernels/gen.h` and `kernels/check.cu`. Nothing is decided here.

use crate::base::pattern::{Findings, Input, Plain, Scheme};

/// What checks leave in device memory: `size_of::<VerifyResult>()` bytes, 8-aligned.
///
/// All zero before a check. After the launches of [`verify`](super::verify) `wrong` holds the count
/// and the first entry of `inverted` the first wrong element; after those of
/// [`diagnose`](super::diagnose), which need the same memory as `verify` left it, all entries are
/// there.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyResult {
    /// Number of wrong elements.
    pub wrong: u64,
    /// Bits of their indices in the output, inverted, so that 0 is none.
    pub inverted: [u64; Findings::LISTED],
    /// Their bits.
    pub got: [u64; Findings::LISTED],
}

impl VerifyResult {
    /// Index and bits of each listed element, to be explained by `pattern::locate`.
    pub fn bad(&self) -> Vec<(u64, u64)> {
        self.inverted
            .iter()
            .zip(self.got)
            .take_while(|(inverted, _)| **inverted != 0)
            .map(|(inverted, got)| (!inverted, got))
            .collect()
    }
}

/// [`Plain`] as the kernels take it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainArgs {
    pub(super) key: u64,
    pub(super) mask: u64,
    pub(super) base: u64,
    pub(super) spread: u64,
    pub(super) offset: u64,
    pub(super) shift: u64,
    pub(super) signs: u64,
    pub(super) bits: u64,
}

/// [`Input`] as the kernels take it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct InputArgs {
    pub(super) result: PlainArgs,
    pub(super) own: u64,
    pub(super) next: u64,
    pub(super) select: u64,
    pub(super) comb: u64,
    pub(super) member: u64,
    pub(super) period: u64,
    pub(super) field: u64,
    pub(super) lift: u64,
    pub(super) unit: u64,
    pub(super) brings: u64,
    pub(super) inverse: u64,
    pub(super) divisor: u64,
    pub(super) remainders: u64,
    pub(super) larger: u64,
    pub(super) magnitude: u64,
    pub(super) drop: u64,
}

/// Where a fill writes, and with what words.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct FillArgs<W> {
    pub(super) to: u64,
    pub(super) count: u64,
    pub(super) at: u64,
    pub(super) words: W,
}

/// What a check compares, and where it leaves what it finds.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct VerifyArgs {
    pub(super) got: u64,
    pub(super) len: u64,
    pub(super) parts: u64,
    pub(super) at: u64,
    pub(super) first: u64,
    pub(super) rows: u64,
    pub(super) rank: u64,
    pub(super) ranked: u64,
    pub(super) tolerance: u64,
    pub(super) result: u64,
    pub(super) slot: u64,
    pub(super) plain: PlainArgs,
}

/// Where the listed elements are, and their size.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct GatherArgs {
    pub(super) got: u64,
    pub(super) bytes: u64,
    pub(super) result: u64,
}

// As in kernels/gen.h and kernels/check.cu. With nothing but u64 a size fixes every offset.
const _: () = {
    assert!(size_of::<PlainArgs>() == 64);
    assert!(size_of::<InputArgs>() == 192);
    assert!(size_of::<FillArgs<PlainArgs>>() == 88);
    assert!(size_of::<FillArgs<InputArgs>>() == 216);
    assert!(size_of::<VerifyArgs>() == 152);
    assert!(size_of::<GatherArgs>() == 24);
    assert!(size_of::<VerifyResult>() == 264);
};

macro_rules! plain_data {
    ($($t:ty),*) => {$(
        // SAFETY: a repr(C) struct of u64 and of such structs: every bit pattern is a value.
        unsafe impl bytemuck::Zeroable for $t {}
        // SAFETY: as above, and there is no padding.
        unsafe impl bytemuck::Pod for $t {}
    )*};
}
plain_data!(
    PlainArgs,
    InputArgs,
    FillArgs<PlainArgs>,
    FillArgs<InputArgs>,
    VerifyArgs,
    GatherArgs,
    VerifyResult
);

impl From<Plain> for PlainArgs {
    fn from(plain: Plain) -> Self {
        Self {
            key: plain.key,
            mask: plain.mask,
            base: plain.base,
            spread: plain.spread,
            offset: plain.offset.into(),
            shift: plain.shift.into(),
            signs: plain.signs,
            bits: plain.bits.into(),
        }
    }
}

impl From<Input> for InputArgs {
    fn from(input: Input) -> Self {
        Self {
            result: input.result.into(),
            own: input.own,
            next: input.next,
            select: input.select,
            comb: input.comb,
            member: input.class.into(),
            period: input.period.into(),
            field: input.field,
            lift: input.lift,
            unit: input.unit,
            brings: input.brings.into(),
            inverse: input.inverse,
            divisor: input.divisor.into(),
            remainders: input.remainders,
            larger: input.larger,
            magnitude: input.magnitude,
            drop: input.drop.into(),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "they were 32 bits wide")]
impl From<PlainArgs> for Plain {
    fn from(args: PlainArgs) -> Self {
        Self {
            key: args.key,
            mask: args.mask,
            base: args.base,
            spread: args.spread,
            offset: args.offset as u32,
            shift: args.shift as u32,
            signs: args.signs,
            bits: args.bits as u32,
        }
    }
}

impl InputArgs {
    /// The input, whose scheme is known from the function.
    #[expect(clippy::cast_possible_truncation, reason = "they were 32 bits wide")]
    pub(super) fn input(&self, scheme: Scheme) -> Input {
        Input {
            scheme,
            result: self.result.into(),
            own: self.own,
            next: self.next,
            select: self.select,
            comb: self.comb,
            class: self.member as u32,
            period: self.period as u32,
            field: self.field,
            lift: self.lift,
            unit: self.unit,
            brings: self.brings != 0,
            inverse: self.inverse,
            divisor: self.divisor as u32,
            remainders: self.remainders,
            larger: self.larger,
            magnitude: self.magnitude,
            drop: self.drop as u32,
        }
    }
}
