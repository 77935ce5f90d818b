//! The launches of collectives that move bytes and reduce nothing, and of those that do not even that.
//! Pure.

use super::algo::Algo;
use super::choice::Chosen;
use super::order::Everywhere;
use super::order::Ground;
use super::order::Order;
use super::order::VECTOR;
use crate::ffi::kernels::collective::Args;
use crate::ffi::kernels::collective::CopyArgs;
use crate::ffi::kernels::collective::HandOutArgs;
use crate::ffi::kernels::collective::Kernel;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::Module;
use crate::ffi::kernels::collective::PacketArgs;
use crate::ffi::kernels::collective::UNIT;

/// What divides all of `numbers`, of 16, 8, 4, 2 and 1.
fn unit_of(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let all = numbers.into_iter().fold(VECTOR, |all, number| all | number);
    1 << all.trailing_zeros()
}

/// What goes where in a collective that moves bytes: entry `i` from `from[i]` to `to[i]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moves {
    pub(super) from: Everywhere,
    pub(super) to: Everywhere,
    /// Entries of this rank, and of the rank that has most.
    pub(super) entries: u64,
    pub(super) most: u64,
    pub(super) bytes: u64,
    /// Whether they are written to others.
    pub(super) puts: bool,
}

pub(super) fn copy(ground: &Ground, chosen: Chosen, moves: &Moves) -> Order {
    let entries = usize::try_from(moves.entries).unwrap_or(MAX_RANKS);
    let addresses = moves.from[..entries].iter().chain(&moves.to[..entries]);
    let unit = unit_of(addresses.copied().chain([moves.bytes]));
    let work = moves.most * moves.bytes.div_ceil(VECTOR);
    let (mut blocks, threads) = ground.grid(chosen, work, 1);
    // As many for each entry.
    let most = u32::try_from(moves.most.max(1)).unwrap_or(1);
    if blocks > most {
        blocks -= blocks % most;
    }
    Order {
        module: Module::Copies,
        kernel: Kernel::Copy,
        blocks,
        threads,
        args: Args::Copy(CopyArgs {
            team: ground.team,
            from: moves.from,
            to: moves.to,
            entries: moves.entries,
            bytes: moves.bytes,
            unit,
            first: ground.team.rank + 1,
            released: moves.puts.into(),
        }),
    }
}

/// A collective that moves bytes by packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketMoves {
    pub(super) from: u64,
    pub(super) stride: u64,
    pub(super) to: u64,
    pub(super) to_stride: u64,
    pub(super) bytes: u64,
    pub(super) root: Option<u64>,
}

pub(super) fn copy_packets(ground: &Ground, chosen: Chosen, moves: &PacketMoves) -> Order {
    let (blocks, threads, each) =
        ground.packets(chosen, moves.bytes.div_ceil(UNIT), ground.world());
    Order {
        module: Module::Copies,
        kernel: Kernel::CopyPackets,
        blocks,
        threads,
        args: Args::Packet(PacketArgs {
            team: ground.team,
            from: moves.from,
            stride: moves.stride,
            to: moves.to,
            to_stride: moves.to_stride,
            bytes: moves.bytes,
            each,
            root: moves.root.unwrap_or(u64::MAX),
        }),
    }
}

/// A broadcast in two steps.
pub(super) fn hand_out(
    ground: &Ground,
    chosen: Chosen,
    (from, to): (u64, Everywhere),
    bytes: u64,
    root: u64,
) -> Order {
    let ranks = usize::try_from(ground.world()).unwrap_or(MAX_RANKS);
    let part = bytes.div_ceil(ground.world()).next_multiple_of(VECTOR);
    let unit = unit_of(to[..ranks].iter().copied().chain([from, bytes]));
    let (blocks, threads) = ground.grid(chosen, bytes.div_ceil(VECTOR), 1);
    Order {
        module: Module::Copies,
        kernel: Kernel::HandOut,
        blocks,
        threads,
        args: Args::HandOut(HandOutArgs {
            team: ground.team,
            to,
            from,
            bytes,
            part,
            unit,
            root,
        }),
    }
}

/// A kernel that moves no data.
pub(super) fn rung(ground: &Ground, algo: Algo) -> Order {
    let kernel = match algo {
        Algo::LocalFlag => Kernel::LocalFlag,
        Algo::PeerFlag => Kernel::PeerFlag,
        Algo::Barrier => Kernel::Barrier,
        _ => Kernel::Nothing,
    };
    Order {
        module: Module::Copies,
        kernel,
        blocks: 1,
        threads: 64,
        args: Args::Rung(ground.team),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_move_in_the_largest_pieces_that_divide_every_address() {
        assert_eq!(unit_of([32, 48, 20]), 4);
        assert_eq!(unit_of([32, 48]), 16);
        assert_eq!(unit_of([7]), 1);
    }
}
