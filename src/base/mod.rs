//! The ground floor: pure types and maths.
//!
//! No I/O, no clock, no environment and no foreign code; everything here can be tested with values.

pub mod arith;
pub mod clock;
pub mod datatype;
pub mod env;
pub mod fault;
pub mod float8;
pub mod moment;
pub mod pattern;
pub mod rank;
pub mod redop;
pub mod span;
pub mod split;
pub mod stats;
pub mod sweep;
pub mod traffic;
pub mod units;
pub mod words;

pub use clock::Clock;
pub use datatype::DataType;
pub use env::Env;
pub use fault::{Fault, FaultContext, Kind};
pub use rank::{Placement, Rank, World};
pub use redop::RedOp;
pub use span::{Buffer, Span};
pub use traffic::{Traffic, Uneven};
pub use units::{Bytes, GBps, Micros};
pub use words::counted;
