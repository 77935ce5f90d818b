// Collectives that reduce, for the class of elements that whoever includes this names as `Element`.
//
// Ranks are added up in their order on every rank, so that all have the same bits. Elements of 8 and
// 16 bits are added up as binary32 and rounded once (elements.h).
#pragma once
#include "comm.h"
#include "elements.h"

enum Operator { OP_SUM = 0, OP_PROD = 1, OP_MIN = 2, OP_MAX = 3, OP_AVG = 4, OP_MULSUM = 5 };

// What to do with the elements, the same in all arguments.
struct Rule {
  u64 op;
  u64 divisor;            // OP_AVG: ranks (integers), or the bits of the reciprocal as a Sum
  u64 flip;               // integers: what to exclusive-or with before comparing as signed
  u64 scales[MAX_RANKS];  // OP_MULSUM: the bits of each rank's factor, as an element
};
static_assert(sizeof(Rule) == 152, "as in src/ffi/kernels/collective.rs");

struct ReduceArgs {
  Team team;
  u64 from[MAX_RANKS];  // address of the first element on each rank
  u64 to[MAX_RANKS];    // address of the first element of each output
  u64 outputs;
  u64 count;     // elements
  u64 head;      // elements before the first whole vector of 16 bytes; `count` where there is none
  u64 entangled; // whether the output is an input that others read
  u64 released;  // whether others read what this rank wrote
  Rule rule;
};
static_assert(sizeof(ReduceArgs) == 608, "as in src/ffi/kernels/collective.rs");

struct PacketReduceArgs {
  Team team;
  u64 from;    // address of the part of rank 0
  u64 stride;  // bytes from one rank's part to the next; 0 where all get the same
  u64 to;
  u64 bytes;   // of a part
  u64 each;    // units of 8 bytes of a block
  Rule rule;
};
static_assert(sizeof(PacketReduceArgs) == 352, "as in src/ffi/kernels/collective.rs");

struct TwoShotArgs {
  Team team;
  u64 from;
  u64 to;
  u64 bytes;
  u64 part;  // units of 8 bytes of each rank's part but the last
  u64 each;  // units of a part of a block
  Rule rule;
};
static_assert(sizeof(TwoShotArgs) == 352, "as in src/ffi/kernels/collective.rs");

typedef Element::Bits Bits;
typedef Element::Sum Sum;

#define BITS (8 * (int)sizeof(Bits))

// Some elements of one rank, or their reduction so far.
template <int N>
struct Several {
  Sum sums[N];

  DEVICE_METHOD void combine(const Rule& rule, bool is_first, u64 source, const Bits* bits) {
    Sum x[N];
    UNROLL for (int e = 0; e < N; e++) x[e] = Element::decode(bits[e]);
    if (rule.op == OP_MULSUM) {
      const Sum scale = Element::decode((Bits)rule.scales[source]);
      UNROLL for (int e = 0; e < N; e++) x[e] = Element::times(x[e], scale);
    }
    if (is_first) {
      UNROLL for (int e = 0; e < N; e++) sums[e] = x[e];
      return;
    }
    switch (rule.op) {
      case OP_PROD:
        UNROLL for (int e = 0; e < N; e++) sums[e] = Element::times(sums[e], x[e]);
        break;
      case OP_MIN:
        UNROLL for (int e = 0; e < N; e++) sums[e] = Element::less(x[e], sums[e], rule.flip) ? x[e] : sums[e];
        break;
      case OP_MAX:
        UNROLL for (int e = 0; e < N; e++) sums[e] = Element::less(sums[e], x[e], rule.flip) ? x[e] : sums[e];
        break;
      default:
        UNROLL for (int e = 0; e < N; e++) sums[e] = Element::plus(sums[e], x[e]);
    }
  }

  DEVICE_METHOD Bits result(const Rule& rule, int e) const {
    return Element::encode(rule.op == OP_AVG ? Element::average(sums[e], rule.divisor, rule.flip) : sums[e]);
  }
};

// Elements of a 64-bit word.
#define WORD (64 / BITS)

DEVICE void unpack(u64 word, Bits* bits) {
  UNROLL for (int e = 0; e < WORD; e++) bits[e] = (Bits)(word >> (e * BITS % 64));
}

template <int N>
DEVICE u64 pack(const Rule& rule, const Several<N>& several, int first) {
  u64 word = 0;
  UNROLL for (int e = 0; e < WORD; e++) word |= (u64)several.result(rule, first + e) << (e * BITS % 64);
  return word;
}

// ---------------------------------------------------------------------------------------------
// By reading from all ranks: all-reduce in one shot (all elements, one output), in two (this rank's
// elements, everybody's output), reduce-scatter (this rank's elements, one output).

// The barrier between reading and writing where the output is an input that others read: what they
// write must wait until everybody has read it.
DEVICE void disentangle(const ReduceArgs& args, u32* tick) {
  if (!args.entangled) return;
  *tick = after(*tick);
  // Released, because what was read has not been used for a store yet that would wait for it.
  arrive(args.team, *tick, true);
  await(args.team, *tick, PHASE_HALFWAY);
}

// Whole vectors from element `head` on; loads of P ranks and several vectors are in flight at once.
template <int P>
DEVICE void reduce_vectors(const ReduceArgs& args, u64 vectors, u32* tick) {
  constexpr int N = 2 * WORD;
  constexpr int WIDE = 8 / P < 16 / N ? 8 / P : 16 / N;
  constexpr int U = WIDE < 1 ? 1 : WIDE;
  const u64 start = args.head * sizeof(Bits), stride = (u64)gridDim.x * blockDim.x * U;
  for (u64 tile = (u64)blockIdx.x * blockDim.x * U; tile < vectors; tile += stride) {
    Several<N> acc[U];
    ROLLED for (u64 first = 0; first < args.team.world; first += P) {
      u64 a[P][U], b[P][U];
      UNROLL for (int p = 0; p < P; p++) {
        UNROLL for (int u = 0; u < U; u++) {
          const u64 v = tile + (u64)u * blockDim.x + threadIdx.x;
          a[p][u] = b[p][u] = 0;
          if (first + p < args.team.world && v < vectors)
            load_far(args.from[first + p] + start + 16 * v, &a[p][u], &b[p][u]);
        }
      }
      UNROLL for (int p = 0; p < P; p++) {
        if (first + p >= args.team.world) continue;
        UNROLL for (int u = 0; u < U; u++) {
          Bits bits[N];
          unpack(a[p][u], bits);
          unpack(b[p][u], bits + WORD);
          acc[u].combine(args.rule, p == 0 && first == 0, first + p, bits);
        }
      }
    }
    disentangle(args, tick);
    UNROLL for (int u = 0; u < U; u++) {
      const u64 v = tile + (u64)u * blockDim.x + threadIdx.x;
      if (v >= vectors) continue;
      const u64 low = pack(args.rule, acc[u], 0), high = pack(args.rule, acc[u], WORD);
      ROLLED for (u64 output = 0; output < args.outputs; output++)
        store_far(args.to[output] + start + 16 * v, low, high);
    }
  }
}

// What is no whole vector: the elements before `head` and from `behind` on.
DEVICE void reduce_edges(const ReduceArgs& args, u64 behind, u32* tick) {
  const u64 edges = args.head + (args.count - behind), stride = (u64)gridDim.x * blockDim.x;
  for (u64 tile = (u64)blockIdx.x * blockDim.x; tile < edges; tile += stride) {
    const u64 edge = tile + threadIdx.x;
    const u64 at = (edge < args.head ? edge : edge - args.head + behind) * sizeof(Bits);
    Several<1> acc;
    ROLLED for (u64 first = 0; first < args.team.world; first += 4) {
      Bits bits[4];
      UNROLL for (int p = 0; p < 4; p++) {
        bits[p] = 0;
        if (first + p < args.team.world && edge < edges) bits[p] = load_far_as<Bits>(args.from[first + p] + at);
      }
      UNROLL for (int p = 0; p < 4; p++) {
        if (first + p < args.team.world) acc.combine(args.rule, p == 0 && first == 0, first + p, &bits[p]);
      }
    }
    disentangle(args, tick);
    if (edge >= edges) continue;
    const Bits bits = acc.result(args.rule, 0);
    ROLLED for (u64 output = 0; output < args.outputs; output++) *(Bits*)(args.to[output] + at) = bits;
  }
}

// Any grid up to MAX_BLOCKS, the same on all ranks.
COLLECTIVE void reduce(const ReduceArgs args) {
  IN_ORDER();
  u32 tick = after(read_tick(args.team));
  arrive(args.team, tick, false);
  await(args.team, tick, PHASE_ENTRY);
  const u64 vectors = (args.count - args.head) * sizeof(Bits) / 16;
  if (vectors != 0) {
    // Twice as much in flight for sixteen elements in a vector costs more registers than there are.
    if (args.team.world <= 4 || BITS == 8) {
      reduce_vectors<4>(args, vectors, &tick);
    } else {
      reduce_vectors<BITS == 8 ? 4 : 8>(args, vectors, &tick);
    }
  }
  reduce_edges(args, args.head + vectors * 16 / sizeof(Bits), &tick);
  // Where the output is an input, everybody had read it before it was written.
  if (!args.entangled) {
    tick = after(tick);
    arrive(args.team, tick, args.released);
    await(args.team, tick, PHASE_EXIT);
  }
  keep_tick(args.team, tick);
}

// ---------------------------------------------------------------------------------------------
// By packets

// Reduces one unit: own data and a packet of everybody else.
DEVICE u64 reduce_unit(const Team& team, const Rule& rule, u64 own, u64 offset, u32 tick) {
  Several<WORD> acc;
  Bits bits[WORD];
  receive_from_all(
      team, offset, tick, PHASE_DATA,
      [&](u64 source, u64 unit) {
        unpack(unit, bits);
        acc.combine(rule, source == 0, source, bits);
      },
      [&](u64 source) {
        unpack(own, bits);
        acc.combine(rule, source == 0, source, bits);
      });
  return pack(rule, acc, 0);
}

// All-reduce in one shot (stride 0) and reduce-scatter. Any grid with `each` units of work for a
// block, at most SLOT_PACKETS of them.
COLLECTIVE void reduce_packets(const PacketReduceArgs args) {
  IN_ORDER();
  const u32 tick = after(read_tick(args.team));
  const u64 me = args.team.rank, world = args.team.world;
  u64 begin, end;
  share_of((args.bytes + 7) / 8, args.each, blockIdx.x, &begin, &end);
  // Few units are sent by a thread for each other rank, many by one for all.
  if (args.stride || (end - begin) * (world - 1) <= blockDim.x) {
    send_to_all(args.team, args.from, args.stride, args.bytes, begin, end, tick);
    // In place a thread writes below what others may still be about to send.
    SYNC();
  } else {
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const u64 unit = load_unit(args.from, args.bytes, i);
      ROLLED for (u64 k = 1; k < world; k++) {
        const u64 peer = me + k < world ? me + k : me + k - world;
        send_packet(slot_at(args.team, peer, me, tick) + 16 * (i - begin), unit, tick);
      }
    }
  }
  for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const u64 own = load_unit(args.from + me * args.stride, args.bytes, i);
    store_unit(args.to, args.bytes, i, reduce_unit(args.team, args.rule, own, 16 * (i - begin), tick));
  }
  keep_tick(args.team, tick);
}

// All-reduce in two shots: each rank reduces its part of the elements and sends the result to all.
// Parts are `part` units long; of each a block has `each`, at most SLOT_PACKETS / 2. Results have
// the second half of the slots.
COLLECTIVE void reduce_packets_twice(const TwoShotArgs args) {
  IN_ORDER();
  const u32 tick = after(read_tick(args.team));
  const u64 me = args.team.rank, world = args.team.world, units = (args.bytes + 7) / 8;
  u64 begin, end;
  share_of(args.part, args.each, blockIdx.x, &begin, &end);
  for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    ROLLED for (u64 k = 1; k < world; k++) {
      const u64 peer = me + k < world ? me + k : me + k - world;
      const u64 unit = peer * args.part + i;
      if (unit < units)
        send_packet(slot_at(args.team, peer, me, tick) + 16 * (i - begin), load_unit(args.from, args.bytes, unit), tick);
    }
  }
  const u64 results = 16 * (SLOT_PACKETS / 2);
  for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const u64 unit = me * args.part + i;
    if (unit >= units) break;
    const u64 own = load_unit(args.from, args.bytes, unit);
    const u64 result = reduce_unit(args.team, args.rule, own, 16 * (i - begin), tick);
    ROLLED for (u64 k = 1; k < world; k++) {
      const u64 peer = me + k < world ? me + k : me + k - world;
      send_packet(slot_at(args.team, peer, me, tick) + results + 16 * (i - begin), result, tick);
    }
    store_unit(args.to, args.bytes, unit, result);
  }
  for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    ROLLED for (u64 k = 1; k < world; k++) {
      const u64 source = me + k < world ? me + k : me + k - world;
      const u64 unit = source * args.part + i;
      if (unit >= units) continue;
      const u64 slot = slot_at(args.team, me, source, tick) + results + 16 * (i - begin);
      store_unit(args.to, args.bytes, unit, receive_packet(args.team, slot, tick, PHASE_RESULT, source));
    }
  }
  keep_tick(args.team, tick);
}
