//! From a recipe to the constants of its words: which scheme, and how many bits of what.

use super::exact::Carrier;
use super::input::inverse;
use super::lanes::{Format, Lanes};
use super::{Input, Plain, Recipe, Scheme, hash};
use crate::base::{DataType, Rank, RedOp};

impl Recipe {
    /// The row of expected reductions; of a copy, what would be one.
    pub fn result(&self) -> Plain {
        self.input(Rank(0)).result
    }

    /// What an output holds before the operation: random, and where the low bits of all results are
    /// the same, with low bits that no result has, nor a neighbour of one.
    pub fn poison(&self) -> Plain {
        let lanes = Lanes::of(self.dtype);
        let result = self.result();
        let (mask, base) = (lanes.get(result.mask, 0), lanes.get(result.base, 0));
        let (fixed, low) = match mask.trailing_zeros() {
            0 => (0, 0),
            1 => (1, !base & 1),
            _ => (3, 2),
        };
        Plain {
            mask: !lanes.all(fixed),
            base: lanes.all(low),
            ..Plain::raw(self.key(hash::POISON), lanes.bits)
        }
    }

    /// One rank's input as it would be if it were only copied.
    pub fn raw(&self, rank: Rank) -> Plain {
        Plain::raw(self.key(u64::from(rank.0)), Lanes::of(self.dtype).bits)
    }

    /// What all rows of this seed have in common.
    pub fn rows(&self) -> u64 {
        hash::rows_of(self.seed)
    }

    /// One rank's input.
    pub fn input(&self, rank: Rank) -> Input {
        let Some(redop) = self.redop else {
            return self.blank(rank, Scheme::Raw);
        };
        let lanes = Lanes::of(self.dtype);
        match (redop, Format::of(self.dtype)) {
            (RedOp::Sum | RedOp::MulSum, None) => self.integer_sum(rank, redop),
            (RedOp::Avg, None) => self.integer_average(rank),
            (RedOp::Prod, None) => self.integer_product(rank),
            (RedOp::Prod, Some(format)) => self.float_product(rank, format, lanes),
            (RedOp::Min | RedOp::Max, format) => self.extreme(rank, redop, format.is_some()),
            (_, Some(format)) => self
                .float_sum(rank, redop, format, lanes)
                .unwrap_or_else(|| self.carrier(rank, format, lanes)),
        }
    }

    fn key(&self, row: u64) -> u64 {
        hash::row_key(self.rows(), row)
    }

    /// Everything that does not depend on the scheme.
    fn blank(&self, rank: Rank, scheme: Scheme) -> Input {
        let bits = Lanes::of(self.dtype).bits;
        Input {
            scheme,
            result: Plain::raw(self.key(hash::RESULT), bits),
            own: self.key(u64::from(rank.0)),
            next: self.key(u64::from((rank.0 + 1) % self.world.0)),
            select: self.key(hash::SELECT),
            comb: u64::MAX,
            class: 0,
            period: 1,
            field: u64::MAX,
            lift: 0,
            unit: 0,
            brings: rank.0 == 0,
            inverse: 1,
            divisor: 0,
            remainders: 0,
            larger: 0,
            magnitude: 0,
            drop: 0,
        }
    }

    fn integer_sum(&self, rank: Rank, redop: RedOp) -> Input {
        let mut input = self.blank(rank, Scheme::IntegerSum);
        if redop == RedOp::MulSum {
            let scalar = mulsum_scalar_bits(self.dtype, rank);
            input.inverse = inverse::<64>(scalar) & Lanes::of(self.dtype).full();
        }
        input
    }

    /// The wrapped sum is N q + rest with q the result, so that truncating division gives q.
    fn integer_average(&self, rank: Rank) -> Input {
        let lanes = Lanes::of(self.dtype);
        let ranks = u128::from(self.world.0);
        let signed = self.dtype.is_signed_integer();
        let room = 1u128 << (lanes.bits - u32::from(signed));
        // Unsigned: N (2^k - 1) + N - 1 < room. Signed: |q| may be 2^k, and the rest is on top.
        let fits = |k: &u32| (ranks << *k) + if signed { ranks } else { 0 } <= room;
        let quotient_bits = (0..=lanes.bits).rev().find(fits);
        let mut input = self.blank(rank, Scheme::IntegerSum);
        input.divisor = self.world.0;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most the number of ranks"
        )]
        let remainders = ranks.min(room) as u64;
        input.remainders = remainders;
        input.result.mask = match quotient_bits {
            Some(0) | None => 0,
            Some(k) => lanes.all(u64::MAX >> (64 - k)),
        };
        if signed && quotient_bits.is_some() {
            input.result.signs = lanes.low();
        }
        input
    }

    fn integer_product(&self, rank: Rank) -> Input {
        let lanes = Lanes::of(self.dtype);
        let mut input = self.blank(rank, Scheme::IntegerProduct);
        input.result.mask = !lanes.low();
        input.result.base = lanes.low();
        input
    }

    /// Exponents of the ranks' shares are differences of `step` bits; whatever subset of ranks is
    /// multiplied, the exponent stays within the normal range.
    fn float_product(&self, rank: Rank, format: Format, lanes: Lanes) -> Input {
        let mut input = self.blank(rank, Scheme::FloatProduct);
        // Two thirds of the exponents on either side of 1.0 for the shares, the rest for the result.
        let budget = format.bias * 2 / 3;
        let window = (format.bias - 1 - budget).ilog2() + 1;
        let members = self.join_classes(&mut input, rank, lanes, 2 * budget + 1);
        let runs = (members / 2).max(1);
        let step = (1..=4)
            .rev()
            .find(|bits| runs * ((1 << bits) - 1) <= budget)
            .unwrap_or(1);
        let sign = lanes.high();
        input.field = lanes.all(format.power((1 << step) - 1));
        input.unit = lanes.all(format.power(format.bias));
        let random = format.power(1) - 1 + format.power((1 << window) - 1);
        input.result.mask = sign | lanes.all(random);
        input.result.base = lanes.all(format.power(format.bias - (1 << (window - 1))));
        input
    }

    /// Minimum and maximum: the middle half of each lane's range for the winner, so that the losers
    /// lie on the same side of the sign.
    fn extreme(&self, rank: Rank, redop: RedOp, float: bool) -> Input {
        let lanes = Lanes::of(self.dtype);
        let mut input = self.blank(rank, Scheme::Extreme);
        self.select_one(&mut input, rank, lanes);
        input.result.mask = lanes.high() | lanes.all((1 << (lanes.bits - 2)) - 1);
        input.result.base = lanes.all(1 << (lanes.bits - 3));
        input.field = lanes.all((1 << (lanes.bits - 4)) - 1);
        input.larger = if redop == RedOp::Min { u64::MAX } else { 0 };
        input.magnitude = if float { u64::MAX } else { 0 };
        input
    }

    /// Sums, and averages over a power of two of ranks; none where the exponents do not suffice.
    fn float_sum(&self, rank: Rank, redop: RedOp, format: Format, lanes: Lanes) -> Option<Input> {
        let average = redop == RedOp::Avg;
        if average && !self.world.0.is_power_of_two() {
            return None;
        }
        let raised = if average { self.world.0.ilog2() } else { 0 };
        let slack = u32::from(redop == RedOp::MulSum);
        // The result has its last bit clear; the unit is that bit's next lower neighbour's double.
        let lowest = format.mantissa + slack;
        let highest = (format.top - 2).checked_sub(raised + slack)?;
        let count = (highest + 1)
            .checked_sub(lowest)
            .filter(|count| *count > 0)?;
        let window = count.ilog2();
        let first = lowest + (count - (1 << window)) / 2;

        let mut input = self.blank(rank, Scheme::FloatSum);
        let members = self.join_classes(&mut input, rank, lanes, 2 << format.mantissa.min(29));
        let used = field_bits(members, format.mantissa);
        input.field = lanes.all((1 << used) - 1);
        input.result.mask = lanes.high() | lanes.all(format.power(1) - 2);
        input.result.base = lanes.all(format.power(first));
        self.vary_exponents(&mut input, format, lanes, window);
        let factor = i64::from(raised) - mulsum_exponent(redop, rank);
        input.lift = lift(format, lanes, factor);
        let unit_exponent = i64::from(first) - i64::from(format.mantissa) + 1 + factor;
        let computed = if lanes.bits == 64 { 52 } else { 23 };
        input.unit = unit_exponent.unsigned_abs() << computed;
        input.drop = computed - format.mantissa;
        Some(input)
    }

    /// One rank brings N times a power of two, the others bring 0.
    fn carrier(&self, rank: Rank, format: Format, lanes: Lanes) -> Input {
        let mut input = self.blank(rank, Scheme::Carrier);
        self.select_one(&mut input, rank, lanes);
        let carrier = Carrier::of(self.dtype, self.world, format);
        input.result.mask = lanes.high();
        input.result.base = lanes.all(carrier.base);
        self.vary_exponents(&mut input, format, lanes, carrier.window);
        input.lift = lanes.all(carrier.lift);
        input
    }

    /// Lets the exponent of a word vary over 2^window steps.
    fn vary_exponents(&self, input: &mut Input, format: Format, lanes: Lanes, window: u32) {
        if window > 0 {
            input.result.spread = lanes.all(format.power(1));
            input.result.shift = 32 - window;
            input.result.offset = low_half(self.key(hash::EXPONENT));
        }
    }

    /// Exactly one rank in each lane contributes.
    fn select_one(&self, input: &mut Input, rank: Rank, lanes: Lanes) {
        self.classes(input, rank, lanes, self.world.0);
    }

    /// Divides the ranks into classes of at most `limit`, one of which contributes to a lane, and
    /// says how large the largest is.
    fn join_classes(&self, input: &mut Input, rank: Rank, lanes: Lanes, limit: u32) -> u32 {
        let classes = self.world.0.div_ceil(limit);
        self.classes(input, rank, lanes, classes);
        self.world.0.div_ceil(classes)
    }

    /// Ranks of the same class are those whose numbers leave the same remainder; the first of them
    /// brings the result, and each is followed by the next of its class.
    fn classes(&self, input: &mut Input, rank: Rank, lanes: Lanes, classes: u32) {
        let follower = u64::from(rank.0) + u64::from(classes);
        let class = rank.0 % classes;
        input.class = class;
        input.period = classes;
        input.brings = rank.0 < classes;
        input.next = self.key(if follower < u64::from(self.world.0) {
            follower
        } else {
            u64::from(class)
        });
        input.comb = (0..lanes.count())
            .step_by(usize::try_from(classes).unwrap_or(usize::MAX))
            .fold(0, |comb, lane| comb | lanes.full() << (lane * lanes.bits));
    }
}

/// Bits of each rank's row in a float sum: any subset of the ring telescopes to at most members/2
/// runs, each below 2^bits, which must stay below half of what the significand counts to.
fn field_bits(members: u32, mantissa: u32) -> u32 {
    let runs = u128::from((members / 2).max(1));
    (1..=mantissa)
        .rev()
        .find(|bits| runs * ((1 << bits) - 1) <= 1 << mantissa)
        .unwrap_or(1)
}

/// A factor of 2^exponent on every lane, as something to add to the bits.
fn lift(format: Format, lanes: Lanes, exponent: i64) -> u64 {
    let magnitude = exponent.unsigned_abs() << format.mantissa;
    let positive = lanes.low().wrapping_mul(magnitude);
    if exponent < 0 {
        positive.wrapping_neg()
    } else {
        positive
    }
}

#[expect(clippy::cast_possible_truncation, reason = "half of it is meant")]
fn low_half(x: u64) -> u32 {
    x as u32
}

/// The exponent of a rank's `mulsum` scalar: 2, 1, 1/2 in turn, so that a world of one multiplies too.
fn mulsum_exponent(redop: RedOp, rank: Rank) -> i64 {
    if redop == RedOp::MulSum {
        1 - i64::from(rank.0 % 3)
    } else {
        0
    }
}

/// Bits of the scalar by which a rank's input is multiplied under `mulsum`: a power of two for
/// floats, an odd number below 128 for integers, so that the inputs can undo it exactly.
pub fn mulsum_scalar_bits(dtype: DataType, rank: Rank) -> u64 {
    match Format::of(dtype) {
        Some(format) => {
            let exponent = format.bias + 1 - rank.0 % 3;
            format.power(exponent)
        }
        None => u64::from(3 + 2 * (rank.0 % 61)),
    }
}
