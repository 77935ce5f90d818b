// The collectives' kernels between ranks on the CPU, under the sanitizers: every algorithm on worlds,
// counts, alignments and shapes of block that are odd, and across the wrap of the ticks.
//
// Ranks are threads of this process. Every buffer ends where an allocation ends, so that an access
// behind it is seen; what lies around an output must stay. Whether results are right for every
// datatype and operator is held against the Rust definition elsewhere (tests/stand_ins); here int32,
// float and bytes are compared with sums made on the spot.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "host.h"
#undef COLLECTIVE
#define COLLECTIVE [[maybe_unused]] static
#include "../../kernels/copies.cu"
// Only the arguments; the kernels are in objects of their own.
namespace reduce_types {
#include "../../kernels/elements.h"
typedef Float Element;
#include "../../kernels/reduce.h"
}  // namespace reduce_types
using reduce_types::PacketReduceArgs;
using reduce_types::ReduceArgs;
using reduce_types::TwoShotArgs;

extern "C" void host_launch(const char*, const char*, const void*, unsigned, unsigned);

static const u64 LIMIT = 60ull * 1000 * 1000 * 1000;

struct Guarded {
  // Bytes before the data, so that it begins at any alignment.
  u64 before;
  u64 bytes;
  char* memory;
  Guarded(u64 before, u64 bytes) : before(before), bytes(bytes) {
    memory = (char*)malloc(before + bytes + 1);
    memset(memory, 0x5a, before + bytes + 1);
  }
  Guarded(const Guarded&) = delete;
  ~Guarded() { free(memory); }
  u64 at() const { return (u64)memory + before; }
  bool is_intact() const {
    for (u64 i = 0; i < before; i++)
      if (memory[i] != 0x5a) return false;
    return memory[before + bytes] == 0x5a;
  }
};

struct World {
  u64 ranks;
  std::vector<char*> work;
  std::vector<Report> reports;
  explicit World(u64 ranks, u32 first_tick = 0) : ranks(ranks), reports(ranks) {
    const u64 bytes = SLOTS_AT + 2 * ranks * MAX_BLOCKS * SLOT_PACKETS * 16;
    for (u64 rank = 0; rank < ranks; rank++) {
      work.push_back((char*)aligned_alloc(128, bytes));
      memset(work[rank], 0, bytes);
      for (u64 block = 0; block < MAX_BLOCKS; block++) ((u32*)(work[rank] + TICKS_AT))[block] = first_tick;
      for (u64 i = 0; i < MAX_BLOCKS * FLAGS_BYTES / 4; i++) ((u32*)(work[rank] + FLAGS_AT))[i] = first_tick;
    }
  }
  ~World() {
    for (char* memory : work) free(memory);
  }
  Team team(u64 rank) {
    Team team = {};
    for (u64 i = 0; i < ranks; i++) team.work[i] = (u64)work[i];
    team.report = (u64)&reports[rank];
    team.limit = LIMIT;
    team.rank = rank;
    team.world = ranks;
    return team;
  }
  void each(const std::function<void(u64)>& body) {
    std::vector<std::thread> threads;
    for (u64 rank = 0; rank < ranks; rank++) threads.emplace_back(body, rank);
    for (auto& thread : threads) thread.join();
    for (u64 rank = 0; rank < ranks; rank++) {
      if (reports[rank].state == 0 && reports[rank].abort == 0) continue;
      printf("rank %llu gave up: phase %llu peer %llu want %llu seen %llu\n", rank, reports[rank].phase,
             reports[rank].peer, reports[rank].want, reports[rank].seen);
      exit(1);
    }
  }
};

static int checked = 0;

static void need(bool holds, const char* what, u64 ranks, u64 count, u64 shift) {
  checked++;
  if (holds) return;
  printf("wrong: %s, %llu ranks, %llu elements, %llu bytes off\n", what, ranks, count, shift);
  exit(1);
}

struct Shape {
  unsigned grid, block;
};

static u32 value(u64 rank, u64 i, u64 salt) { return (u32)((rank + 3) * 2654435761u + i * 40503u + salt * 977); }

typedef std::vector<std::unique_ptr<Guarded>> Buffers;

// One rank's launch of an all-reduce in one of four ways.
static void launch_all_reduce(World& world, int way, const Buffers& in, const Buffers& to, u64 count, Shape shape,
                              u64 rank) {
  const u64 n = world.ranks, bytes = 4 * count, units = (bytes + 7) / 8;
  if (way < 2) {
    ReduceArgs args = {};
    args.team = world.team(rank);
    const u64 part = way == 0 ? count : (count / n + 3) / 4 * 4 + 4;
    const u64 first = way == 0 ? 0 : (rank * part < count ? rank * part : count);
    args.count = way == 0 ? count : (count - first < part ? count - first : part);
    args.outputs = way == 0 ? 1 : n;
    bool alike = true;
    for (u64 i = 0; i < n; i++) {
      args.from[i] = in[i]->at() + 4 * first;
      args.to[i] = to[way == 0 ? rank : i]->at() + 4 * first;
      alike &= args.from[i] % 16 == args.from[0] % 16 && args.to[i] % 16 == args.from[0] % 16;
    }
    const u64 head = (16 - args.from[0] % 16) % 16 / 4;
    args.head = alike && head < args.count ? head : args.count;
    args.entangled = &in == &to && way == 0;
    args.released = way == 1;
    host_launch("reduce_int32", "reduce", &args, shape.grid, shape.block);
  } else if (way == 2) {
    PacketReduceArgs args = {};
    args.team = world.team(rank);
    args.from = in[rank]->at(), args.to = to[rank]->at(), args.bytes = bytes;
    args.each = (units + shape.grid - 1) / shape.grid;
    host_launch("reduce_int32", "reduce_packets", &args, shape.grid, shape.block);
  } else {
    TwoShotArgs args = {};
    args.team = world.team(rank);
    args.from = in[rank]->at(), args.to = to[rank]->at(), args.bytes = bytes;
    args.part = (units + n - 1) / n;
    args.each = (args.part + shape.grid - 1) / shape.grid;
    host_launch("reduce_int32", "reduce_packets_twice", &args, shape.grid, shape.block);
  }
}

// All-reduce of int32 in all four ways; every second time in place.
static void all_reduce(World& world, u64 count, u64 shift, Shape shape, u64 salt) {
  static const char* names[] = {"one shot", "two shots", "packets", "packets twice"};
  const u64 n = world.ranks;
  for (int turn = 0; turn < 8; turn++) {
    const int way = turn / 2, in_place = turn % 2;
    Buffers in, out;
    for (u64 rank = 0; rank < n; rank++) {
      in.push_back(std::make_unique<Guarded>(shift, 4 * count));
      out.push_back(std::make_unique<Guarded>(shift, 4 * count));
      for (u64 i = 0; i < count; i++) {
        u32 v = value(rank, i, salt);
        memcpy((char*)in[rank]->at() + 4 * i, &v, 4);
      }
    }
    const Buffers& to = in_place ? in : out;
    world.each([&](u64 rank) { launch_all_reduce(world, way, in, to, count, shape, rank); });
    for (u64 rank = 0; rank < n; rank++) {
      need(in[rank]->is_intact() && out[rank]->is_intact(), "bytes around a buffer", n, count, shift);
      for (u64 i = 0; i < count; i++) {
        u32 sum = 0, got;
        for (u64 r = 0; r < n; r++) sum += value(r, i, salt);
        memcpy(&got, (char*)to[rank]->at() + 4 * i, 4);
        if (got != sum) printf("rank %llu element %llu: got %u, expected %u, in place %d\n", rank, i, got, sum, in_place);
        need(got == sum, names[way], n, count, shift);
      }
    }
  }
}

// Reduce-scatter, both ways.
static void reduce_scatter(World& world, u64 count, u64 shift, Shape shape, u64 salt) {
  const u64 n = world.ranks, bytes = 4 * count;
  for (int way = 0; way < 2; way++) {
    std::vector<std::unique_ptr<Guarded>> in, out;
    for (u64 rank = 0; rank < n; rank++) {
      in.push_back(std::make_unique<Guarded>(shift, n * bytes));
      out.push_back(std::make_unique<Guarded>(shift, bytes));
      for (u64 i = 0; i < n * count; i++) {
        u32 v = value(rank, i, salt);
        memcpy((char*)in[rank]->at() + 4 * i, &v, 4);
      }
    }
    world.each([&](u64 rank) {
      if (way == 0) {
        ReduceArgs args = {};
        args.team = world.team(rank);
        args.count = args.head = count;
        args.outputs = 1;
        for (u64 i = 0; i < n; i++) args.from[i] = in[i]->at() + rank * bytes;
        args.to[0] = out[rank]->at();
        bool alike = true;
        for (u64 i = 0; i < n; i++) alike &= args.from[i] % 16 == args.to[0] % 16;
        const u64 head = (16 - args.to[0] % 16) % 16 / 4;
        if (alike && head < count) args.head = head;
        host_launch("reduce_int32", "reduce", &args, shape.grid, shape.block);
      } else {
        PacketReduceArgs args = {};
        args.team = world.team(rank);
        args.from = in[rank]->at(), args.stride = bytes, args.to = out[rank]->at(), args.bytes = bytes;
        args.each = ((bytes + 7) / 8 + shape.grid - 1) / shape.grid;
        host_launch("reduce_int32", "reduce_packets", &args, shape.grid, shape.block);
      }
    });
    for (u64 rank = 0; rank < n; rank++) {
      need(in[rank]->is_intact() && out[rank]->is_intact(), "bytes around a buffer", n, count, shift);
      for (u64 i = 0; i < count; i++) {
        u32 sum = 0, got;
        for (u64 r = 0; r < n; r++) sum += value(r, rank * count + i, salt);
        memcpy(&got, (char*)out[rank]->at() + 4 * i, 4);
        need(got == sum, way ? "reduce-scatter by packets" : "reduce-scatter", n, count, shift);
      }
    }
  }
}

enum Kind { GATHER, EXCHANGE, BROADCAST };

// All-gather, all-to-all and broadcast of bytes: by put, by pull, by packets, handed out.
static void copies(World& world, Kind kind, u64 bytes, u64 shift, Shape shape, u64 salt) {
  const u64 n = world.ranks, root = salt % n;
  const u64 in_bytes = kind == EXCHANGE ? n * bytes : bytes, out_bytes = kind == BROADCAST ? bytes : n * bytes;
  for (int way = 0; way < 3; way++) {
    std::vector<std::unique_ptr<Guarded>> in, out;
    for (u64 rank = 0; rank < n; rank++) {
      in.push_back(std::make_unique<Guarded>(shift, in_bytes));
      out.push_back(std::make_unique<Guarded>(shift, out_bytes));
      for (u64 i = 0; i < in_bytes; i++) ((u8*)in[rank]->at())[i] = (u8)(value(rank, i, salt) >> 7);
    }
    u64 unit = 16;
    while ((in[0]->at() | out[0]->at() | bytes | shift) % unit) unit /= 2;
    for (u64 rank = 0; rank < n; rank++)
      while ((in[rank]->at() | out[rank]->at()) % unit) unit /= 2;
    world.each([&](u64 rank) {
      if (way == 2) {
        PacketArgs args = {};
        args.team = world.team(rank);
        args.from = in[rank]->at(), args.stride = kind == EXCHANGE ? bytes : 0;
        args.to = out[rank]->at(), args.to_stride = kind == BROADCAST ? 0 : bytes;
        args.bytes = bytes;
        args.each = ((bytes + 7) / 8 + shape.grid - 1) / shape.grid;
        args.root = kind == BROADCAST ? root : NOBODY;
        host_launch("copies", "copy_packets", &args, shape.grid, shape.block);
        return;
      }
      if (kind == BROADCAST && way == 1) {
        HandOutArgs args = {};
        args.team = world.team(rank);
        for (u64 i = 0; i < n; i++) args.to[i] = out[i]->at();
        args.from = rank == root ? in[rank]->at() : 0;
        args.bytes = bytes, args.part = (bytes / n / 16 + 1) * 16, args.unit = unit, args.root = root;
        host_launch("copies", "hand_out", &args, shape.grid, shape.block);
        return;
      }
      CopyArgs args = {};
      args.team = world.team(rank);
      args.bytes = bytes, args.unit = unit, args.first = rank + 1, args.released = way == 0;
      args.entries = kind == BROADCAST && rank != root ? 0 : n;
      for (u64 i = 0; i < n; i++) {
        if (way == 0) {
          args.from[i] = in[rank]->at() + (kind == EXCHANGE ? i * bytes : 0);
          args.to[i] = out[i]->at() + (kind == BROADCAST ? 0 : rank * bytes);
        } else {
          args.from[i] = in[i]->at() + (kind == EXCHANGE ? rank * bytes : 0);
          args.to[i] = out[rank]->at() + i * bytes;
        }
      }
      host_launch("copies", "copy", &args, shape.grid, shape.block);
    });
    for (u64 rank = 0; rank < n; rank++) {
      need(in[rank]->is_intact() && out[rank]->is_intact(), "bytes around a buffer", n, bytes, shift);
      for (u64 i = 0; i < out_bytes; i++) {
        const u64 source = kind == BROADCAST ? root : i / bytes;
        const u64 at = kind == EXCHANGE ? rank * bytes + i % bytes : kind == GATHER ? i % bytes : i;
        need(((u8*)out[rank]->at())[i] == (u8)(value(source, at, salt) >> 7), "copy", n, bytes, shift);
      }
    }
  }
}

static void rungs(World& world, Shape shape) {
  for (const char* name : {"rung_nothing", "rung_local_flag", "rung_peer_flag", "rung_barrier"}) {
    world.each([&](u64 rank) {
      RungArgs args = {world.team(rank)};
      host_launch("copies", name, &args, shape.grid, shape.block);
    });
  }
}

static void everything(World& world, u64 salt) {
  const u64 counts[] = {1, 2, 7, 65, 257};
  const Shape shapes[] = {{1, 1}, {3, 1}, {2, 3}, {1, 4}};
  for (u64 i = 0; i < 5; i++) {
    const Shape shape = shapes[(i + salt) % 4];
    const u64 shift = 4 * ((i + salt) % 4);
    all_reduce(world, counts[i], shift, shape, salt + i);
    reduce_scatter(world, counts[i], shift, shape, salt + i);
    for (Kind kind : {GATHER, EXCHANGE, BROADCAST}) {
      copies(world, kind, counts[i] * (1 + i % 3), (i + salt) % 16, shape, salt + i);
    }
  }
  rungs(world, {1, 2});
}

// A rank that does not come is reported by name, and everybody leaves.
static void a_missing_rank_is_named() {
  World world(3);
  std::vector<std::thread> threads;
  for (u64 rank = 0; rank < 2; rank++) {
    threads.emplace_back([&, rank] {
      RungArgs args = {world.team(rank)};
      args.team.limit = 200 * 1000 * 1000;
      host_launch("copies", "rung_barrier", &args, 2, 1);
    });
  }
  for (auto& thread : threads) thread.join();
  for (u64 rank = 0; rank < 2; rank++) {
    const Report& report = world.reports[rank];
    need(report.state == 1 && report.abort == 1 && report.rank == rank && report.peer == 2 && report.want == 1 &&
             report.seen == 0 && report.phase == PHASE_ENTRY && report.block < 2,
         "report", 3, 0, 0);
  }
}

int main() {
  for (u64 ranks : {1, 2, 3, 5, 8, 9}) {
    World world(ranks);
    for (u64 salt = 0; salt < 3; salt++) everything(world, salt + ranks);
  }
  // Ticks that wrap in the middle of it.
  World world(3, 0xffffffffu - 20);
  for (u64 salt = 0; salt < 2; salt++) everything(world, salt);
  a_missing_rank_is_named();
  printf("%d comparisons\n", checked);
}
