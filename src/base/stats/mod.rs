//! Statistics of measured times; pure, one subject a file.

pub mod interval;
pub mod launches;
pub mod modes;
pub mod order;
pub mod random;
pub mod robust;
pub mod steps;
pub mod student;
