//! Random numbers that follow from a seed, for resampling and permutations.
//!
//! Not for secrets, and not for the data pattern, which has a generator of its own.

/// A stream of random numbers.
///
/// # Source
/// xoshiro256++ 1.0 by Blackman and Vigna (public domain), its state filled by splitmix64 as they advise.
#[derive(Debug, Clone)]
pub struct Random([u64; 4]);

impl Random {
    /// The stream of a seed.
    pub fn seeded(seed: u64) -> Self {
        let mut state = seed;
        Self([(); 4].map(|()| splitmix64(&mut state)))
    }

    /// The stream of a seed and a name: things with different names are resampled independently.
    ///
    /// # Source
    /// The name is hashed by FNV-1a, 64 bits.
    pub fn named(seed: u64, name: &str) -> Self {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::seeded(seed ^ hash)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let bits = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        bits
    }

    /// A whole number from 0 up to `end`, without it; 0 where `end` is 0.
    ///
    /// The bias of at most `end` / 2⁶⁴ is left in.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the product's upper half is below `end`"
    )]
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number from 0 up to 1, without 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts `values` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // splitmix64 of 1234567, from the authors' test vectors
        let mut state = 1_234_567;
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([(); 3].map(|()| splitmix64(&mut state)), published);
        // xoshiro256++ of the state 1, 2, 3, 4, from the reference of the crate `rand_xoshiro`
        let mut random = Random([1, 2, 3, 4]);
        let published = [41_943_041, 58_720_359, 3_588_806_011_781_223];
        assert_eq!([(); 3].map(|()| random.bits()), published);
    }

    #[test]
    fn names_give_streams_of_their_own_and_the_same_name_the_same() {
        let first = |name| Random::named(7, name).bits();
        assert_eq!(first("a"), first("a"));
        assert_ne!(first("a"), first("b"));
        assert_ne!(Random::named(8, "a").bits(), first("a"));
    }

    #[test]
    fn every_number_below_the_end_comes_about_as_often() {
        let mut random = Random::seeded(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 500),
            "{counts:?}"
        );
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_shuffle_loses_nothing_and_moves_something() {
        let mut values: Vec<u32> = (0..50).collect();
        Random::seeded(3).shuffle(&mut values);
        assert_ne!(values, (0..50).collect::<Vec<_>>());
        values.sort_unstable();
        assert_eq!(values, (0..50).collect::<Vec<_>>());
    }
}
