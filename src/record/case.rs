//! One line of work with every number resolved.

use super::line::finite;
use crate::base::{Bytes, DataType, Placement, RedOp};
use serde::{Deserialize, Serialize};

/// Where the in-place form puts the smaller buffer; offsets are `rank * stride` elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InPlace {
    /// Send and receive buffer are the same.
    Same,
    /// The send buffer is rank r's slot of the receive buffer.
    SendInRecv {
        /// Elements from one rank's slot to the next.
        stride: u64,
    },
    /// The receive buffer is rank r's slot of the send buffer.
    RecvInSend {
        /// Elements from one rank's slot to the next.
        stride: u64,
    },
}

/// A collective on one datatype, operator, root, size and placement, with its numbers.
///
/// # Units
/// `*_count` are elements for each rank; `size` and `algo_bytes` are bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The collective's one spelling.
    pub collective: String,
    /// Element type.
    pub dtype: DataType,
    /// Reduction operator, for collectives that reduce.
    pub redop: Option<RedOp>,
    /// Root rank, for collectives that have one.
    pub root: Option<u32>,
    /// Placement of the buffers.
    pub placement: Placement,
    /// The size that was asked for; the key for comparisons.
    pub requested: Bytes,
    /// The table's `size` column: the larger of what a rank sends and what it receives.
    pub size: Bytes,
    /// The table's `count` column: the count argument of the call.
    pub count: u64,
    /// What each rank sends, or the rank that sends the most.
    pub send_count: u64,
    /// What each rank receives, or the rank that receives the most.
    pub recv_count: u64,
    /// Where the in-place form puts things.
    pub in_place: InPlace,
    /// Whether the in-place form is defined, so that its result can be checked.
    pub checkable: bool,
    /// Numerator of algbw.
    pub algo_bytes: Bytes,
    /// busbw / algbw.
    #[serde(serialize_with = "finite")]
    pub bus_factor: f64,
    /// Iterations of the timed loop.
    pub iterations: u32,
    /// Operations enqueued in one group for each iteration.
    pub ops_per_batch: u32,
    /// Rounds of checking after the timed loop; 0 means not checked.
    pub checks: u32,
    /// Which repetition of the whole sweep this is, from 0.
    pub cycle: u32,
    /// What each rank sends and receives in bytes, where parts differ in size and that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rank_bytes: Vec<[u64; 2]>,
}
