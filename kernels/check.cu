// Fill, poison and verify: the pattern of gen.h in device memory.
//
// Buffers are element-aligned; whole 16-byte vectors of the pattern are used where they are whole
// vectors of memory too, single elements elsewhere. No shared memory and nothing between threads but
// atomics, so that a host compiler can run the same code one thread after the other.
#include "gen.h"

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ __launch_bounds__(256)
DEVICE void atomic_add(u64* to, u64 n) { atomicAdd(to, n); }
DEVICE void atomic_max(u64* to, u64 n) { atomicMax(to, n); }
DEVICE u64 read_again(const u64* from) { return *(const volatile u64*)from; }
DEVICE void load_vector(u64 from, u64* a, u64* b) {
  asm volatile("ld.global.cs.v2.u64 {%0, %1}, [%2];" : "=l"(*a), "=l"(*b) : "l"(from));
}
DEVICE void store_vector(u64 to, u64 a, u64 b) {
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b) : "memory");
}
#endif

// How many wrong elements are listed.
#define LISTED 16

// What a check leaves in device memory. All zero before it.
struct Result {
  u64 wrong;
  // Inverted index in the output of the k-th wrong element, so that 0 is none and a maximum finds
  // the first.
  u64 inverted[LISTED];
  // Its bits.
  u64 got[LISTED];
};
static_assert(sizeof(Result) == 264, "as in src/ffi/kernels/args.rs");

struct PlainFillArgs {
  u64 to;     // address of the first element
  u64 count;  // elements
  u64 at;     // index of the first element in the pattern
  Plain plain;
};
static_assert(sizeof(PlainFillArgs) == 88, "as in src/ffi/kernels/args.rs");

struct InputFillArgs {
  u64 to;
  u64 count;
  u64 at;
  Input input;
};
static_assert(sizeof(InputFillArgs) == 216, "as in src/ffi/kernels/args.rs");

struct VerifyArgs {
  u64 got;        // address of the first element of the first part
  u64 len;        // elements in a part
  u64 parts;      // parts, one behind the other
  u64 at;         // index of each part's first element in its row
  u64 first;      // index in the output of the first part's first element
  u64 rows;       // the seed, where each part has a rank's row
  u64 rank;       // rank of the first part; the next part's is one more
  u64 ranked;     // whether each part has a rank's row; else all have plain.key
  u64 tolerance;  // how far an element's bits may be off
  u64 result;     // address of a Result
  u64 slot;       // which wrong element to look for (list only)
  Plain plain;
};
static_assert(sizeof(VerifyArgs) == 152, "as in src/ffi/kernels/args.rs");

struct GatherArgs {
  u64 got;     // address of element 0 of the output
  u64 bytes;   // bytes of an element
  u64 result;  // address of a Result
};
static_assert(sizeof(GatherArgs) == 24, "as in src/ffi/kernels/args.rs");

// The binary logarithm of an element's size.
DEVICE u32 shift_of(u64 bytes) { return bytes == 8 ? 3 : (u32)bytes >> 1; }

DEVICE u64 load_element(u64 from, u64 bytes) {
  switch (bytes) {
    case 1: return *(const u8*)from;
    case 2: return *(const u16*)from;
    case 4: return *(const u32*)from;
    default: return *(const u64*)from;
  }
}

DEVICE void store_element(u64 to, u64 bytes, u64 value) {
  switch (bytes) {
    case 1: *(u8*)to = (u8)value; break;
    case 2: *(u16*)to = (u16)value; break;
    case 4: *(u32*)to = (u32)value; break;
    default: *(u64*)to = value;
  }
}

// Where a run of elements lies. Positions are in bytes of the pattern.
struct Run {
  u64 from;    // position of the first element
  u64 end;     // position behind the last
  u64 origin;  // address of position 0
  u64 first_vector;  // whole vectors, by number; none where memory and pattern are not aligned alike
  u64 end_vector;
};

DEVICE Run run_of(u64 address, u64 count, u64 at, u64 bytes) {
  Run run;
  run.from = at * bytes;
  run.end = run.from + count * bytes;
  run.origin = address - run.from;
  run.first_vector = (run.from + 15) / 16;
  run.end_vector = run.end / 16;
  if (run.origin % 16 != 0 || run.first_vector >= run.end_vector) {
    run.first_vector = run.end_vector = run.end / 16 + 1;
  }
  return run;
}

// The positions before (side 0) and behind (side 1) the whole vectors.
DEVICE void edge_of(const Run& run, int side, u64* from, u64* end) {
  u64 before = run.first_vector * 16 < run.end ? run.first_vector * 16 : run.end;
  u64 behind = run.end_vector * 16 < run.end ? run.end_vector * 16 : run.end;
  *from = side == 1 ? behind : run.from;
  *end = side == 0 ? before : run.end;
}

// Writes `count` elements. Any grid of one dimension. Host twin: `fill_bytes`.
template <class Words>
DEVICE void fill(u64 to, u64 count, u64 at, u64 bits, Words words) {
  const u64 bytes = bits / 8;
  const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  const u64 threads = (u64)gridDim.x * blockDim.x;
  const Run run = run_of(to, count, at, bytes);
  for (u64 v = run.first_vector + thread; v < run.end_vector; v += threads) {
    store_vector(run.origin + 16 * v, words(2 * v), words(2 * v + 1));
  }
  ROLLED for (int side = 0; side < 2; side++) {
    u64 from, end;
    edge_of(run, side, &from, &end);
    ROLLED for (u64 w = from / 8 + thread; w * 8 < end; w += threads) {
      u64 word = words(w);
      ROLLED for (u64 position = w * 8; position < w * 8 + 8; position += bytes, word >>= bits % 64) {
        if (position >= from && position < end) store_element(run.origin + position, bytes, word);
      }
    }
  }
}

// One entry point for each shape of word; `ARGS`.to, count, at say where.
#define FILL(NAME, ARGS, SOURCE, BITS, WORD)                              \
  struct NAME##_words {                                                   \
    const ARGS& args;                                                     \
    DEVICE_METHOD u64 operator()(u64 w) const { return WORD(args.SOURCE, w); } \
  };                                                                      \
  KERNEL void NAME(const ARGS args) {                                     \
    fill(args.to, args.count, args.at, BITS, NAME##_words{args});         \
  }

#ifdef __CUDACC__
#define DEVICE_METHOD __device__ __forceinline__
#else
#define DEVICE_METHOD inline
#endif

FILL(fill_plain, PlainFillArgs, plain, args.plain.bits, raw_word)
FILL(fill_integer_sum_8, InputFillArgs, input, 8, integer_sum_word<8>)
FILL(fill_integer_sum_32, InputFillArgs, input, 32, integer_sum_word<32>)
FILL(fill_integer_sum_64, InputFillArgs, input, 64, integer_sum_word<64>)
#define PRODUCT_8 integer_product_word<8, u32>
#define PRODUCT_32 integer_product_word<32, u32>
#define PRODUCT_64 integer_product_word<64, u64>
FILL(fill_integer_product_8, InputFillArgs, input, 8, PRODUCT_8)
FILL(fill_integer_product_32, InputFillArgs, input, 32, PRODUCT_32)
FILL(fill_integer_product_64, InputFillArgs, input, 64, PRODUCT_64)
FILL(fill_float_sum_8, InputFillArgs, input, 8, float_sum_word<8>)
FILL(fill_float_sum_16, InputFillArgs, input, 16, float_sum_word<16>)
FILL(fill_float_sum_32, InputFillArgs, input, 32, float_sum_word<32>)
FILL(fill_float_sum_64, InputFillArgs, input, 64, double_sum_word)
FILL(fill_float_product, InputFillArgs, input, args.input.result.bits, float_product_word)
FILL(fill_extreme, InputFillArgs, input, args.input.result.bits, extreme_word)
FILL(fill_carrier, InputFillArgs, input, args.input.result.bits, carrier_word)

// What one thread found.
struct Found {
  u64 wrong;
  u64 inverted;  // of its first; its indices ascend within a part
};

// Compares the elements of word `w` that lie at positions from `from` up to `end`.
DEVICE void check_word(const VerifyArgs& args, const Plain& plain, const Run& run, u64 first, u64 w,
                       u64 from, u64 end, Found* found) {
  const u64 bytes = args.plain.bits / 8;
  const u64 full = ~0ull >> (64 - args.plain.bits);
  u64 word = plain_word(plain, w);
  ROLLED for (u64 position = w * 8; position < w * 8 + 8; position += bytes, word >>= args.plain.bits % 64) {
    if (position < from || position >= end) continue;
    u64 got = load_element(run.origin + position, bytes);
    u64 expected = word & full;
    u64 apart = got > expected ? got - expected : expected - got;
    if (apart <= args.tolerance) continue;
    u64 inverted = ~(first + ((position - run.from) >> shift_of(bytes)));
    found->wrong += 1;
    if (inverted > found->inverted) found->inverted = inverted;
  }
}

// The words of one part.
DEVICE Plain part_plain(const VerifyArgs& args, u64 part) {
  Plain plain = args.plain;
  if (args.ranked) plain.key = row_key(args.rows, args.rank + part);
  return plain;
}

DEVICE Run part_run(const VerifyArgs& args, u64 part) {
  const u64 bytes = args.plain.bits / 8;
  return run_of(args.got + part * args.len * bytes, args.len, args.at, bytes);
}

// The bits in which a thread's vectors differ from what they should be: four loads in flight, every
// vector a block further on.
DEVICE u64 scan(const Plain& plain, const Run& run, u64 mine, u64 threads) {
  const u64 block = blockDim.x;
  u64 difference = 0;
  for (u64 v = mine; v < run.end_vector; v += 4 * threads) {
    u64 a[4], b[4];
    UNROLL for (int k = 0; k < 4; k++) load_vector(run.origin + 16 * (v + k * block), a + k, b + k);
    // Branching here rather than in each word also keeps the assembler from moving the loads down
    // to their uses.
    if (plain.signs == 0) {
      UNROLL for (int k = 0; k < 4; k++) {
        difference |= a[k] ^ raw_word(plain, 2 * (v + k * block));
        difference |= b[k] ^ raw_word(plain, 2 * (v + k * block) + 1);
      }
    } else {
      UNROLL for (int k = 0; k < 4; k++) {
        difference |= a[k] ^ plain_word(plain, 2 * (v + k * block));
        difference |= b[k] ^ plain_word(plain, 2 * (v + k * block) + 1);
      }
    }
  }
  return difference;
}

// Counts the wrong elements and finds the first. Grid: x over a part's elements, y over parts; blocks
// of any size. `got` holds `parts * len` elements, `result` a Result. Host twin: `verify_bytes`.
KERNEL void verify(const VerifyArgs args) {
  const u64 block = blockDim.x;
  const u64 thread = (u64)blockIdx.x * block + threadIdx.x;
  const u64 threads = (u64)gridDim.x * block;
  Found found = {0, 0};
  for (u64 part = blockIdx.y; part < args.parts; part += gridDim.y) {
    const Plain plain = part_plain(args, part);
    Run run = part_run(args, part);
    // What is not a whole tile of four vectors for each thread goes by elements.
    run.end_vector -= (run.end_vector - run.first_vector) % (4 * block);
    const u64 mine = run.first_vector + blockIdx.x * 4 * block + threadIdx.x;
    const u64 difference = scan(plain, run, mine, threads);
    // The two edges, and if something is wrong this thread's vectors once more, element by element.
    const int spans = difference != 0 ? 3 : 2;
    ROLLED for (int span = 0; span < spans; span++) {
      u64 from, end;
      edge_of(run, span, &from, &end);
      if (span == 2) end = run.end_vector * 16;
      ROLLED for (u64 i = 0;; i++) {
        u64 w = from / 8 + thread + i * threads;
        if (span == 2) w = 2 * (mine + (i >> 3) * 4 * threads + (i >> 1 & 3) * block) + (i & 1);
        if (w * 8 >= end) break;
        check_word(args, plain, run, args.first + part * args.len, w, from, end, &found);
      }
    }
  }
  // A thread adds its own count up first, so that one atomic for each thread is all there is even
  // where everything is wrong.
  if (found.wrong != 0) {
    Result* result = (Result*)args.result;
    atomic_add(&result->wrong, found.wrong);
    atomic_max(&result->inverted[0], found.inverted);
  }
}

// Finds the wrong element number `slot`, the one before being known: the first behind that one.
// Same grid as verify. Run only where something is wrong.
KERNEL void list(const VerifyArgs args) {
  Result* result = (Result*)args.result;
  const u64 before = read_again(&result->inverted[args.slot - 1]);
  if (before == 0) return;
  const u64 floor = ~before + 1;
  const u64 bytes = args.plain.bits / 8;
  const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  const u64 threads = (u64)gridDim.x * blockDim.x;
  for (u64 part = blockIdx.y; part < args.parts; part += gridDim.y) {
    const u64 first = args.first + part * args.len;
    if (first + args.len <= floor) continue;
    const Plain plain = part_plain(args, part);
    const Run run = part_run(args, part);
    const u64 from = floor > first ? run.from + (floor - first) * bytes : run.from;
    ROLLED for (u64 w = from / 8 + thread; w * 8 < run.end; w += threads) {
      // Nothing behind what another thread has found matters.
      u64 best = ~read_again(&result->inverted[args.slot]);
      if (w * 8 > run.from && first + ((w * 8 - run.from) >> shift_of(bytes)) > best) break;
      Found found = {0, 0};
      check_word(args, plain, run, first, w, from, run.end, &found);
      if (found.wrong != 0) {
        atomic_max(&result->inverted[args.slot], found.inverted);
        break;
      }
    }
  }
}

// Copies the bits of the listed elements into the result. One block of at least LISTED threads.
KERNEL void gather(const GatherArgs args) {
  Result* result = (Result*)args.result;
  if (threadIdx.x >= LISTED || blockIdx.x != 0) return;
  const u64 inverted = result->inverted[threadIdx.x];
  if (inverted == 0) return;
  result->got[threadIdx.x] = load_element(args.got + ~inverted * args.bytes, args.bytes);
}
