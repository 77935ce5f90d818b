//! A `libcuda.so.1` over host memory: a test fixture, never a measurement.
//!
//! It has the driver's functions that ncclbench calls, with the driver's rules where breaking them
//! would go unnoticed otherwise: contexts must be current, handles must belong to the context,
//! addresses must lie in an allocation, streams are asynchronous. Kernels are ncclbench's own,
//! run by their emulation on the CPU.

#![allow(
    clippy::disallowed_methods,
    reason = "a library is steered by the process's variables, and a bad one ends it"
)]
#![allow(
    non_snake_case,
    non_upper_case_globals,
    reason = "the names are the driver's"
)]

mod collectives;
mod devices;
mod events;
#[cfg(feature = "graphs")]
mod graphs;
mod journal;
mod memory;
mod modules;
mod shared;
mod streams;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// A driver result code.
pub(crate) type Code = c_int;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const INVALID_VALUE: Code = 1;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const NOT_INITIALIZED: Code = 3;
pub(crate) const NO_DEVICE: Code = 100;
pub(crate) const INVALID_DEVICE: Code = 101;
pub(crate) const INVALID_CONTEXT: Code = 201;
pub(crate) const PEER_ACCESS_UNSUPPORTED: Code = 217;
pub(crate) const INVALID_PTX: Code = 218;
pub(crate) const INVALID_HANDLE: Code = 400;
pub(crate) const ILLEGAL_STATE: Code = 401;
pub(crate) const NOT_FOUND: Code = 500;
pub(crate) const NOT_READY: Code = 600;
pub(crate) const ILLEGAL_ADDRESS: Code = 700;
pub(crate) const CAPTURE_UNSUPPORTED: Code = 900;
pub(crate) const CAPTURE_INVALIDATED: Code = 901;
pub(crate) const CAPTURE_WRONG_THREAD: Code = 908;

const EXPLAINED: &[(Code, &CStr, &CStr)] = &[
    (SUCCESS, c"CUDA_SUCCESS", c"no error"),
    (
        INVALID_VALUE,
        c"CUDA_ERROR_INVALID_VALUE",
        c"invalid argument",
    ),
    (OUT_OF_MEMORY, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (
        NOT_INITIALIZED,
        c"CUDA_ERROR_NOT_INITIALIZED",
        c"initialization error",
    ),
    (
        NO_DEVICE,
        c"CUDA_ERROR_NO_DEVICE",
        c"no CUDA-capable device is detected",
    ),
    (
        INVALID_DEVICE,
        c"CUDA_ERROR_INVALID_DEVICE",
        c"invalid device ordinal",
    ),
    (
        INVALID_CONTEXT,
        c"CUDA_ERROR_INVALID_CONTEXT",
        c"invalid device context",
    ),
    (
        PEER_ACCESS_UNSUPPORTED,
        c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
        c"peer access is not supported between these two devices",
    ),
    (
        INVALID_PTX,
        c"CUDA_ERROR_INVALID_PTX",
        c"a PTX JIT compilation failed",
    ),
    (
        INVALID_HANDLE,
        c"CUDA_ERROR_INVALID_HANDLE",
        c"invalid resource handle",
    ),
    (
        NOT_FOUND,
        c"CUDA_ERROR_NOT_FOUND",
        c"named symbol not found",
    ),
    (NOT_READY, c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (
        ILLEGAL_ADDRESS,
        c"CUDA_ERROR_ILLEGAL_ADDRESS",
        c"an illegal memory access was encountered",
    ),
    (
        ILLEGAL_STATE,
        c"CUDA_ERROR_ILLEGAL_STATE",
        c"the operation cannot be performed in the present state",
    ),
    (
        CAPTURE_UNSUPPORTED,
        c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        c"operation not permitted when stream is capturing",
    ),
    (
        CAPTURE_INVALIDATED,
        c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        c"operation failed due to a previous error during capture",
    ),
    (
        CAPTURE_WRONG_THREAD,
        c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        c"attempt to terminate a thread-local capture sequence from another thread",
    ),
];

/// Turns a result of ours into a code.
fn code(result: Result<(), Code>) -> Code {
    result.err().unwrap_or(SUCCESS)
}

/// Marks this library as a test fixture.
#[unsafe(no_mangle)]
pub static ncclbench_stand_in: c_int = 1;

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> Code {
    if flags != 0 {
        return INVALID_VALUE;
    }
    if devices::all().is_empty() {
        NO_DEVICE
    } else {
        SUCCESS
    }
}

/// # Safety
/// `version` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: the caller's promise.
    unsafe { version.write(12090) };
    SUCCESS
}

fn explain(
    code: Code,
    pick: fn(&(Code, &'static CStr, &'static CStr)) -> &'static CStr,
) -> Option<*const c_char> {
    EXPLAINED
        .iter()
        .find(|entry| entry.0 == code)
        .map(|entry| pick(entry).as_ptr())
}

/// # Safety
/// `text` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: Code, text: *mut *const c_char) -> Code {
    let found = explain(code, |entry| entry.1);
    // SAFETY: the caller's promise.
    unsafe { text.write(found.unwrap_or(std::ptr::null())) };
    if found.is_some() {
        SUCCESS
    } else {
        INVALID_VALUE
    }
}

/// # Safety
/// `text` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: Code, text: *mut *const c_char) -> Code {
    let found = explain(code, |entry| entry.2);
    // SAFETY: the caller's promise.
    unsafe { text.write(found.unwrap_or(std::ptr::null())) };
    if found.is_some() {
        SUCCESS
    } else {
        INVALID_VALUE
    }
}

/// Reads a variable of the stand-in's own.
///
/// A value that cannot be read ends the process: a test that steers with a typing error must not
/// pass by steering nothing.
fn steer<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    let Ok(value) = text.parse() else {
        eprintln!("stand-in libcuda: `{name}={text}` cannot be read");
        std::process::exit(99);
    };
    Some(value)
}

/// Bytes behind a pointer that the program under test handed over.
///
/// # Safety
/// `from` must be readable for `len` bytes while the slice lives.
unsafe fn bytes<'a>(from: *const c_void, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(from.cast(), len) }
}
