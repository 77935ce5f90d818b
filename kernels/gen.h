// The data pattern for the GPU: the same words as src/base/pattern, function for function.
//
// Header-free, and a host compiler takes it as well as NVRTC: tests hold it against the Rust
// definition on the CPU. It knows no buffers; check.cu writes and compares them.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef __CUDACC__
#define DEVICE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#else
#define DEVICE static inline
#define UNROLL
#define ROLLED
#endif

// ---------------------------------------------------------------------------------------------
// Arguments: src/ffi/kernels/args.rs has the same structs. All fields are 64 bits wide, so that there
// is no padding to disagree about.

// The constants of a sequence of words made of one row (src/base/pattern/plain.rs).
struct Plain {
  u64 key;
  u64 mask;
  u64 base;
  u64 spread;
  u64 offset;
  u64 shift;
  u64 signs;
  u64 bits;
};
static_assert(sizeof(Plain) == 64, "as in src/ffi/kernels/args.rs");

// The constants of one rank's input (src/base/pattern/input.rs).
struct Input {
  Plain result;
  u64 own;
  u64 next;
  u64 select;
  u64 comb;
  u64 member;  // `class` in Rust, which is a keyword here
  u64 period;
  u64 field;
  u64 lift;
  u64 unit;
  u64 brings;
  u64 inverse;
  u64 divisor;
  u64 remainders;
  u64 larger;
  u64 magnitude;
  u64 drop;
};
static_assert(sizeof(Input) == 192, "as in src/ffi/kernels/args.rs");

// ---------------------------------------------------------------------------------------------
// Rows (src/base/pattern/hash.rs)

// MurmurHash3's fmix64.
DEVICE u64 mix(u64 x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDull;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53ull;
  return x ^ (x >> 33);
}

// Word `w` of the row with this key.
DEVICE u64 row_word(u64 key, u64 w) { return mix(key + w * 0x9E3779B97F4A7C15ull); }

// The key of a rank's row; `rows` stands for the seed.
DEVICE u64 row_key(u64 rows, u64 row) { return mix(rows + row * 0xD1B54A32D192ED03ull); }

// ---------------------------------------------------------------------------------------------
// Words of one row (src/base/pattern/plain.rs)

DEVICE u32 exponent_step(const Plain& p, u64 w) {
  return ((u32)w * 0x9E3779B9u + (u32)p.offset) >> (u32)p.shift;
}

// Without the inversion that `signs` asks for.
DEVICE u64 unsigned_word(const Plain& p, u64 w, u64 hash) {
  // In halves, because nothing carries from one into the other.
  u32 step = exponent_step(p, w);
  u32 low = ((u32)hash & (u32)p.mask) + (u32)p.base + step * (u32)p.spread;
  u32 high = ((u32)(hash >> 32) & (u32)(p.mask >> 32)) + (u32)(p.base >> 32) +
             step * (u32)(p.spread >> 32);
  return (u64)high << 32 | low;
}

DEVICE u64 plain_word(const Plain& p, u64 w) {
  u64 hash = row_word(p.key, w);
  u64 value = unsigned_word(p, w, hash);
  if (p.signs != 0) {
    u64 negative = (hash >> (p.bits - 1)) & p.signs;
    value ^= negative * (~0ull >> (64 - p.bits));
  }
  return value;
}

// Raw copies and poison, where `signs` is 0.
DEVICE u64 raw_word(const Plain& p, u64 w) { return unsigned_word(p, w, row_word(p.key, w)); }

// ---------------------------------------------------------------------------------------------
// Lanes (src/base/pattern/lanes.rs)

DEVICE u64 lane_full(u32 bits) { return ~0ull >> (64 - bits); }

DEVICE u64 lane_low(u32 bits) {
  return bits == 8    ? 0x0101010101010101ull
         : bits == 16 ? 0x0001000100010001ull
         : bits == 32 ? 0x0000000100000001ull
                      : 1ull;
}

DEVICE u64 lane_high(u32 bits) { return lane_low(bits) << (bits - 1); }

DEVICE u64 lane_add(u64 a, u64 b, u64 high) {
  return ((a & ~high) + (b & ~high)) ^ ((a ^ b) & high);
}

DEVICE u64 lane_sub(u64 a, u64 b, u64 high) {
  return ((a | high) - (b & ~high)) ^ ((a ^ ~b) & high);
}

DEVICE u64 rotate_right(u64 x, u32 n) { return n == 0 ? x : x >> n | x << (64 - n); }

DEVICE float as_float(u32 bits) {
  union {
    u32 bits;
    float value;
  } pun;
  pun.bits = bits;
  return pun.value;
}

DEVICE u32 float_bits(float value) {
  union {
    u32 bits;
    float value;
  } pun;
  pun.value = value;
  return pun.bits;
}

DEVICE double as_double(u64 bits) {
  union {
    u64 bits;
    double value;
  } pun;
  pun.bits = bits;
  return pun.value;
}

DEVICE u64 double_bits(double value) {
  union {
    u64 bits;
    double value;
  } pun;
  pun.value = value;
  return pun.bits;
}

// ---------------------------------------------------------------------------------------------
// One rank's input (src/base/pattern/input.rs)

// The lanes to which this rank contributes, full of ones.
DEVICE u64 picked(const Input& in, u64 w) {
  if (in.period == 1) return ~0ull;
  u64 first = ((row_word(in.select, w) >> 32) * in.period) >> 32;
  u64 ahead = in.member >= first ? in.member - first : in.member + in.period - first;
  u64 shift = ahead * in.result.bits;
  return shift < 64 ? in.comb << shift : 0;
}

// The sum that the integers of a word shall have.
template <u32 BITS>
DEVICE u64 integer_total(const Input& in, u64 w) {
  u64 result = plain_word(in.result, w);
  if (in.divisor == 0) return result;
  u64 noise = row_word(in.select, w);
  u64 total = 0;
  UNROLL for (u32 lane = 0; lane < 64 / BITS; lane++) {
    u64 quotient = (result >> (lane * BITS)) & lane_full(BITS);
    u64 draw = rotate_right(noise, lane * BITS) & 0xFFFFFFFFull;
    u64 rest = (draw * in.remainders) >> 32;
    bool negative = in.result.signs != 0 && quotient >> (BITS - 1) != 0;
    u64 product = quotient * in.divisor;
    u64 sum = negative ? product - rest : product + rest;
    total |= (sum & lane_full(BITS)) << (lane * BITS);
  }
  return total;
}

template <u32 BITS>
DEVICE u64 lane_times(u64 x, u64 factor) {
  if (BITS == 8) {
    const u64 kEven = 0x00FF00FF00FF00FFull;
    u64 even = ((x & kEven) * factor) & kEven;
    u64 odd = (((x >> 8) & kEven) * factor) & kEven;
    return even | odd << 8;
  }
  if (BITS == 32) {
    u32 low = (u32)x * (u32)factor;
    u32 high = (u32)(x >> 32) * (u32)factor;
    return (u64)high << 32 | low;
  }
  return x * factor;
}

template <u32 BITS>
DEVICE u64 integer_sum_word(const Input& in, u64 w) {
  const u64 high = lane_high(BITS);
  u64 x = lane_sub(row_word(in.own, w), row_word(in.next, w), high);
  if (in.brings) x = lane_add(x, integer_total<BITS>(in, w), high);
  return in.inverse == 1 ? x : lane_times<BITS>(x, in.inverse);
}

// The inverse of an odd number modulo 2^bits, by Newton's iteration.
template <class T>
DEVICE T inverse_of(T odd, u32 bits) {
  T x = (T)(odd * 3) ^ (T)2;
  UNROLL for (u32 correct = 5; correct < bits; correct *= 2) x = x * ((T)2 - odd * x);
  return x;
}

template <u32 BITS, class T>
DEVICE u64 integer_product_word(const Input& in, u64 w) {
  u64 own = row_word(in.own, w);
  u64 next = row_word(in.next, w);
  u64 result = in.brings ? plain_word(in.result, w) : lane_low(BITS);
  u64 x = 0;
  UNROLL for (u32 lane = 0; lane < 64 / BITS; lane++) {
    T factor = (T)((own >> (lane * BITS)) & lane_full(BITS)) | (T)1;
    T cancelled = inverse_of<T>((T)((next >> (lane * BITS)) & lane_full(BITS)) | (T)1, BITS);
    T product = factor * cancelled * (T)((result >> (lane * BITS)) & lane_full(BITS));
    x |= ((u64)product & lane_full(BITS)) << (lane * BITS);
  }
  return x;
}

// Elements of at most 32 bits, computed in binary32 with the element's own exponent bias. Nothing is
// rounded, so that a contraction to a fused multiplication and addition changes nothing.
template <u32 BITS>
DEVICE u64 float_sum_word(const Input& in, u64 w) {
  const u32 drop = (u32)in.drop;
  u64 own = row_word(in.own, w) & in.field;
  u64 next = row_word(in.next, w) & in.field;
  u64 result = in.brings ? plain_word(in.result, w) + in.lift : 0;
  float unit = as_float((u32)in.unit + (exponent_step(in.result, w) << 23));
  u64 x = 0;
  UNROLL for (u32 lane = 0; lane < 64 / BITS; lane++) {
    // 2^23 + n has n in its low bits, so that no integer is converted.
    float a = as_float(0x4B000000u | (u32)((own >> (lane * BITS)) & lane_full(BITS)));
    float b = as_float(0x4B000000u | (u32)((next >> (lane * BITS)) & lane_full(BITS)));
    float sum = (a - b) * unit;
    if (in.brings) {
      u32 brought = (u32)((result >> (lane * BITS)) & lane_full(BITS));
      u32 sign = brought >> (BITS - 1) << 31;
      sum += as_float((brought & (u32)(lane_full(BITS) >> 1)) << drop | sign);
    }
    u32 bits = float_bits(sum);
    u32 element = bits >> 31 << (BITS - 1) | (bits & 0x7FFFFFFFu) >> drop;
    x |= (u64)element << (lane * BITS);
  }
  return x & picked(in, w);
}

DEVICE u64 double_sum_word(const Input& in, u64 w) {
  double a = as_double(0x4330000000000000ull | (row_word(in.own, w) & in.field));
  double b = as_double(0x4330000000000000ull | (row_word(in.next, w) & in.field));
  double unit = as_double(in.unit + ((u64)exponent_step(in.result, w) << 52));
  double sum = (a - b) * unit;
  if (in.brings) sum += as_double(plain_word(in.result, w) + in.lift);
  return double_bits(sum) & picked(in, w);
}

DEVICE u64 float_product_word(const Input& in, u64 w) {
  u64 own = row_word(in.own, w);
  u64 next = row_word(in.next, w);
  u64 signs = lane_high((u32)in.result.bits);
  u64 result = in.brings ? plain_word(in.result, w) : in.unit;
  u64 x = (result & ~signs) + (own & in.field) - (next & in.field);
  x ^= (result ^ own ^ next) & signs;
  u64 mine = picked(in, w);
  return (x & mine) | (in.unit & ~mine);
}

DEVICE u64 extreme_word(const Input& in, u64 w) {
  u64 low = lane_low((u32)in.result.bits);
  u64 result = plain_word(in.result, w);
  u64 behind = ((row_word(in.own, w) & in.field) + low) & ~picked(in, w);
  u64 negative = ((result >> (in.result.bits - 1)) & low) * lane_full((u32)in.result.bits);
  u64 up = (negative & in.magnitude) ^ in.larger;
  return result + (behind & up) - (behind & ~up);
}

DEVICE u64 carrier_word(const Input& in, u64 w) {
  return (plain_word(in.result, w) + in.lift) & picked(in, w);
}
