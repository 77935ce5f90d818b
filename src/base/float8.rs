//! The two 8-bit floating-point types as bits: to and from binary32.
//!
//! Encoding rounds to nearest, ties to even, and saturates to the largest finite value, as the
//! conversions that NCCL uses do (`__NV_SATFINITE`).

/// How the 8 bits are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Stored significand bits.
    mantissa: u32,
    /// What is subtracted from the stored exponent.
    bias: u32,
    /// Bits of the largest finite value.
    largest: u8,
}

/// OCP E4M3: no infinities, one NaN of each sign, largest value 448.
pub const E4M3: Layout = Layout {
    mantissa: 3,
    bias: 7,
    largest: 0x7E,
};

/// OCP E5M2: like a binary16 cut in half, largest value 57344.
pub const E5M2: Layout = Layout {
    mantissa: 2,
    bias: 15,
    largest: 0x7B,
};

impl Layout {
    /// The value of `bits`.
    ///
    /// # Source
    /// OCP 8-bit Floating Point Specification, revision 1.0, table 1.
    #[inline]
    pub fn decode(self, bits: u8) -> f32 {
        let sign = u32::from(bits >> 7) << 31;
        let magnitude = u32::from(bits & 0x7F);
        // Shifted into place, the exponent is off by the difference of the biases; a product by a
        // power of two corrects it and makes subnormals right as well.
        let placed = f32::from_bits(magnitude << (23 - self.mantissa));
        let value = placed * f32::from_bits((254 - self.bias) << 23);
        let special = magnitude > u32::from(self.largest);
        let infinite = self.mantissa == 2 && magnitude == 0x7C;
        let value = match (special, infinite) {
            (true, true) => f32::INFINITY,
            (true, false) => f32::NAN,
            _ => value,
        };
        f32::from_bits(value.to_bits() | sign)
    }

    /// The nearest representable value's bits; NaN becomes NaN, what is too large the largest.
    ///
    /// # Source
    /// CUDA Math API, `__nv_cvt_float_to_fp8` with `__NV_SATFINITE`.
    #[inline]
    pub fn encode(self, value: f32) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        let bits = if value.is_nan() {
            0x7F
        } else if magnitude >= self.decode(self.largest) {
            u32::from(self.largest)
        } else {
            self.round(magnitude)
        };
        #[expect(clippy::cast_possible_truncation, reason = "7 bits and a sign")]
        let byte = (bits | sign) as u8;
        byte
    }

    /// Rounds a finite magnitude that is not above the largest.
    #[inline]
    fn round(self, magnitude: f32) -> u32 {
        let drop = 23 - self.mantissa;
        let rebias = (127 - self.bias) << 23;
        let bits = magnitude.to_bits();
        if bits < rebias + (1 << 23) {
            // Subnormal in the target: adding 2^(23 + its unit's exponent) makes the processor round
            // to that unit, and the low bits of the sum are the result.
            let unit = f32::from_bits((127 - self.bias + 1 + drop) << 23);
            return (magnitude + unit).to_bits() - unit.to_bits();
        }
        let odd = (bits >> drop) & 1;
        (bits - rebias + (1 << (drop - 1)) - 1 + odd) >> drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_code_survives_the_way_there_and_back() {
        for layout in [E4M3, E5M2] {
            for bits in 0..=255u8 {
                let value = layout.decode(bits);
                if value.is_finite() {
                    assert_eq!(layout.encode(value), bits, "{layout:?} {bits:#04x}");
                }
            }
        }
    }

    #[test]
    fn known_values_have_the_bits_of_the_specification() {
        let e4m3 = [
            (448.0, 0x7E),
            (1.0, 0x38),
            (-2.0, 0xC0),
            (0.015_625, 0x08),
            (0.001_953_125, 0x01),
            (0.0, 0x00),
        ];
        for (value, bits) in e4m3 {
            assert_eq!(E4M3.encode(value), bits, "{value}");
        }
        let e5m2 = [
            (57344.0, 0x7B),
            (1.0, 0x3C),
            (-2.0, 0xC0),
            (2f32.powi(-16), 0x01),
        ];
        for (value, bits) in e5m2 {
            assert_eq!(E5M2.encode(value), bits, "{value}");
        }
        assert!(E4M3.decode(0x7F).is_nan() && E5M2.decode(0x7D).is_nan());
        assert!(E5M2.decode(0xFC).is_infinite());
    }

    #[test]
    fn rounding_is_to_the_nearest_and_ties_go_to_even() {
        for layout in [E4M3, E5M2] {
            for bits in 0..layout.largest {
                let (low, high) = (layout.decode(bits), layout.decode(bits + 1));
                let tie = low + (high - low) / 2.0;
                let even = if bits % 2 == 0 { bits } else { bits + 1 };
                assert_eq!(layout.encode(tie), even, "{layout:?} {bits}");
                assert_eq!(layout.encode(low + (high - low) * 0.25), bits);
                assert_eq!(layout.encode(low + (high - low) * 0.75), bits + 1);
            }
        }
    }

    #[test]
    fn what_is_too_large_saturates() {
        assert_eq!((E4M3.encode(1e9), E4M3.encode(-1e9)), (0x7E, 0xFE));
        assert_eq!(
            (E5M2.encode(f32::INFINITY), E5M2.encode(-1e9)),
            (0x7B, 0xFB)
        );
        assert!(E4M3.decode(E4M3.encode(f32::NAN)).is_nan());
    }
}
