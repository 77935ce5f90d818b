//! From an operation to a launch: which kernel, how many blocks, which arguments. Pure.

use super::algo::Algo;
use super::choice::Chosen;
use crate::base::DataType;
use crate::base::RedOp;
use crate::base::World;
use crate::base::arith::reciprocal_bits;
use crate::base::pattern;
use crate::ffi::kernels::collective::Args;
use crate::ffi::kernels::collective::Kernel;
use crate::ffi::kernels::collective::MAX_BLOCKS;
use crate::ffi::kernels::collective::MAX_RANKS;
use crate::ffi::kernels::collective::MAX_THREADS;
use crate::ffi::kernels::collective::Module;
use crate::ffi::kernels::collective::PacketReduceArgs;
use crate::ffi::kernels::collective::ReduceArgs;
use crate::ffi::kernels::collective::Rule;
use crate::ffi::kernels::collective::Team;
use crate::ffi::kernels::collective::TwoShotArgs;
use crate::ffi::kernels::collective::UNIT;

/// Bytes of a vector.
pub(super) const VECTOR: u64 = 16;

/// A launch.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) module: Module,
    pub(super) kernel: Kernel,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) args: Args,
}

/// What all launches of a lane start from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground {
    pub(super) team: Team,
    /// The threads that the ranks of one GPU may have resident, for each rank.
    pub(super) resident_threads: u32,
}

impl Ground {
    pub(super) fn world(&self) -> u64 {
        self.team.world
    }

    /// The most blocks of a launch with so many threads in each.
    pub(super) fn most_blocks(&self, threads: u32) -> u32 {
        (self.resident_threads / threads).clamp(1, MAX_BLOCKS)
    }

    /// Blocks and threads for `work` pieces, one for each thread as far as they go; at least
    /// `least` blocks.
    pub(super) fn grid(&self, chosen: Chosen, work: u64, least: u64) -> (u32, u32) {
        let usual = u32::try_from(work.next_multiple_of(32)).unwrap_or(MAX_THREADS);
        let threads = chosen.block_threads.unwrap_or(usual).clamp(32, MAX_THREADS);
        let wanted = u32::try_from(work.div_ceil(u64::from(threads)).max(1)).unwrap_or(MAX_BLOCKS);
        let most = self.most_blocks(threads);
        let least = u32::try_from(least).unwrap_or(MAX_BLOCKS);
        let blocks = chosen.blocks.unwrap_or(wanted.min(most));
        (blocks.max(least).clamp(1, most.max(least)), threads)
    }

    /// Blocks, threads, and units of a block for packets; `pieces` of work for each unit.
    pub(super) fn packets(&self, chosen: Chosen, units: u64, pieces: u64) -> (u32, u32, u64) {
        let least = units.div_ceil(chosen.algo.units_of_a_block()).max(1);
        let (blocks, threads) = self.grid(chosen, units * pieces, least);
        (blocks, threads, units.div_ceil(u64::from(blocks)).max(1))
    }
}

/// The rule of a reduction.
pub(super) fn rule(dtype: DataType, redop: RedOp, world: World) -> Rule {
    let mut scales = [0; MAX_RANKS];
    if redop == RedOp::MulSum {
        for (rank, scale) in world.ranks().zip(&mut scales) {
            *scale = pattern::mulsum_scalar_bits(dtype, rank);
        }
    }
    let signless = matches!(dtype, DataType::Uint8 | DataType::Uint32 | DataType::Uint64);
    let flip = match (signless, dtype) {
        (false, _) => 0,
        (true, DataType::Uint64) => 1 << 63,
        (true, _) => 1 << 31,
    };
    Rule {
        op: match redop {
            RedOp::Sum => 0,
            RedOp::Prod => 1,
            RedOp::Min => 2,
            RedOp::Max => 3,
            RedOp::Avg => 4,
            RedOp::MulSum => 5,
        },
        divisor: divisor(dtype, world),
        flip,
        scales,
    }
}

/// What an average's sum is divided by, or multiplied with.
fn divisor(dtype: DataType, world: World) -> u64 {
    match dtype {
        DataType::Double => reciprocal_bits(DataType::Double, world.0),
        _ if dtype.is_float() => reciprocal_bits(DataType::Float, world.0),
        _ => world.0.into(),
    }
}

/// Elements of a datatype, and what is done with them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reduction {
    pub(super) dtype: DataType,
    pub(super) rule: Rule,
}

impl Reduction {
    fn width(&self) -> u64 {
        self.dtype.size()
    }

    fn module(&self) -> Module {
        Module::reducing(self.dtype)
    }
}

/// Where everybody's input or output of an operation lies.
pub(super) type Everywhere = [u64; MAX_RANKS];

/// Elements before the first whole vector where all addresses are aligned alike; else all.
fn head(addresses: impl IntoIterator<Item = u64>, count: u64, width: u64) -> u64 {
    let mut addresses = addresses.into_iter();
    let first = addresses.next().unwrap_or(0) % VECTOR;
    let alike = addresses.all(|address| address % VECTOR == first);
    let head = (VECTOR - first) % VECTOR / width;
    let bends = !first.is_multiple_of(width);
    if alike && !bends && head < count {
        head
    } else {
        count
    }
}

/// A rank's part of `count` elements in an operation where each reduces one: whole vectors of an
/// aligned buffer, the last one's shorter.
fn part(count: u64, world: u64, rank: u64, width: u64) -> (u64, u64) {
    let per_vector = VECTOR / width;
    let each = count.div_ceil(world).next_multiple_of(per_vector);
    let first = (rank * each).min(count);
    (first, each.min(count - first))
}

/// An all-reduce's memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct AllReduce {
    pub(super) send: u64,
    pub(super) recv: u64,
    pub(super) sends: Everywhere,
    pub(super) recvs: Everywhere,
    pub(super) count: u64,
    pub(super) what: Reduction,
}

pub(super) fn all_reduce(ground: &Ground, chosen: Chosen, op: &AllReduce) -> Order {
    match chosen.algo {
        Algo::Ll => one_shot_packets(ground, chosen, op),
        Algo::LlTwoShot => two_shot_packets(ground, chosen, op),
        Algo::OneShot => {
            let mut outputs = [0; MAX_RANKS];
            outputs[0] = op.recv;
            let reads = Reads {
                from: op.sends,
                to: outputs,
                outputs: 1,
                count: op.count,
                entangled: op.send == op.recv && ground.world() > 1,
            };
            reduce(ground, chosen, &reads, op.what)
        }
        _ => two_shot(ground, chosen, op),
    }
}

fn two_shot(ground: &Ground, chosen: Chosen, op: &AllReduce) -> Order {
    let width = op.what.width();
    let (first, count) = part(op.count, ground.world(), ground.team.rank, width);
    let reads = Reads {
        from: op.sends.map(|address| address + first * width),
        to: op.recvs.map(|address| address + first * width),
        outputs: ground.world(),
        count,
        entangled: false,
    };
    // All ranks must launch the same grid, and the last one's part may be shorter.
    let (_, longest) = part(op.count, ground.world(), 0, width);
    reduce_as(ground, chosen, &reads, op.what, longest)
}

fn one_shot_packets(ground: &Ground, chosen: Chosen, op: &AllReduce) -> Order {
    packet_reduce(ground, chosen, (op.send, 0, op.recv), op.count, op.what)
}

fn two_shot_packets(ground: &Ground, chosen: Chosen, op: &AllReduce) -> Order {
    let bytes = op.count * op.what.width();
    let part = bytes.div_ceil(UNIT).div_ceil(ground.world());
    let (blocks, threads, each) = ground.packets(chosen, part, 1);
    Order {
        module: op.what.module(),
        kernel: Kernel::ReducePacketsTwice,
        blocks,
        threads,
        args: Args::TwoShot(TwoShotArgs {
            team: ground.team,
            from: op.send,
            to: op.recv,
            bytes,
            part,
            each,
            rule: op.what.rule,
        }),
    }
}

/// Bytes from one rank to another of an all-reduce by packets.
pub(super) fn packet_part(algo: Algo, bytes: u64, world: u64) -> u64 {
    match algo {
        Algo::LlTwoShot => bytes.div_ceil(UNIT).div_ceil(world) * UNIT,
        _ => bytes,
    }
}

/// A reduction by reading.
#[derive(Debug, Clone, Copy)]
struct Reads {
    from: Everywhere,
    to: Everywhere,
    outputs: u64,
    count: u64,
    entangled: bool,
}

fn reduce(ground: &Ground, chosen: Chosen, reads: &Reads, what: Reduction) -> Order {
    reduce_as(ground, chosen, reads, what, reads.count)
}

/// With the grid for `longest` elements.
fn reduce_as(
    ground: &Ground,
    chosen: Chosen,
    reads: &Reads,
    what: Reduction,
    longest: u64,
) -> Order {
    let width = what.width();
    let ranks = usize::try_from(ground.world()).unwrap_or(MAX_RANKS);
    let outputs = usize::try_from(reads.outputs).unwrap_or(MAX_RANKS);
    let all = reads.from[..ranks].iter().chain(&reads.to[..outputs]);
    let (blocks, threads) = ground.grid(chosen, (longest * width).div_ceil(VECTOR), 1);
    Order {
        module: what.module(),
        kernel: Kernel::Reduce,
        blocks,
        threads,
        args: Args::Reduce(ReduceArgs {
            team: ground.team,
            from: reads.from,
            to: reads.to,
            outputs: reads.outputs,
            count: reads.count,
            head: head(all.copied(), reads.count, width),
            entangled: reads.entangled.into(),
            released: (reads.outputs > 1).into(),
            rule: what.rule,
        }),
    }
}

/// `place` is where the first part begins, how far parts lie apart, and where the output is.
fn packet_reduce(
    ground: &Ground,
    chosen: Chosen,
    place: (u64, u64, u64),
    count: u64,
    what: Reduction,
) -> Order {
    let bytes = count * what.width();
    let few = bytes <= UNIT * u64::from(MAX_THREADS) / ground.world();
    let pieces = if place.1 == 0 && !few {
        1
    } else {
        ground.world()
    };
    let (blocks, threads, each) = ground.packets(chosen, bytes.div_ceil(UNIT), pieces);
    Order {
        module: what.module(),
        kernel: Kernel::ReducePackets,
        blocks,
        threads,
        args: Args::PacketReduce(PacketReduceArgs {
            team: ground.team,
            from: place.0,
            stride: place.1,
            to: place.2,
            bytes,
            each,
            rule: what.rule,
        }),
    }
}

/// A reduce-scatter's memory; `count` elements in a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReduceScatter {
    pub(super) send: u64,
    pub(super) recv: u64,
    pub(super) sends: Everywhere,
    pub(super) count: u64,
    pub(super) what: Reduction,
}

pub(super) fn reduce_scatter(ground: &Ground, chosen: Chosen, op: &ReduceScatter) -> Order {
    let bytes = op.count * op.what.width();
    if chosen.algo == Algo::Ll {
        return packet_reduce(ground, chosen, (op.send, bytes, op.recv), op.count, op.what);
    }
    let mut outputs = [0; MAX_RANKS];
    outputs[0] = op.recv;
    let reads = Reads {
        from: op.sends.map(|address| address + ground.team.rank * bytes),
        to: outputs,
        outputs: 1,
        count: op.count,
        // Its own part is read by nobody else.
        entangled: false,
    };
    reduce(ground, chosen, &reads, op.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once_and_begin_at_whole_vectors() {
        for width in [1, 2, 4, 8] {
            for world in 1..=16 {
                for count in [0, 1, 7, 64, 1001, 4099] {
                    let mut next = 0;
                    for rank in 0..world {
                        let (first, len) = part(count, world, rank, width);
                        assert_eq!(first, next);
                        assert!(len == 0 || (first * width).is_multiple_of(VECTOR));
                        next += len;
                    }
                    assert_eq!(next, count);
                }
            }
        }
    }

    #[test]
    fn vectors_begin_where_all_addresses_are_aligned_alike() {
        assert_eq!(head([32, 48], 100, 4), 0);
        assert_eq!(head([36, 52], 100, 4), 3);
        assert_eq!(head([36, 48], 100, 4), 100);
        assert_eq!(head([36, 52], 2, 4), 2);
        assert_eq!(head([33], 100, 4), 100);
    }
}
