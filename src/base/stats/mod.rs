//! Statistics of measured times; pure, one subject a file.

pub mod interval;
pub mod order;
