//! What this machine is: reads the outside.

pub mod address;
pub mod cpu;
pub mod host;
