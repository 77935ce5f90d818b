//! A figure for every ordered pair of participants: what a hunt over pairs measures.

use super::line::finite;
use crate::base::Fault;
use serde::{Deserialize, Serialize};

/// One pair's figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Index of the first of the two among the names.
    pub from: u32,
    /// Index of the second.
    pub to: u32,
    /// The figure.
    #[serde(serialize_with = "finite")]
    pub value: f64,
}

/// Figures of pairs.
///
/// # Shape
/// `pairs` holds those that were measured; a pair that is not there is not known. Where a figure holds
/// both ways, both ways are in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairMatrix {
    /// What was measured, where and when.
    pub title: String,
    /// The unit of the figures: `GB/s`, `us`.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// The participants: hosts, ranks or rails.
    pub names: Vec<String>,
    /// The figures.
    pub pairs: Vec<Pair>,
}

impl PairMatrix {
    /// Reads one JSON object.
    ///
    /// # Errors
    /// `Usage` if it is not such an object or a pair names somebody who is not there.
    pub fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let matrix: Self = serde_json::from_slice(bytes)
            .map_err(|error| Fault::usage(format!("not a matrix of pairs: {error}")))?;
        let count = matrix.names.len();
        let unknown = matrix
            .pairs
            .iter()
            .find(|pair| pair.from.max(pair.to) as usize >= count);
        match unknown {
            None => Ok(matrix),
            Some(Pair { from, to, .. }) => Err(Fault::usage(format!(
                "a pair is {from} and {to}, but there are {count} names, counted from 0"
            ))),
        }
    }

    /// The figure of a pair.
    pub fn value(&self, from: usize, to: usize) -> Option<f64> {
        let found = self
            .pairs
            .iter()
            .find(|pair| (pair.from as usize, pair.to as usize) == (from, to));
        found.map(|pair| pair.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_names_nobody_is_refused() {
        let matrix = |to: u32| {
            format!(
                r#"{{"title":"t","unit":"GB/s","more_is_better":true,"names":["a","b"],"pairs":[{{"from":0,"to":{to},"value":1.5}}]}}"#
            )
        };
        let read = PairMatrix::read(matrix(1).as_bytes()).unwrap();
        assert_eq!((read.value(0, 1), read.value(1, 0)), (Some(1.5), None));
        let fault = PairMatrix::read(matrix(2).as_bytes())
            .unwrap_err()
            .to_string();
        assert!(fault.contains("there are 2 names"), "{fault}");
        assert!(PairMatrix::read(b"[]").is_err());
    }
}
