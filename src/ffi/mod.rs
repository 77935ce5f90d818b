//! Foreign libraries and the operating system's sharp edges: the only `unsafe`.
#![expect(
    unsafe_code,
    reason = "calling foreign code is what this room is for; each block says why it holds"
)]

pub mod cuda;
pub mod environ;
pub mod handoff;
pub mod inherited;
pub mod kernels;
pub mod library;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod nccl;
pub mod pmix;
pub mod pmix_sys;
pub mod shm;
