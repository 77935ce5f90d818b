// Classes of elements: their bits, what they are added up as, and the operators on that.
//
// The same results as src/base/arith.rs but for when it rounds: there after every step, here once.
#pragma once
#include "comm.h"

#ifdef __CUDACC__
// Products that are never fused with an addition, whatever the compiler's options.
DEVICE float product(float a, float b) { return __fmul_rn(a, b); }
DEVICE double product(double a, double b) { return __dmul_rn(a, b); }
DEVICE float float_of(u32 bits) { return __int_as_float((int)bits); }
DEVICE u32 bits_of(float value) { return (u32)__float_as_int(value); }
DEVICE double double_of(u64 bits) { return __longlong_as_double((long long)bits); }
DEVICE u64 bits_of(double value) { return (u64)__double_as_longlong(value); }
DEVICE float decode_half(u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
DEVICE u16 encode_half(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#else
DEVICE float product(float a, float b) { return a * b; }
DEVICE double product(double a, double b) { return a * b; }
DEVICE float float_of(u32 bits) { return __builtin_bit_cast(float, bits); }
DEVICE u32 bits_of(float value) { return __builtin_bit_cast(u32, value); }
DEVICE double double_of(u64 bits) { return __builtin_bit_cast(double, bits); }
DEVICE u64 bits_of(double value) { return __builtin_bit_cast(u64, value); }
DEVICE float decode_half(u16 bits) { return (float)__builtin_bit_cast(_Float16, bits); }
DEVICE u16 encode_half(float value) { return __builtin_bit_cast(u16, (_Float16)value); }
#endif

// Integers, signed and unsigned alike: their bits wrap, and `flip` tells the two orders apart. Sums
// are sign-extended; the order of sign-extended numbers is that of the narrow ones, both ways.
template <class B, class Narrow, class S, class Signed>
struct Integer {
  typedef B Bits;
  typedef S Sum;
  static DEVICE_METHOD Sum decode(Bits bits) { return (Sum)(Signed)(Narrow)bits; }
  static DEVICE_METHOD Bits encode(Sum sum) { return (Bits)sum; }
  static DEVICE_METHOD Sum plus(Sum a, Sum b) { return a + b; }
  static DEVICE_METHOD Sum times(Sum a, Sum b) { return a * b; }
  static DEVICE_METHOD bool less(Sum a, Sum b, u64 flip) {
    return (Signed)(a ^ (Sum)flip) < (Signed)(b ^ (Sum)flip);
  }
  // Of the wrapped sum, towards zero.
  static DEVICE_METHOD Sum average(Sum sum, u64 ranks, u64 flip) {
    if (flip) return (Sum)(Bits)sum / (Sum)ranks;
    return (Sum)((Signed)(Narrow)(Bits)sum / (Signed)ranks);
  }
};

typedef Integer<u8, signed char, u32, int> Int8;
typedef Integer<u32, int, u32, int> Int32;
typedef Integer<u64, long long, u64, long long> Int64;

// What floats that are added up as binary32 have in common.
struct Single {
  typedef float Sum;
  static DEVICE_METHOD Sum plus(Sum a, Sum b) { return a + b; }
  static DEVICE_METHOD Sum times(Sum a, Sum b) { return product(a, b); }
  static DEVICE_METHOD bool less(Sum a, Sum b, u64) { return a < b; }
  static DEVICE_METHOD Sum average(Sum sum, u64 reciprocal, u64) {
    return product(sum, float_of((u32)reciprocal));
  }
};

struct Float : Single {
  typedef u32 Bits;
  static DEVICE_METHOD Sum decode(Bits bits) { return float_of(bits); }
  static DEVICE_METHOD Bits encode(Sum sum) { return bits_of(sum); }
};

struct Half : Single {
  typedef u16 Bits;
  static DEVICE_METHOD Sum decode(Bits bits) { return decode_half(bits); }
  static DEVICE_METHOD Bits encode(Sum sum) { return encode_half(sum); }
};

struct Bfloat16 : Single {
  typedef u16 Bits;
  static DEVICE_METHOD Sum decode(Bits bits) { return float_of((u32)bits << 16); }
  // To nearest, ties to even; a NaN stays one.
  static DEVICE_METHOD Bits encode(Sum sum) {
    const u32 bits = bits_of(sum);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (Bits)(bits >> 16 | 0x40);
    return (Bits)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

// 8-bit floats, as src/base/float8.rs has them.
template <u32 MANTISSA, u32 BIAS, u32 LARGEST>
struct Float8 : Single {
  typedef u8 Bits;
  static DEVICE_METHOD Sum decode(Bits bits) {
    const u32 sign = (u32)(bits >> 7) << 31, magnitude = bits & 0x7f;
    // Shifted into place, the exponent is off by the difference of the biases; a product by a power
    // of two corrects it and makes subnormals right as well.
    const float value = product(float_of(magnitude << (23 - MANTISSA)), float_of((254 - BIAS) << 23));
    u32 known = bits_of(value);
    if (magnitude > LARGEST) known = MANTISSA == 2 && magnitude == 0x7c ? 0x7f800000u : 0x7fc00000u;
    return float_of(known | sign);
  }
  // To nearest, ties to even, what is too large to the largest.
  static DEVICE_METHOD Bits encode(Sum sum) {
    const u32 all = bits_of(sum), sign = all >> 24 & 0x80, bits = all & 0x7fffffffu;
    const u32 drop = 23 - MANTISSA, rebias = (127 - BIAS) << 23;
    const u32 most = (((LARGEST >> MANTISSA) + 127 - BIAS) << 23) | ((LARGEST & ((1u << MANTISSA) - 1)) << drop);
    u32 code;
    if (bits > 0x7f800000u) {
      code = 0x7f;
    } else if (bits >= most) {
      code = LARGEST;
    } else if (bits < rebias + (1u << 23)) {
      // Subnormal here: adding 2^(23 + its unit's exponent) rounds to that unit, and the low bits of
      // the sum are the result.
      const float unit = float_of((127 - BIAS + 1 + drop) << 23);
      code = bits_of(float_of(bits) + unit) - bits_of(unit);
    } else {
      code = (bits - rebias + (1u << (drop - 1)) - 1 + (bits >> drop & 1)) >> drop;
    }
    return (Bits)(code | sign);
  }
};

typedef Float8<3, 7, 0x7e> F8e4m3;
typedef Float8<2, 15, 0x7b> F8e5m2;

struct Double {
  typedef u64 Bits;
  typedef double Sum;
  static DEVICE_METHOD Sum decode(Bits bits) { return double_of(bits); }
  static DEVICE_METHOD Bits encode(Sum sum) { return bits_of(sum); }
  static DEVICE_METHOD Sum plus(Sum a, Sum b) { return a + b; }
  static DEVICE_METHOD Sum times(Sum a, Sum b) { return product(a, b); }
  static DEVICE_METHOD bool less(Sum a, Sum b, u64) { return a < b; }
  static DEVICE_METHOD Sum average(Sum sum, u64 reciprocal, u64) {
    return product(sum, double_of(reciprocal));
  }
};
