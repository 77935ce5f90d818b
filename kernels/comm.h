// What the collectives' kernels share: memory that ranks signal each other through.
//
// Header-free, and a host compiler takes it too: there a block is a thread of the operating system
// (tests/kernels, tests/stand-ins), and what is marked HOST below is given by whoever includes this.
// Every kernel is right for any number of threads in a block, one included.
#pragma once
#include "gen.h"

#ifdef __CUDACC__
#define DEVICE_METHOD __device__ __forceinline__
#else
#define DEVICE_METHOD inline
#endif

// Ranks that one communicator has at the most, and blocks that a launch has at the most.
#define MAX_RANKS 16
#define MAX_BLOCKS 64
// Packets of one block and one source in one generation of slots.
#define SLOT_PACKETS 2048

// Where things lie in a rank's workspace, in bytes.
#define TICKS_AT 0                          // u32 of each block
#define CLAIM_AT 1024                       // u32: whether somebody has reported
#define LADDER_AT 2048                      // u32s that the ladder's kernels play with
#define FLAGS_AT 8192                       // u32 [block][source rank], a line for each block
#define FLAGS_BYTES 128
#define ENGINE_FLAGS_AT 16384               // u32 [source rank] for the copy engines
#define SLOTS_AT 32768                      // packets [generation][source][block][SLOT_PACKETS]

// What a wait that was given up leaves for the host, in memory that both see.
struct Report {
  u64 abort;  // set by the host or by a wait that gave up: all waits end
  u64 state;  // 1 once the rest is there
  u64 rank;
  u64 block;
  u64 phase;
  u64 peer;
  u64 want;
  u64 seen;
};
static_assert(sizeof(Report) == 64, "as in src/ffi/kernels/collective.rs");

// Where a wait stands, for the report.
enum Phase { PHASE_ENTRY = 1, PHASE_EXIT = 2, PHASE_DATA = 3, PHASE_RESULT = 4, PHASE_HALFWAY = 5 };

// One communicator as one of its ranks sees it.
struct Team {
  u64 work[MAX_RANKS];  // address of each rank's workspace
  u64 report;           // address of this rank's Report
  u64 limit;            // nanoseconds that a wait may take
  u64 rank;
  u64 world;
};
static_assert(sizeof(Team) == 160, "as in src/ffi/kernels/collective.rs");

// ---------------------------------------------------------------------------------------------
// Memory

#ifdef __CUDACC__
#define COLLECTIVE extern "C" __global__ __launch_bounds__(512, 1)
#define SYNC() __syncthreads()
// Two marks that become `griddepcontrol` instructions where the GPU has them (ffi/kernels): what
// follows the first needs the launches before this one complete, and from the second on the next
// launch may be made ready.
#define IN_ORDER()                                    \
  do {                                                \
    asm volatile("// await earlier launches" ::: "memory"); \
    asm volatile("// admit the next launch" ::: "memory");  \
  } while (0)

DEVICE u32 load_flag(u64 from) {
  u32 value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
DEVICE u32 load_flag_acquire(u64 from) {
  u32 value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
DEVICE void store_flag(u64 to, u32 value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
DEVICE void store_flag_release(u64 to, u32 value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
// Two numbers, each of which arrives whole.
DEVICE void load_packet(u64 from, u64* a, u64* b) {
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(*a), "=l"(*b) : "l"(from) : "memory");
}
DEVICE void store_packet(u64 to, u64 a, u64 b) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b) : "memory");
}
// 16 bytes of another rank's memory, past caches that are not kept up to date.
DEVICE void load_far(u64 from, u64* a, u64* b) {
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(*a), "=l"(*b) : "l"(from) : "memory");
}
DEVICE void store_far(u64 to, u64 a, u64 b) {
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b) : "memory");
}
template <class T>
DEVICE T load_far_as(u64 from) {
  return *(const volatile T*)from;
}
DEVICE u64 load_report(u64 from) {
  u64 value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
DEVICE void store_report(u64 to, u64 value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
DEVICE void fence_all() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
DEVICE bool claim(u64 at) { return atomicExch((u32*)at, 1u) == 0; }
DEVICE u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
DEVICE void pause_a_little() {}
DEVICE u32 lowest(u32 bits) { return (u32)__ffs((int)bits) - 1; }
#endif

// ---------------------------------------------------------------------------------------------
// Ticks: numbers that only go up. Each block has its own count, the same on every rank, because all
// ranks launch the same grids in the same order. Nothing on the host changes from launch to launch,
// so that a launch can be replayed in a graph. 0 is what memory holds in the beginning, and no tick.

DEVICE u32 after(u32 tick) { return tick == 0xffffffffu ? 2u : tick + 1; }
// Whether `seen` is `want` or later, across the wrap.
DEVICE bool has_come(u32 seen, u32 want) { return (int)(seen - want) >= 0; }

DEVICE u64 tick_at(const Team& team) { return team.work[team.rank] + TICKS_AT + 4 * blockIdx.x; }
DEVICE u32 read_tick(const Team& team) { return *(const volatile u32*)tick_at(team); }
// The last thing that a block does.
DEVICE void keep_tick(const Team& team, u32 tick) {
  SYNC();
  if (threadIdx.x == 0) *(volatile u32*)tick_at(team) = tick;
}

// ---------------------------------------------------------------------------------------------
// Waiting

// How many polls pass between two looks at the clock and at the host's word.
#define POLLS 1024

// A wait that takes too long is reported and given up; what follows it is wrong then, and the host
// says so.
struct Wait {
  u64 since;
  u32 polls;
};

static
#ifdef __CUDACC__
    __device__ __noinline__
#endif
    bool is_over(u64 waited, u64 limit, u64 report, u64 claim_at, u64 rank, u64 phase, u64 peer, u32 want,
                 u64 seen_at) {
  if (load_report(report) != 0) return true;
  if (waited < limit) return false;
  if (claim(claim_at)) {
    store_report(report + 16, rank);
    store_report(report + 24, blockIdx.x);
    store_report(report + 32, phase);
    store_report(report + 40, peer);
    store_report(report + 48, want);
    store_report(report + 56, load_flag(seen_at));
    fence_all();
    store_report(report + 8, 1);
  }
  store_report(report, 1);
  return true;
}

// After a poll that did not find `want` at `seen_at`: whether to go on polling.
DEVICE bool goes_on(const Team& team, Wait* wait, u64 phase, u64 peer, u32 want, u64 seen_at) {
  pause_a_little();
  if (++wait->polls % POLLS != 0) return true;
  const u64 now = nanoseconds();
  if (wait->since == 0) wait->since = now;
  return !is_over(now - wait->since, team.limit, team.report, team.work[team.rank] + CLAIM_AT, team.rank,
                  phase, peer, want, seen_at);
}

// ---------------------------------------------------------------------------------------------
// Barriers between the blocks of one number on all ranks

DEVICE u64 flag_at(const Team& team, u64 owner, u64 source) {
  return team.work[owner] + FLAGS_AT + FLAGS_BYTES * blockIdx.x + 4 * source;
}

// Tells all others that this block has come to `tick`. Released where they are to see what it wrote.
DEVICE void arrive(const Team& team, u32 tick, bool released) {
  SYNC();
  for (u32 peer = threadIdx.x; peer < team.world; peer += blockDim.x) {
    if (peer == team.rank) continue;
    const u64 at = flag_at(team, peer, team.rank);
    if (released) {
      store_flag_release(at, tick);
    } else {
      store_flag(at, tick);
    }
  }
}

// Waits until all others have come to `tick`; then what they wrote before is to be seen.
DEVICE void await(const Team& team, u32 tick, u64 phase) {
  for (u32 peer = threadIdx.x; peer < team.world; peer += blockDim.x) {
    if (peer == team.rank) continue;
    const u64 at = flag_at(team, team.rank, peer);
    Wait wait = {0, 0};
    while (!has_come(load_flag(at), tick) && goes_on(team, &wait, phase, peer, tick, at)) {
    }
    load_flag_acquire(at);
  }
  SYNC();
}

// ---------------------------------------------------------------------------------------------
// Packets: 8 bytes of data in 16, each half with the tick beside it, so that data is its own signal.

// The slot of packet `index` from `source` in the workspace of `owner`.
DEVICE u64 slot_at(const Team& team, u64 owner, u64 source, u32 tick) {
  const u64 generation = tick & 1;
  return team.work[owner] + SLOTS_AT +
         16 * SLOT_PACKETS * (((generation * team.world + source) * MAX_BLOCKS) + blockIdx.x);
}

DEVICE void send_packet(u64 slot, u64 data, u32 tick) {
  const u64 flag = (u64)tick << 32;
  store_packet(slot, (data & 0xffffffffull) | flag, (data >> 32) | flag);
}

// Whether both halves have arrived.
DEVICE bool is_whole(u64 a, u64 b, u32 tick) { return (u32)(a >> 32) == tick && (u32)(b >> 32) == tick; }

DEVICE u64 data_of(u64 a, u64 b) { return (a & 0xffffffffull) | b << 32; }

DEVICE u64 receive_packet(const Team& team, u64 slot, u32 tick, u64 phase, u64 peer) {
  u64 a, b;
  Wait wait = {0, 0};
  for (;;) {
    load_packet(slot, &a, &b);
    if (is_whole(a, b, tick) || !goes_on(team, &wait, phase, peer, tick, slot + 4)) break;
  }
  return data_of(a, b);
}

// ---------------------------------------------------------------------------------------------
// Bytes of any alignment, 8 at a time

// Unit `index` of `bytes` bytes from `from` on; what is not there is zero.
DEVICE u64 load_unit(u64 from, u64 bytes, u64 index) {
  const u64 at = from + 8 * index;
  const u64 left = bytes - 8 * index;
  if (left >= 8 && at % 8 == 0) return *(const u64*)at;
  if (left >= 8 && at % 4 == 0) return *(const u32*)at | (u64) * (const u32*)(at + 4) << 32;
  u64 unit = 0;
  ROLLED for (u64 i = 0; i < 8 && i < left; i++) unit |= (u64) * (const u8*)(at + i) << (8 * i);
  return unit;
}

DEVICE void store_unit(u64 to, u64 bytes, u64 index, u64 unit) {
  const u64 at = to + 8 * index;
  const u64 left = bytes - 8 * index;
  if (left >= 8 && at % 8 == 0) {
    *(u64*)at = unit;
    return;
  }
  if (left >= 8 && at % 4 == 0) {
    *(u32*)at = (u32)unit;
    *(u32*)(at + 4) = (u32)(unit >> 32);
    return;
  }
  ROLLED for (u64 i = 0; i < 8 && i < left; i++) *(u8*)(at + i) = (u8)(unit >> (8 * i));
}

// Takes the packets that lie `offset` bytes into the slots of all others, eight at a time, and hands
// them to `use` in the order of the ranks; its own place in it is given to `own`.
template <class Use, class Own>
DEVICE void receive_from_all(const Team& team, u64 offset, u32 tick, u64 phase, Use use, Own own) {
  const u64 slots = slot_at(team, team.rank, 0, tick) + offset;
  const u64 apart = 16ull * SLOT_PACKETS * MAX_BLOCKS;
  ROLLED for (u64 first = 0; first < team.world; first += 8) {
    u64 a[8], b[8];
    const u32 some = team.world - first < 8 ? (1u << (team.world - first)) - 1 : 0xff;
    u32 missing = team.rank - first < 8 ? some & ~(1u << (team.rank - first)) : some;
    Wait wait = {0, 0};
    while (true) {
      UNROLL for (int k = 0; k < 8; k++) {
        if (missing >> k & 1) load_packet(slots + (first + k) * apart, &a[k], &b[k]);
      }
      UNROLL for (int k = 0; k < 8; k++) {
        if ((missing >> k & 1) && is_whole(a[k], b[k], tick)) missing &= ~(1u << k);
      }
      if (missing == 0) break;
      const u64 late = first + lowest(missing);
      if (!goes_on(team, &wait, phase, late, tick, slots + late * apart + 4)) break;
    }
    UNROLL for (int k = 0; k < 8; k++) {
      if (!(some >> k & 1)) continue;
      if (first + k == team.rank) {
        own(first + k);
      } else {
        use(first + k, data_of(a[k], b[k]));
      }
    }
  }
}

// The part of `whole` that falls to share `index` of `shares`, each but the last `each` long.
DEVICE void share_of(u64 whole, u64 each, u64 index, u64* from, u64* end) {
  const u64 start = index * each;
  *from = start < whole ? start : whole;
  *end = start + each < whole ? start + each : whole;
}

// Sends units `begin` to `end` of what each other rank is to get, which lies `stride` bytes apart in
// the order of the ranks. Ranks and units are dealt out to the threads together, so that few units do
// not make one thread load and send for one rank after the other.
DEVICE void send_to_all(const Team& team, u64 from, u64 stride, u64 bytes, u64 begin, u64 end, u32 tick) {
  const u32 units = end > begin ? (u32)(end - begin) : 0, jobs = units * (u32)(team.world - 1);
  for (u32 job = threadIdx.x; job < jobs; job += blockDim.x) {
    const u32 turn = job / units, unit = job % units;
    const u64 next = team.rank + 1 + turn, peer = next < team.world ? next : next - team.world;
    send_packet(slot_at(team, peer, team.rank, tick) + 16 * unit, load_unit(from + peer * stride, bytes, begin + unit),
                tick);
  }
}
