//! NCCL's element types, with nccl-tests' spelling.

use super::Fault;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum DataType {
    /// Signed 8-bit integer.
    Int8,
    /// Unsigned 8-bit integer.
    Uint8,
    /// Signed 32-bit integer.
    Int32,
    /// Unsigned 32-bit integer.
    Uint32,
    /// Signed 64-bit integer.
    Int64,
    /// Unsigned 64-bit integer.
    Uint64,
    /// IEEE binary16.
    Half,
    /// IEEE binary32.
    Float,
    /// IEEE binary64.
    Double,
    /// bfloat16: the upper half of a binary32.
    Bfloat16,
    /// 8-bit float, 4 exponent and 3 significand bits, no infinities (OCP E4M3).
    F8e4m3,
    /// 8-bit float, 5 exponent and 2 significand bits (OCP E5M2).
    F8e5m2,
}

impl DataType {
    /// All of them, in nccl-tests' order, which is also NCCL's numbering.
    pub const ALL: &[Self] = &[
        Self::Int8,
        Self::Uint8,
        Self::Int32,
        Self::Uint32,
        Self::Int64,
        Self::Uint64,
        Self::Half,
        Self::Float,
        Self::Double,
        Self::Bfloat16,
        Self::F8e4m3,
        Self::F8e5m2,
    ];

    /// The one spelling used outside the code.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.cu`, `test_typenames`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Uint8 => "uint8",
            Self::Int32 => "int32",
            Self::Uint32 => "uint32",
            Self::Int64 => "int64",
            Self::Uint64 => "uint64",
            Self::Half => "half",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bfloat16 => "bfloat16",
            Self::F8e4m3 => "f8e4m3",
            Self::F8e5m2 => "f8e5m2",
        }
    }

    /// Other spellings that are accepted.
    fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Int8 => &["char"],
            Self::Int32 => &["int"],
            Self::Half => &["float16", "fp16"],
            Self::Float => &["float32", "fp32"],
            Self::Double => &["float64", "fp64"],
            Self::Bfloat16 => &["bf16"],
            Self::F8e4m3 => &["float8e4m3", "fp8_e4m3"],
            Self::F8e5m2 => &["float8e5m2", "fp8_e5m2"],
            _ => &[],
        }
    }

    /// Bytes of one element.
    pub fn size(self) -> u64 {
        match self {
            Self::Int8 | Self::Uint8 | Self::F8e4m3 | Self::F8e5m2 => 1,
            Self::Half | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float => 4,
            Self::Int64 | Self::Uint64 | Self::Double => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        self.significand_bits().is_some()
    }

    /// Whether it is a signed integer type.
    pub fn is_signed_integer(self) -> bool {
        matches!(self, Self::Int8 | Self::Int32 | Self::Int64)
    }

    /// Significand bits of a floating-point type, the hidden one included.
    pub fn significand_bits(self) -> Option<u32> {
        match self {
            Self::Half => Some(11),
            Self::Float => Some(24),
            Self::Double => Some(53),
            Self::Bfloat16 => Some(8),
            Self::F8e4m3 => Some(4),
            Self::F8e5m2 => Some(3),
            _ => None,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DataType {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let wanted = text.to_ascii_lowercase();
        Self::ALL
            .iter()
            .copied()
            .find(|dtype| dtype.name() == wanted || dtype.aliases().contains(&wanted.as_str()))
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|dtype| dtype.name()).collect();
                Fault::usage(format!(
                    "unknown datatype `{text}`; accepted: {}, all",
                    names.join(", ")
                ))
            })
    }
}

impl From<DataType> for String {
    fn from(dtype: DataType) -> Self {
        dtype.name().to_owned()
    }
}

impl TryFrom<String> for DataType {
    type Error = Fault;

    fn try_from(text: String) -> Result<Self, Fault> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_its_type() {
        for &dtype in DataType::ALL {
            assert_eq!(dtype.name().parse::<DataType>(), Ok(dtype));
            for alias in dtype.aliases() {
                assert_eq!(alias.parse::<DataType>(), Ok(dtype));
            }
        }
    }

    #[test]
    fn an_unknown_datatype_names_what_is_accepted() {
        let fault = "flaot".parse::<DataType>().unwrap_err();
        assert!(
            fault.message.contains("`flaot`") && fault.message.contains("bfloat16"),
            "{fault}"
        );
    }
}
