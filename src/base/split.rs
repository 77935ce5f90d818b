//! Which processes form a communicator of their own: nccl-tests' `NCCL_TESTS_SPLIT`.

use super::Fault;
use serde::{Deserialize, Serialize};

/// What is done with a process's index and the value to get its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitOp {
    /// Bits in common.
    And,
    /// Bits of either.
    Or,
    /// Remainder.
    Mod,
    /// Quotient.
    Div,
}

/// A rule that gives every process a colour; processes of one colour form a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// What is done.
    pub op: SplitOp,
    /// With which value; above 0 where it divides.
    pub value: u64,
}

/// How people write the operations, longest first where one begins another.
const WORDS: [(&str, SplitOp); 8] = [
    ("AND", SplitOp::And),
    ("&", SplitOp::And),
    ("OR", SplitOp::Or),
    ("|", SplitOp::Or),
    ("MOD", SplitOp::Mod),
    ("%", SplitOp::Mod),
    ("DIV", SplitOp::Div),
    ("/", SplitOp::Div),
];

impl Split {
    /// Reads `MOD 8`, `&0x7`, `div2`, `%0b100`: an operation and a value, in any case, with blanks
    /// where one likes.
    ///
    /// # Errors
    /// `Usage` for any other operation or value, and for a division by 0; nccl-tests takes the one
    /// for no split at all and dies of the other.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `NCCL_TESTS_SPLIT`.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let plain: String = text
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect();
        let plain = plain.to_ascii_uppercase();
        let read = |(word, op): &(&str, SplitOp)| {
            let value = whole(plain.strip_prefix(word)?)?;
            Some(Self { op: *op, value })
        };
        let split = WORDS.iter().find_map(read).ok_or_else(|| {
            Fault::usage(format!(
                "`{text}` splits nothing; expected AND, OR, MOD or DIV (&, |, %, /) and a value, e.g. `MOD 8`"
            ))
        })?;
        match split.op {
            SplitOp::Mod | SplitOp::Div if split.value == 0 => {
                Err(Fault::usage(format!("`{text}` divides by 0")))
            }
            _ => Ok(split),
        }
    }

    /// The same as AND with a hexadecimal value, whatever it starts with: `NCCL_TESTS_SPLIT_MASK`.
    ///
    /// # Errors
    /// `Usage` for what is no such number.
    pub fn parse_mask(text: &str) -> Result<Self, Fault> {
        let digits = text.trim();
        let digits = ["0x", "0X"]
            .iter()
            .find_map(|start| digits.strip_prefix(start))
            .unwrap_or(digits);
        let value = u64::from_str_radix(digits, 16).map_err(|_| {
            Fault::usage(format!(
                "`{text}` is no mask; expected a hexadecimal number, e.g. `0x7`"
            ))
        })?;
        Ok(Self {
            op: SplitOp::And,
            value,
        })
    }

    /// The colour of a process.
    pub fn color(self, process: u64) -> u64 {
        match self.op {
            SplitOp::And => process & self.value,
            SplitOp::Or => process | self.value,
            SplitOp::Mod => process % self.value.max(1),
            SplitOp::Div => process / self.value.max(1),
        }
    }
}

fn whole(text: &str) -> Option<u64> {
    match text.as_bytes() {
        [b'0', b'X', ..] => u64::from_str_radix(&text[2..], 16).ok(),
        [b'0', b'B', ..] => u64::from_str_radix(&text[2..], 2).ok(),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_values_read_in_every_spelling() {
        let split = |op, value| Ok(Split { op, value });
        for (text, expected) in [
            ("AND 0x7", split(SplitOp::And, 7)),
            ("& 7", split(SplitOp::And, 7)),
            ("or1", split(SplitOp::Or, 1)),
            (" |  0b101 ", split(SplitOp::Or, 5)),
            ("Mod 8", split(SplitOp::Mod, 8)),
            ("%8", split(SplitOp::Mod, 8)),
            ("DIV 2", split(SplitOp::Div, 2)),
            ("/0X10", split(SplitOp::Div, 16)),
        ] {
            assert_eq!(Split::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn what_nccl_tests_takes_for_no_split_or_dies_of_is_refused() {
        for text in [
            "", "7", "XOR 3", "MOD", "MOD x", "MOD 0", "/0", "AND -1", "DIV 2 x",
        ] {
            assert!(Split::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_mask_is_hexadecimal_whether_it_says_so_or_not() {
        let mask = |text| Split::parse_mask(text).map(|split| split.value);
        assert_eq!(
            (mask("10"), mask("0x10"), mask(" 7 ")),
            (Ok(16), Ok(16), Ok(7))
        );
        assert!(mask("").is_err() && mask("g").is_err() && mask("-1").is_err());
    }

    #[test]
    fn colours_follow_from_the_index() {
        let colors = |text: &str| {
            let split = Split::parse(text).unwrap();
            [0, 1, 2, 3, 4, 5].map(|process| split.color(process))
        };
        assert_eq!(colors("MOD 2"), [0, 1, 0, 1, 0, 1]);
        assert_eq!(colors("DIV 2"), [0, 0, 1, 1, 2, 2]);
        assert_eq!(colors("AND 4"), [0, 0, 0, 0, 4, 4]);
        assert_eq!(colors("OR 1"), [1, 1, 3, 3, 5, 5]);
    }
}
