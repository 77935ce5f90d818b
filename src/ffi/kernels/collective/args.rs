//! The arguments of the collectives' kernels as they lie in memory; nothing is decided here.
//!
//! The same structs stand in `kernels/comm.h`, `kernels/copies.cu` and `kernels/reduce.h`.

use super::MAX_RANKS;

/// One communicator as one of its ranks sees it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Team {
    /// Address of each rank's workspace.
    pub work: [u64; MAX_RANKS],
    /// Address of this rank's report.
    pub report: u64,
    /// Nanoseconds that a wait may take.
    pub limit: u64,
    /// Which rank this is.
    pub rank: u64,
    /// How many there are.
    pub world: u64,
}

/// Arguments of [`super::Kernel::Copy`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CopyArgs {
    /// The communicator.
    pub team: Team,
    /// Address of each entry's source.
    pub from: [u64; MAX_RANKS],
    /// And of its destination.
    pub to: [u64; MAX_RANKS],
    /// How many entries there are.
    pub entries: u64,
    /// Bytes of each.
    pub bytes: u64,
    /// What all addresses and `bytes` are multiples of.
    pub unit: u64,
    /// The entry that block 0 begins with.
    pub first: u64,
    /// Whether others read what this rank writes.
    pub released: u64,
}

/// Arguments of [`super::Kernel::HandOut`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HandOutArgs {
    /// The communicator.
    pub team: Team,
    /// Address of each rank's output.
    pub to: [u64; MAX_RANKS],
    /// Address of the root's input, on the root.
    pub from: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes of each rank's part but the last.
    pub part: u64,
    /// What all addresses and sizes are multiples of.
    pub unit: u64,
    /// The root.
    pub root: u64,
}

/// Arguments of [`super::Kernel::CopyPackets`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PacketArgs {
    /// The communicator.
    pub team: Team,
    /// Address of what goes to rank 0.
    pub from: u64,
    /// Bytes from there to what goes to the next.
    pub stride: u64,
    /// Address where what rank 0 sends goes.
    pub to: u64,
    /// Bytes from there to where the next one's goes.
    pub to_stride: u64,
    /// Bytes from one rank to another.
    pub bytes: u64,
    /// Units of a block.
    pub each: u64,
    /// Who alone sends; `u64::MAX` where all do.
    pub root: u64,
}

/// What is done with elements.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The operator's number.
    pub op: u64,
    /// Of an average: ranks, or the bits of the reciprocal.
    pub divisor: u64,
    /// What makes unsigned integers compare as signed.
    pub flip: u64,
    /// Bits of each rank's factor.
    pub scales: [u64; MAX_RANKS],
}

/// Arguments of [`super::Kernel::Reduce`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ReduceArgs {
    /// The communicator.
    pub team: Team,
    /// Address of the first element on each rank.
    pub from: [u64; MAX_RANKS],
    /// And of each output.
    pub to: [u64; MAX_RANKS],
    /// How many outputs there are.
    pub outputs: u64,
    /// Elements.
    pub count: u64,
    /// Elements before the first whole vector; `count` where there is none.
    pub head: u64,
    /// Whether the output is an input that others read.
    pub entangled: u64,
    /// Whether others read what this rank writes.
    pub released: u64,
    /// What is done.
    pub rule: Rule,
}

/// Arguments of [`super::Kernel::ReducePackets`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PacketReduceArgs {
    /// The communicator.
    pub team: Team,
    /// Address of the part of rank 0.
    pub from: u64,
    /// Bytes from one rank's part to the next; 0 where all get the same.
    pub stride: u64,
    /// Address of the output.
    pub to: u64,
    /// Bytes of a part.
    pub bytes: u64,
    /// Units of a block.
    pub each: u64,
    /// What is done.
    pub rule: Rule,
}

/// Arguments of [`super::Kernel::ReducePacketsTwice`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TwoShotArgs {
    /// The communicator.
    pub team: Team,
    /// Address of the input.
    pub from: u64,
    /// Address of the output.
    pub to: u64,
    /// Bytes.
    pub bytes: u64,
    /// Units of each rank's part but the last.
    pub part: u64,
    /// Units of a part of a block.
    pub each: u64,
    /// What is done.
    pub rule: Rule,
}

// With nothing but u64 a size fixes every offset.
const _: () = {
    assert!(size_of::<Team>() == 160);
    assert!(size_of::<CopyArgs>() == 456);
    assert!(size_of::<HandOutArgs>() == 328);
    assert!(size_of::<PacketArgs>() == 216);
    assert!(size_of::<Rule>() == 152);
    assert!(size_of::<ReduceArgs>() == 608);
    assert!(size_of::<PacketReduceArgs>() == 352);
    assert!(size_of::<TwoShotArgs>() == 352);
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
    Team,
    CopyArgs,
    HandOutArgs,
    PacketArgs,
    Rule,
    ReduceArgs,
    PacketReduceArgs,
    TwoShotArgs
);

/// A kernel's arguments, whichever it is.
#[derive(Debug, Clone, Copy)]
pub enum Args {
    /// Of the ladder's kernels.
    Rung(Team),
    /// Of [`super::Kernel::Copy`].
    Copy(CopyArgs),
    /// Of [`super::Kernel::HandOut`].
    HandOut(HandOutArgs),
    /// Of [`super::Kernel::CopyPackets`].
    Packet(PacketArgs),
    /// Of [`super::Kernel::Reduce`].
    Reduce(ReduceArgs),
    /// Of [`super::Kernel::ReducePackets`].
    PacketReduce(PacketReduceArgs),
    /// Of [`super::Kernel::ReducePacketsTwice`].
    TwoShot(TwoShotArgs),
}

impl Args {
    /// The bytes of the kernel's one parameter.
    pub fn words(&self) -> &[u64] {
        match self {
            Self::Rung(args) => words(args),
            Self::Copy(args) => words(args),
            Self::HandOut(args) => words(args),
            Self::Packet(args) => words(args),
            Self::Reduce(args) => words(args),
            Self::PacketReduce(args) => words(args),
            Self::TwoShot(args) => words(args),
        }
    }
}

fn words<P: bytemuck::Pod>(args: &P) -> &[u64] {
    bytemuck::cast_slice(std::slice::from_ref(args))
}
