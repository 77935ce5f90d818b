//! Foreign libraries and the operating system's sharp edges: the only `unsafe`.
#![expect(unsafe_code, reason = "this is the room for it")]

pub mod handoff;
pub mod shm;
