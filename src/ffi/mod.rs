//! Foreign libraries and the operating system's sharp edges: the only `unsafe`.
#![expect(
    unsafe_code,
    reason = "this room is where foreign functions are called; each block says why it is sound"
)]

pub mod environ;
pub mod pmix;
pub mod pmix_sys;
