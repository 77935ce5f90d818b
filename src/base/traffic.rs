//! Who sends how much to whom where parts differ in size (`alltoallv`): what is wished, and the counts that follow.

use super::{Bytes, DataType, Fault, Rank, World};

/// Parts begin at whole vectors of so many bytes.
const VECTOR: u64 = 16;

/// The spread is a multiple of 1 in so many, so that sizes follow from whole numbers alone.
const SPREADS: u64 = 1 << 32;

/// How the sizes of parts are chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Uneven {
    /// By the distance around the ring of ranks: 0 makes all parts equal, 1 makes them proportional
    /// to the distance.
    Spread(f64),
    /// As a table says.
    Matrix(Matrix),
}

impl Default for Uneven {
    fn default() -> Self {
        Self::Spread(1.0)
    }
}

/// Bytes from each rank (a row) to each rank (a column); may be for more ranks than take part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    ranks: usize,
    bytes: Vec<u64>,
}

impl Matrix {
    /// Reads a square of numbers between blanks, each times `scale`, rounded down to bytes.
    ///
    /// # Errors
    /// `Usage`, naming the line, if it is not a square of whole numbers.
    pub fn parse(text: &str, scale: f64) -> Result<Self, Fault> {
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let ranks = lines.len();
        let mut bytes = Vec::with_capacity(ranks * ranks);
        for (line, number) in lines.iter().zip(1..) {
            let row: Result<Vec<u64>, Fault> = line
                .split_whitespace()
                .map(|word| scaled(word, scale, number))
                .collect();
            let row = row?;
            if row.len() != ranks {
                return Err(Fault::usage(format!(
                    "row {number} has {} numbers where {ranks} rows make a square",
                    row.len()
                )));
            }
            bytes.extend(row);
        }
        if ranks == 0 {
            return Err(Fault::usage("there are no numbers in it"));
        }
        Ok(Self { ranks, bytes })
    }

    fn between(&self, from: usize, to: usize) -> u64 {
        self.bytes[from * self.ranks + to]
    }

    /// The largest sum of a row or a column of the first `world` ranks.
    fn largest(&self, world: World) -> u64 {
        let n = world.0 as usize;
        let rows = (0..n).map(|from| (0..n).map(|to| self.between(from, to)).sum());
        let columns = (0..n).map(|to| (0..n).map(|from| self.between(from, to)).sum());
        rows.chain(columns).max().unwrap_or(0)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a scaled number of bytes is rounded down, and a whole one kept where nothing is scaled"
)]
fn scaled(word: &str, scale: f64, row: usize) -> Result<u64, Fault> {
    let number: u64 = word
        .parse()
        .ok()
        .filter(|number| *number <= 1 << 50)
        .ok_or_else(|| Fault::usage(format!("`{word}` in row {row} is not a number of bytes")))?;
    if scale.to_bits() == 1.0_f64.to_bits() {
        return Ok(number);
    }
    Ok((number as f64 * scale) as u64)
}

impl Uneven {
    /// Whether it can be had in a world, for sizes from `min` to `max`.
    ///
    /// # Errors
    /// `Usage` for a table of too few ranks, for more than one size, and for a size that it exceeds.
    pub fn check(&self, world: World, min: Bytes, max: Bytes) -> Result<(), Fault> {
        let Self::Matrix(matrix) = self else {
            return Ok(());
        };
        if matrix.ranks < world.0 as usize {
            return Err(Fault::usage(format!(
                "the matrix is for {} ranks, and there are {world}",
                matrix.ranks
            )));
        }
        let largest = matrix.largest(world);
        if min == max && max.0 >= largest {
            return Ok(());
        }
        Err(Fault::usage(format!(
            "a matrix gives one size: `-b` and `-e` must be equal and at least {largest}, its largest sum of a row or a column"
        ))
        .hint(format!("give `-b {largest} -e {largest}`")))
    }

    /// The counts where parts of `count` elements each were asked for.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `alltoallv_perf`: of T bytes that a rank sends, (1−s)·T/n + s·d·T/(n(n−1)/2)
    /// go to the rank at distance d, rounded down to 16 bytes. In a world of one, where the last
    /// divisor is 0, all of them stay.
    pub fn traffic(&self, count: u64, dtype: DataType, world: World) -> Traffic {
        let n = world.0 as usize;
        let counts: Vec<u64> = match self {
            Self::Spread(spread) => (0..u64::from(world.0))
                .map(|distance| by_distance(*spread, count, dtype, world, distance))
                .collect(),
            Self::Matrix(matrix) => (0..n * n)
                .map(|pair| matrix.between(pair / n, pair % n) / dtype.size())
                .collect(),
        };
        let is_ring = matches!(self, Self::Spread(_));
        let sums = counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        let prefix = is_ring.then(|| std::iter::once(0).chain(sums).collect());
        Traffic {
            world,
            is_ring,
            prefix: prefix.unwrap_or_default(),
            counts,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a spread is from 0 to 1, and a quotient of at most one rank's elements fits"
)]
fn by_distance(spread: f64, count: u64, dtype: DataType, world: World, distance: u64) -> u64 {
    let n = u128::from(world.0);
    let part = u128::from(count * dtype.size());
    if n == 1 {
        return count;
    }
    let spread = (spread.clamp(0.0, 1.0) * SPREADS as f64) as u128;
    let even = (u128::from(SPREADS) - spread) * part * (n - 1);
    let uneven = 2 * spread * u128::from(distance) * part;
    let bytes = (even + uneven) / (u128::from(SPREADS) * (n - 1));
    bytes as u64 / VECTOR * (VECTOR / dtype.size())
}

/// How many elements go from each rank to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    world: World,
    is_ring: bool,
    /// By distance around the ring, else by sender and receiver.
    counts: Vec<u64>,
    /// Sums of the first 0, 1, … of `counts`, for a ring.
    prefix: Vec<u64>,
}

impl Traffic {
    /// Elements from one rank to another.
    pub fn count(&self, from: Rank, to: Rank) -> u64 {
        let (n, from, to) = (self.world.0 as usize, from.0 as usize, to.0 as usize);
        let index = if self.is_ring {
            (to + n - from) % n
        } else {
            from * n + to
        };
        self.counts[index]
    }

    /// Elements that a rank sends to the ranks before `to`: where the part for `to` begins.
    pub fn offset(&self, from: Rank, to: Rank) -> u64 {
        let (n, from, to) = (self.world.0 as usize, from.0 as usize, to.0 as usize);
        if !self.is_ring {
            return self.counts[from * n..from * n + to].iter().sum();
        }
        let start = (n - from) % n;
        let before = self.prefix[n.min(start + to)] - self.prefix[start];
        before + self.prefix[(start + to).saturating_sub(n)]
    }

    /// Elements that a rank sends.
    pub fn sent(&self, from: Rank) -> u64 {
        self.world.ranks().map(|to| self.count(from, to)).sum()
    }

    /// Elements that a rank receives.
    pub fn received(&self, to: Rank) -> u64 {
        self.world.ranks().map(|from| self.count(from, to)).sum()
    }

    /// The most that any rank sends, and the most that any receives.
    pub fn largest(&self) -> (u64, u64) {
        if self.is_ring {
            let all = self.counts.iter().sum();
            return (all, all);
        }
        let most = |of: &dyn Fn(Rank) -> u64| self.world.ranks().map(of).max().unwrap_or(0);
        (
            most(&|rank| self.sent(rank)),
            most(&|rank| self.received(rank)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_of_0_makes_equal_parts_and_one_of_1_leaves_none_for_oneself() {
        let even = Uneven::Spread(0.0).traffic(1024, DataType::Float, World(5));
        assert!(even.counts.iter().all(|count| *count == 1024));
        let uneven = Uneven::default().traffic(1000, DataType::Float, World(5));
        // 20,000 bytes in shares of 0, 1, 2, 3 and 4 tenths, down to 16
        assert_eq!(uneven.counts, [0, 500, 1000, 1500, 2000]);
        assert_eq!(uneven.count(Rank(3), Rank(1)), 1500);
        assert_eq!(uneven.count(Rank(1), Rank(3)), 1000);
    }

    #[test]
    fn nobody_sends_or_receives_more_than_was_asked_for_whatever_the_spread() {
        for world in [1, 2, 3, 5, 7, 64, 4096].map(World) {
            for spread in [0.0, 0.1, 0.333, 0.7, 1.0] {
                for count in [0, 16, 4096, 1 << 30] {
                    let traffic = Uneven::Spread(spread).traffic(count, DataType::Int8, world);
                    let (sent, received) = traffic.largest();
                    assert!(sent <= count * u64::from(world.0) && received == sent);
                    let last = Rank(world.0 - 1);
                    assert_eq!(
                        (traffic.sent(last), traffic.received(last)),
                        (sent, received)
                    );
                }
            }
        }
    }

    #[test]
    fn parts_lie_one_after_the_other() {
        let matrix = Matrix::parse("1 2 3\n40 5 6\n7 8 9", 4.0).unwrap();
        for uneven in [Uneven::Matrix(matrix), Uneven::Spread(0.4)] {
            let traffic = uneven.traffic(160, DataType::Float, World(3));
            for from in World(3).ranks() {
                let mut end = 0;
                for to in World(3).ranks() {
                    assert_eq!(traffic.offset(from, to), end);
                    end += traffic.count(from, to);
                }
                assert_eq!(traffic.sent(from), end);
            }
        }
    }

    #[test]
    fn a_matrix_is_read_scaled_and_held_against_the_world_and_the_size() {
        let matrix = Matrix::parse("0 64 1\n\n128 0 1\n9 9 9\n", 0.5).unwrap();
        let uneven = Uneven::Matrix(matrix);
        let traffic = uneven.traffic(0, DataType::Float, World(2));
        assert_eq!(traffic.count(Rank(0), Rank(1)), 8);
        assert_eq!(traffic.count(Rank(1), Rank(0)), 16);
        assert_eq!(traffic.largest(), (16, 16));
        let check = |world, min, max| uneven.check(World(world), Bytes(min), Bytes(max));
        assert_eq!(check(2, 64, 64), Ok(()));
        assert!(
            check(2, 63, 63)
                .unwrap_err()
                .message
                .contains("at least 64")
        );
        assert!(check(2, 64, 128).is_err() && check(4, 999, 999).is_err());
    }

    #[test]
    fn what_is_no_square_of_bytes_is_refused_with_its_row() {
        for (text, words) in [
            ("1 2\n3", "row 2 has 1 numbers"),
            ("1 x\n3 4", "`x` in row 1"),
            ("1 -2\n3 4", "`-2` in row 1"),
            (" \n", "no numbers"),
        ] {
            let fault = Matrix::parse(text, 1.0).unwrap_err();
            assert!(fault.message.contains(words), "{fault}");
        }
    }
}
