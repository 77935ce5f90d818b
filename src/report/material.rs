//! What plots and documents are made from: runs with names, a verdict, what to hold them against.

use crate::base::{DataType, Placement, RedOp};
use crate::record::history;
use crate::record::{Case, PairMatrix, Published, RowKey, Run, Verdict};

/// A run and what readers are to call it.
#[derive(Debug, Clone)]
pub struct Named<'a> {
    /// The name: the file's, unless another was given.
    pub label: String,
    /// The run.
    pub run: &'a Run,
}

/// A bandwidth that cannot be exceeded.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// In GB/s.
    pub gbps: f64,
    /// Of what; empty if nothing was said.
    pub label: String,
}

/// Which rows are meant; nothing means all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wish {
    /// The collective's one spelling.
    pub collective: Option<String>,
    /// Element type.
    pub dtype: Option<DataType>,
    /// Reduction operator.
    pub redop: Option<RedOp>,
    /// Placement of the buffers; none leaves it to what is made of the rows.
    pub placement: Option<Placement>,
    /// Both placements, where one would be left out.
    pub both_placements: bool,
    /// The size that was asked for, in bytes.
    pub requested: Option<u64>,
}

impl Wish {
    /// Whether rows of a case are meant.
    pub fn takes(&self, case: &Case) -> bool {
        let collective = self.collective.as_ref();
        collective.is_none_or(|name| *name == case.collective)
            && self.dtype.is_none_or(|dtype| dtype == case.dtype)
            && (self.redop.is_none() || self.redop == case.redop)
            && self
                .placement
                .is_none_or(|placement| placement == case.placement)
            && self.requested.is_none_or(|bytes| bytes == case.requested.0)
    }

    /// The same by a row's key.
    pub fn takes_key(&self, key: &RowKey) -> bool {
        let collective = self.collective.as_ref();
        collective.is_none_or(|name| *name == key.collective)
            && self.dtype.is_none_or(|dtype| dtype == key.dtype)
            && (self.redop.is_none() || self.redop == key.redop)
            && self
                .placement
                .is_none_or(|placement| placement == key.placement)
            && self.requested.is_none_or(|bytes| bytes == key.requested.0)
    }
}

/// What is to be shown.
#[derive(Debug, Clone, Default)]
pub struct Material<'a> {
    /// The runs, in the order in which they were given.
    pub runs: Vec<Named<'a>>,
    /// Which of their rows.
    pub wish: Wish,
    /// A title in the place of the one that follows from the runs.
    pub title: Option<String>,
    /// A comparison with a baseline.
    pub verdict: Option<&'a Verdict>,
    /// Figures over time.
    pub history: Vec<history::Series>,
    /// Bandwidths on an axis of powers of ten.
    pub is_logarithmic: bool,
    /// Bandwidths that cannot be exceeded.
    pub ceilings: Vec<Ceiling>,
    /// What others have published.
    pub published: &'a [Published],
    /// Figures of pairs.
    pub matrix: Option<&'a PairMatrix>,
}
