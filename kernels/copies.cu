// Collectives that move bytes and reduce nothing, and what the latency ladder is made of.
//
// A put writes into other ranks' outputs, a pull reads from their inputs; both begin with a barrier
// (the others have come, so their memory may be touched) and end with one (all have finished, so
// that it may be used again). Packets need no barrier: the data is the signal.
#include "comm.h"

struct CopyArgs {
  Team team;
  u64 from[MAX_RANKS];  // address of each entry's source
  u64 to[MAX_RANKS];    // and destination; the same where there is nothing to do
  u64 entries;
  u64 bytes;     // of each entry
  u64 unit;      // bytes that all addresses and `bytes` are multiples of: 16, 8, 4, 2 or 1
  u64 first;     // entry that block 0 begins with, so that not all ranks turn to the same one
  u64 released;  // whether others read what this rank wrote
};
static_assert(sizeof(CopyArgs) == 456, "as in src/ffi/kernels/collective.rs");

struct HandOutArgs {
  Team team;
  u64 to[MAX_RANKS];  // address of each rank's output
  u64 from;           // address of the root's input, on the root
  u64 bytes;
  u64 part;  // bytes of each rank's part of them but the last
  u64 unit;
  u64 root;
};
static_assert(sizeof(HandOutArgs) == 328, "as in src/ffi/kernels/collective.rs");

struct PacketArgs {
  Team team;
  u64 from;       // address of what goes to rank 0
  u64 stride;     // bytes from there to what goes to the next rank; 0 where all get the same
  u64 to;         // address where what rank 0 sends goes
  u64 to_stride;  // and from there to where the next rank's goes
  u64 bytes;      // that go from one rank to another
  u64 each;       // units of 8 bytes of a block
  u64 root;       // who alone sends; NOBODY where all do
};
static_assert(sizeof(PacketArgs) == 216, "as in src/ffi/kernels/collective.rs");

#define NOBODY (~0ull)

template <class T>
DEVICE void copy_as(u64 from, u64 to, u64 bytes, u64 thread, u64 threads) {
  for (u64 at = thread * sizeof(T); at < bytes; at += threads * sizeof(T)) {
    *(T*)(to + at) = load_far_as<T>(from + at);
  }
}

// Four vectors in flight for each thread.
DEVICE void copy_vectors(u64 from, u64 to, u64 bytes, u64 thread, u64 threads) {
  for (u64 at = thread * 16; at < bytes; at += threads * 64) {
    u64 a[4], b[4];
    UNROLL for (int k = 0; k < 4; k++) {
      if (at + k * threads * 16 < bytes) load_far(from + at + k * threads * 16, &a[k], &b[k]);
    }
    UNROLL for (int k = 0; k < 4; k++) {
      if (at + k * threads * 16 < bytes) store_far(to + at + k * threads * 16, a[k], b[k]);
    }
  }
}

DEVICE void copy_units(u64 unit, u64 from, u64 to, u64 bytes, u64 thread, u64 threads) {
  if (from == to) return;
  switch (unit) {
    case 16: return copy_vectors(from, to, bytes, thread, threads);
    case 8: return copy_as<u64>(from, to, bytes, thread, threads);
    case 4: return copy_as<u32>(from, to, bytes, thread, threads);
    case 2: return copy_as<u16>(from, to, bytes, thread, threads);
    default: return copy_as<u8>(from, to, bytes, thread, threads);
  }
}

// Copies a list of entries between two barriers: all-gather, all-to-all and broadcast by put or pull.
// Any grid up to MAX_BLOCKS; its blocks are dealt out to the entries.
COLLECTIVE void copy(const CopyArgs args) {
  IN_ORDER();
  const u32 entry_tick = after(read_tick(args.team)), exit_tick = after(entry_tick);
  arrive(args.team, entry_tick, false);
  await(args.team, entry_tick, PHASE_ENTRY);
  const u64 shares = gridDim.x > args.entries && args.entries ? gridDim.x / args.entries : 1;
  for (u64 turn = blockIdx.x; turn < args.entries * shares; turn += gridDim.x) {
    const u64 entry = (turn + args.first) % args.entries, share = turn / args.entries;
    copy_units(args.unit, args.from[entry], args.to[entry], args.bytes, share * blockDim.x + threadIdx.x,
               shares * blockDim.x);
  }
  arrive(args.team, exit_tick, args.released);
  await(args.team, exit_tick, PHASE_EXIT);
  keep_tick(args.team, exit_tick);
}

// Broadcast of much: the root gives every rank its part, and they give it to each other, so that no
// link carries the whole more than once. The root keeps the rest for itself.
COLLECTIVE void hand_out(const HandOutArgs args) {
  IN_ORDER();
  const u32 entry_tick = after(read_tick(args.team)), halfway = after(entry_tick), exit_tick = after(halfway);
  const u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
  const u64 me = args.team.rank, world = args.team.world;
  u64 from, end;
  arrive(args.team, entry_tick, false);
  await(args.team, entry_tick, PHASE_ENTRY);
  if (me == args.root) {
    for (u64 i = 1; i < world; i++) {
      const u64 peer = (me + i) % world;
      share_of(args.bytes, args.part, peer, &from, &end);
      copy_units(args.unit, args.from + from, args.to[peer] + from, end - from, thread, threads);
    }
  }
  arrive(args.team, halfway, true);
  await(args.team, halfway, PHASE_HALFWAY);
  if (me == args.root) {
    copy_units(args.unit, args.from, args.to[me], args.bytes, thread, threads);
    // Its own part is nobody else's to hand on.
    share_of(args.bytes, args.part, me, &from, &end);
    for (u64 i = 1; i < world; i++) {
      const u64 peer = (me + i) % world;
      copy_units(args.unit, args.from + from, args.to[peer] + from, end - from, thread, threads);
    }
  } else {
    share_of(args.bytes, args.part, me, &from, &end);
    for (u64 i = 1; i < world; i++) {
      const u64 peer = (me + i) % world;
      if (peer == args.root) continue;
      copy_units(args.unit, args.to[me] + from, args.to[peer] + from, end - from, thread, threads);
    }
  }
  arrive(args.team, exit_tick, true);
  await(args.team, exit_tick, PHASE_EXIT);
  keep_tick(args.team, exit_tick);
}

// All-gather, all-to-all and broadcast by packets. Any grid with `each` units of work for a block, at
// most SLOT_PACKETS of them. Where one rank alone sends, all tell each other that they are here, or
// the sender would come round to a slot that has not been read.
COLLECTIVE void copy_packets(const PacketArgs args) {
  IN_ORDER();
  const u32 tick = after(read_tick(args.team));
  const u64 me = args.team.rank;
  const bool alone = args.root != NOBODY;
  u64 begin, end;
  share_of((args.bytes + 7) / 8, args.each, blockIdx.x, &begin, &end);
  if (alone) arrive(args.team, tick, false);
  if (!alone || args.root == me) {
    send_to_all(args.team, args.from, args.stride, args.bytes, begin, end, tick);
  }
  const u64 own = args.from + me * args.stride;
  for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    if (alone && args.root != me) {
      const u64 slot = slot_at(args.team, me, args.root, tick) + 16 * (i - begin);
      store_unit(args.to, args.bytes, i, receive_packet(args.team, slot, tick, PHASE_DATA, args.root));
    } else if (alone) {
      if (own != args.to) store_unit(args.to, args.bytes, i, load_unit(own, args.bytes, i));
    } else {
      receive_from_all(
          args.team, 16 * (i - begin), tick, PHASE_DATA,
          [&](u64 source, u64 unit) { store_unit(args.to + source * args.to_stride, args.bytes, i, unit); },
          [&](u64) {
            const u64 to = args.to + me * args.to_stride;
            if (own != to) store_unit(to, args.bytes, i, load_unit(own, args.bytes, i));
          });
    }
  }
  if (alone) await(args.team, tick, PHASE_EXIT);
  keep_tick(args.team, tick);
}

// ---------------------------------------------------------------------------------------------
// The ladder's rungs. One block; they move no data.

struct RungArgs {
  Team team;
};
static_assert(sizeof(RungArgs) == 160, "as in src/ffi/kernels/collective.rs");

// Nothing: what a launch costs.
COLLECTIVE void rung_nothing(const RungArgs) { IN_ORDER(); }

// One thread sets a flag of its own GPU and the block's last one sees it.
COLLECTIVE void rung_local_flag(const RungArgs args) {
  IN_ORDER();
  const u32 tick = after(read_tick(args.team));
  const u64 at = args.team.work[args.team.rank] + LADDER_AT;
  if (threadIdx.x == 0) store_flag(at, tick);
  if (threadIdx.x == blockDim.x - 1) {
    Wait wait = {0, 0};
    while (!has_come(load_flag(at), tick) && goes_on(args.team, &wait, PHASE_DATA, args.team.rank, tick, at)) {
    }
  }
  keep_tick(args.team, tick);
}

// A flag to the next rank, and one from the rank before. All flags are set, or a later barrier of
// others would wait for ticks that never were.
COLLECTIVE void rung_peer_flag(const RungArgs args) {
  IN_ORDER();
  const u32 tick = after(read_tick(args.team));
  const u64 me = args.team.rank, world = args.team.world;
  if (threadIdx.x == 0 && world > 1) {
    const u64 previous = (me + world - 1) % world;
    store_flag(flag_at(args.team, (me + 1) % world, me), tick);
    const u64 at = flag_at(args.team, me, previous);
    Wait wait = {0, 0};
    while (!has_come(load_flag(at), tick) && goes_on(args.team, &wait, PHASE_DATA, previous, tick, at)) {
    }
  }
  keep_tick(args.team, tick);
}

// One barrier of all ranks.
COLLECTIVE void rung_barrier(const RungArgs args) {
  IN_ORDER();
  const u32 tick = after(read_tick(args.team));
  arrive(args.team, tick, false);
  await(args.team, tick, PHASE_ENTRY);
  keep_tick(args.team, tick);
}
