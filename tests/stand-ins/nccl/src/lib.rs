//! A `libnccl.so.2` that reduces and exchanges data for real, over TCP and host memory: a test
//! fixture, never a measurement.
//!
//! It has the functions that ncclbench calls, with NCCL's rules where breaking them would go
//! unnoticed otherwise: operations are ordered by their stream, groups fuse, a communicator that
//! was destroyed or aborted is refused. `README.md` lists the variables that make it misbehave.
#![allow(
    clippy::disallowed_methods,
    reason = "a library is steered by the process's variables, and a bad one ends it"
)]
#![allow(
    non_snake_case,
    non_upper_case_globals,
    reason = "the names are NCCL's"
)]

mod calls;
mod comm;
mod cuda;
mod group;
mod join;
#[path = "../../cuda/src/journal.rs"]
mod journal;
mod log;
#[cfg(feature = "modern")]
mod register;
mod steer;
mod verbs;
mod wire;
mod work;

use join::{Config, UniqueId, join};
use ncclbench::base::{DataType, RedOp};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use wire::Meeting;
use work::{Action, Reduction};

/// A result code of NCCL.
pub type Code = c_int;

pub const SUCCESS: Code = 0;
pub const UNHANDLED_CUDA: Code = 1;
pub const SYSTEM: Code = 2;
pub const INTERNAL: Code = 3;
pub const INVALID_ARGUMENT: Code = 4;
pub const INVALID_USAGE: Code = 5;
pub const REMOTE: Code = 6;

/// Marks this library as a test fixture.
#[unsafe(no_mangle)]
pub static ncclbench_stand_in: c_int = 1;

static LAST_ERROR: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Keeps what happened for `ncclGetLastError` and returns `code`. Earlier texts are leaked: someone may be reading them.
pub fn fail(code: Code, text: &str) -> Code {
    let text = CString::new(format!("stand-in: {text}")).unwrap_or_default();
    LAST_ERROR.store(text.into_raw(), Ordering::Release);
    code
}

fn code(result: Result<(), Code>) -> Code {
    result.err().unwrap_or(SUCCESS)
}

/// # Safety
/// `version` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> Code {
    // SAFETY: the caller's promise.
    unsafe { version.write(steer::version()) };
    SUCCESS
}

/// # Safety
/// `id` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetUniqueId(id: *mut UniqueId) -> Code {
    let Ok(meeting) = Meeting::open() else {
        return fail(SYSTEM, "cannot listen");
    };
    let text = meeting.to_text();
    let mut internal = [0; 128];
    internal[..text.len()].copy_from_slice(text.as_bytes());
    // SAFETY: the caller's promise.
    unsafe { id.write(UniqueId::new(internal)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetErrorString(code: Code) -> *const c_char {
    match code {
        SUCCESS => c"no error",
        UNHANDLED_CUDA => c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        SYSTEM => c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
        INTERNAL => c"internal error - please report this issue to the NCCL developers",
        INVALID_ARGUMENT => c"invalid argument (run with NCCL_DEBUG=WARN for details)",
        INVALID_USAGE => c"invalid usage (run with NCCL_DEBUG=WARN for details)",
        REMOTE => c"remote process exited or there was a network error",
        7 => c"NCCL operation in progress",
        _ => c"unknown result code",
    }
    .as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetLastError(_comm: *mut c_void) -> *const c_char {
    let last = LAST_ERROR.load(Ordering::Acquire);
    if last.is_null() { c"".as_ptr() } else { last }
}

/// # Safety
/// `comm` must be writable until the group closes, and `config` must be NCCL's structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommInitRankConfig(
    comm: *mut *mut c_void,
    world: c_int,
    id: UniqueId,
    rank: c_int,
    config: *mut Config,
) -> Code {
    // SAFETY: the caller's promise.
    code(unsafe { join(comm, world, rank, &[id], config) })
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclCommDestroy(comm: *mut c_void) -> Code {
    code(comm::remove(comm.addr()).map(drop))
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclCommAbort(comm: *mut c_void) -> Code {
    code(comm::remove(comm.addr()).map(drop))
}

/// # Safety
/// `state` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommGetAsyncError(comm: *mut c_void, state: *mut Code) -> Code {
    code(comm::find(comm.addr()).map(|comm| {
        // SAFETY: the caller's promise.
        unsafe { state.write(comm.state()) }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupStart() -> Code {
    group::start();
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupEnd() -> Code {
    code(group::end())
}

/// A datatype by NCCL's number; 8-bit floats exist from 2.24 on.
fn datatype(number: c_int) -> Result<DataType, Code> {
    let known = if steer::version() >= 22400 { 12 } else { 10 };
    usize::try_from(number)
        .ok()
        .filter(|&index| index < known)
        .and_then(|index| DataType::ALL.get(index).copied())
        .ok_or_else(|| fail(INVALID_ARGUMENT, &format!("invalid type {number}")))
}

/// Numbers of operators that were created; NCCL's begin behind the built-in ones too.
const CREATED: c_int = 5;

fn reduction(handle: usize, dtype: DataType, number: c_int) -> Result<Reduction, Code> {
    let built_in = [RedOp::Sum, RedOp::Prod, RedOp::Max, RedOp::Min, RedOp::Avg];
    let refused = || fail(INVALID_ARGUMENT, &format!("invalid op {number}"));
    let index = usize::try_from(number).map_err(|_| refused())?;
    if let Some(&redop) = built_in.get(index) {
        return Ok(Reduction {
            redop,
            scalar_bits: None,
        });
    }
    match comm::find(handle)?.operator(index - built_in.len()) {
        Some((of, bits)) if of == dtype => Ok(Reduction {
            redop: RedOp::MulSum,
            scalar_bits: Some(bits),
        }),
        _ => Err(refused()),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclAllReduce(
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    op: c_int,
    comm: *mut c_void,
    stream: *mut c_void,
) -> Code {
    let accept = || {
        let dtype = datatype(dtype)?;
        let by = reduction(comm.addr(), dtype, op)?;
        let action = Action::AllReduce {
            send: send.addr(),
            recv: recv.addr(),
            count,
            by,
        };
        group::accept(comm.addr(), stream.addr(), dtype, action)
    };
    code(accept())
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclSend(
    from: *const c_void,
    count: usize,
    dtype: c_int,
    peer: c_int,
    comm: *mut c_void,
    stream: *mut c_void,
) -> Code {
    let accept = || {
        let dtype = datatype(dtype)?;
        let action = Action::Send {
            from: from.addr(),
            count,
            peer: rank(comm.addr(), peer)?,
        };
        group::accept(comm.addr(), stream.addr(), dtype, action)
    };
    code(accept())
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclRecv(
    into: *mut c_void,
    count: usize,
    dtype: c_int,
    peer: c_int,
    comm: *mut c_void,
    stream: *mut c_void,
) -> Code {
    let accept = || {
        let dtype = datatype(dtype)?;
        let action = Action::Recv {
            into: into.addr(),
            count,
            peer: rank(comm.addr(), peer)?,
        };
        group::accept(comm.addr(), stream.addr(), dtype, action)
    };
    code(accept())
}

fn rank(handle: usize, peer: c_int) -> Result<usize, Code> {
    let world = comm::find(handle)?.world;
    usize::try_from(peer)
        .ok()
        .filter(|&peer| peer < world)
        .ok_or_else(|| fail(INVALID_ARGUMENT, &format!("invalid peer {peer}")))
}

/// # Safety
/// `op` must be writable and `scalar` readable for one element of `dtype`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclRedOpCreatePreMulSum(
    op: *mut c_int,
    scalar: *const c_void,
    dtype: c_int,
    residence: c_int,
    comm: *mut c_void,
) -> Code {
    let create = || {
        let dtype = datatype(dtype)?;
        if residence != 1 {
            return Err(fail(INVALID_ARGUMENT, "the scalar must be in host memory"));
        }
        let mut bits = [0u8; 8];
        // SAFETY: the caller's promise.
        unsafe {
            bits.as_mut_ptr()
                .copy_from_nonoverlapping(scalar.cast(), dtype.size() as usize);
        }
        let index = comm::find(comm.addr())?.add_operator(dtype, u64::from_le_bytes(bits));
        // SAFETY: the caller's promise.
        unsafe { op.write(CREATED + index as c_int) };
        Ok(())
    };
    code(create())
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclRedOpDestroy(op: c_int, comm: *mut c_void) -> Code {
    let known = comm::find(comm.addr()).map(|comm| {
        usize::try_from(op - CREATED)
            .ok()
            .and_then(|index| comm.operator(index))
            .is_some()
    });
    match known {
        Ok(true) => SUCCESS,
        Ok(false) => fail(INVALID_ARGUMENT, "an operator that was not created"),
        Err(code) => code,
    }
}

/// What NCCL 2.18 lacks.
#[cfg(feature = "modern")]
mod modern {
    use super::*;

    /// # Safety
    /// As [`ncclCommInitRankConfig`]; `ids` has `count` entries.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn ncclCommInitRankScalable(
        comm: *mut *mut c_void,
        world: c_int,
        rank: c_int,
        count: c_int,
        ids: *mut UniqueId,
        config: *mut Config,
    ) -> Code {
        let Ok(count) = usize::try_from(count) else {
            return fail(INVALID_ARGUMENT, "a negative number of ids");
        };
        // SAFETY: the caller's promise.
        code(unsafe {
            join(
                comm,
                world,
                rank,
                std::slice::from_raw_parts(ids, count),
                config,
            )
        })
    }

    /// # Safety
    /// `memory` must be writable.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn ncclMemAlloc(memory: *mut *mut c_void, len: usize) -> Code {
        code(cuda::alloc(len).map(|address| {
            register::remember(address);
            // SAFETY: the caller's promise.
            unsafe { memory.write(std::ptr::without_provenance_mut(address as usize)) }
        }))
    }

    #[unsafe(no_mangle)]
    pub extern "C" fn ncclMemFree(memory: *mut c_void) -> Code {
        code(cuda::free(memory.addr() as u64))
    }

    #[unsafe(no_mangle)]
    pub extern "C" fn ncclAlltoAll(
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: c_int,
        comm: *mut c_void,
        stream: *mut c_void,
    ) -> Code {
        let accept = || {
            let dtype = datatype(dtype)?;
            let action = Action::AllToAll {
                send: send.addr(),
                recv: recv.addr(),
                count,
            };
            group::accept(comm.addr(), stream.addr(), dtype, action)
        };
        code(accept())
    }
}
