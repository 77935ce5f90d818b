//! Units of measure as types, and message sizes as people type and read them.

use super::Fault;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// Microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub f64);

/// Gigabytes (10⁹ bytes) per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GBps(pub f64);

impl GBps {
    /// `bytes` moved in `time`. No time at all gives 0, not infinity, so that a record stays valid JSON.
    ///
    /// # Source
    /// nccl-tests, `doc/PERFORMANCE.md`: algbw = S / t, with GB = 10⁹ bytes.
    #[expect(
        clippy::cast_precision_loss,
        reason = "2^53 bytes is past any message size"
    )]
    pub fn of(bytes: Bytes, time: Micros) -> Self {
        if time.0 > 0.0 {
            Self(bytes.0 as f64 / time.0 / 1e3)
        } else {
            Self(0.0)
        }
    }
}

const UNITS: [(char, u64); 3] = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];

impl FromStr for Bytes {
    type Err = Fault;

    /// Reads `8`, `1.5G`, `64k`, `16GB`, `2KiB`, `1e3`, `0x10`: a number and at most one suffix;
    /// K, M and G are powers of 1024; a fraction of a byte is cut off.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `parsesize`, less what it takes by accident
    /// (`inf`, `nan`, anything after the suffix's first letter).
    fn from_str(text: &str) -> Result<Self, Fault> {
        let accepted = "expected a number of bytes with at most one suffix K, M or G (powers of 1024), e.g., `64M`";
        let refuse = || Fault::usage(format!("invalid size `{text}`; {accepted}"));
        let (number, unit) = split_suffix(text.trim()).ok_or_else(refuse)?;
        let number = parse_number(number).ok_or_else(refuse)?;
        to_bytes(number, unit).ok_or_else(refuse)
    }
}

/// Splits `128 MiB` into `128` and 2^20; `None` where the suffix is unknown.
fn split_suffix(text: &str) -> Option<(&str, u64)> {
    if text.starts_with("0x") || text.starts_with("0X") {
        return Some((text, 1));
    }
    let stem = ["iB", "ib", "IB", "B", "b"]
        .iter()
        .find_map(|end| text.strip_suffix(end));
    let (stem, named) = (stem.unwrap_or(text), stem.is_some());
    let last = stem.chars().last()?.to_ascii_uppercase();
    match UNITS.iter().find(|(letter, _)| *letter == last) {
        Some(&(_, unit)) => Some((stem[..stem.len() - 1].trim_end(), unit)),
        None if named => None,
        None => Some((text, 1)),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a hexadecimal size past 2^53 is refused later"
)]
fn parse_number(text: &str) -> Option<f64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16)
            .ok()
            .map(|value| value as f64);
    }
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    text.parse::<f64>()
        .ok()
        .filter(|value| plain && value.is_finite() && *value >= 0.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "checked: not negative and below 2^53; the fraction is meant to be cut off"
)]
fn to_bytes(number: f64, unit: u64) -> Option<Bytes> {
    let bytes = number * unit as f64;
    (bytes <= 9_007_199_254_740_992.0).then_some(Bytes(bytes as u64))
}

impl fmt::Display for Bytes {
    /// `1 MiB`, `1.5 GiB`, `8 B`, `1000 B`: the largest unit that shows the value exactly in at
    /// most two decimals, else bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (letter, unit) in UNITS.iter().rev() {
            let hundredths = u128::from(self.0) * 100;
            if self.0 >= *unit && hundredths % u128::from(*unit) == 0 {
                let hundredths = hundredths / u128::from(*unit);
                let (whole, rest) = (hundredths / 100, hundredths % 100);
                return match rest {
                    0 => write!(f, "{whole} {letter}iB"),
                    _ if rest % 10 == 0 => write!(f, "{whole}.{} {letter}iB", rest / 10),
                    _ => write!(f, "{whole}.{rest:02} {letter}iB"),
                };
            }
        }
        write!(f, "{} B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_read_as_nccl_tests_reads_them() {
        let cases = [
            ("1.5G", 1_610_612_736),
            (".5M", 524_288),
            ("12.M", 12 << 20),
            ("+4K", 4096),
            ("0.5", 0),
            ("16GB", 16 << 30),
            ("2KiB", 2048),
            ("128 M", 128 << 20),
            ("1e3", 1000),
            ("1e3K", 1_024_000),
            ("0x10", 16),
            ("8", 8),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn sizes_that_mean_nothing_are_refused() {
        for text in [
            "1T", "8B", "8b", "1,5M", "1_000", "", "M", "-1", "-0.5", "inf", "nan", "5Mx", "1e30G",
            "K8", "iB", "5iB",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_size_reads_back(bytes in 0u64..1 << 40) {
            let text = Bytes(bytes).to_string();
            let text = text.strip_suffix(" B").unwrap_or(&text);
            prop_assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(bytes));
        }
    }

    #[test]
    fn sizes_print_in_the_unit_that_shows_them_exactly() {
        for (bytes, text) in [
            (8, "8 B"),
            (1 << 20, "1 MiB"),
            (3 << 29, "1.5 GiB"),
            (1000, "1000 B"),
            (1280, "1.25 KiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }
}
