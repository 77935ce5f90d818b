//! Which way the bytes went: evidence to a verdict; pure over what it is handed.
//!
//! NCCL's log says what NCCL meant to use, the NICs' counters say what they carried, and the two are
//! held against each other and against what the operations must have sent. Nothing here reads a file.

mod claim;
mod counted;
pub mod debug;
mod expect;
mod gate;
mod health;
pub mod instance;
mod judge;
pub mod line;
pub mod log;
pub mod text;

pub use counted::between;
pub use expect::{Needed, Operation, needed};
pub use gate::{Gate, met};
pub use judge::{Evidence, judge};
