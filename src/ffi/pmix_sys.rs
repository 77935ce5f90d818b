//! PMIx's C types, constants and signatures: the few that are used, kept by hand. No logic.
//!
//! # Source
//! `pmix_common.h` and `pmix.h` of the project's branches v3.0, v3.2, v4.0, v4.2, v5.0 and v6.0 on
//! x86-64 Linux, in which all of this is the same.

use std::ffi::{c_char, c_int};

pub(super) type Status = c_int;

pub(super) const SUCCESS: Status = 0;
pub(super) const RANK_WILDCARD: u32 = 0xFFFF_FFFE;
pub(super) const TYPE_BOOL: u16 = 1;
pub(super) const TYPE_STRING: u16 = 3;
pub(super) const TYPE_UINT32: u16 = 14;
pub(super) const SCOPE_GLOBAL: u8 = 3;

pub(super) const NSPACE_LEN: usize = 256;
pub(super) const KEY_LEN: usize = 512;

pub(super) const JOB_SIZE: &str = "pmix.job.size";
pub(super) const NUM_NODES: &str = "pmix.num.nodes";
pub(super) const COLLECT_DATA: &str = "pmix.collect";

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Proc {
    pub(super) nspace: [c_char; NSPACE_LEN],
    pub(super) rank: u32,
}

/// `pmix_value_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) kind: u16,
    pub(super) data: Data,
}

/// The union in `pmix_value_t`; its largest member takes 24 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union Data {
    pub(super) flag: bool,
    pub(super) string: *const c_char,
    pub(super) uint32: u32,
    pub(super) whole: [u64; 3],
}

/// `pmix_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Info {
    pub(super) key: [c_char; KEY_LEN],
    pub(super) flags: u32,
    pub(super) value: Value,
}

const _: () = assert!(size_of::<Proc>() == 260 && std::mem::offset_of!(Proc, rank) == 256);
const _: () = assert!(size_of::<Value>() == 32 && std::mem::offset_of!(Value, data) == 8);
const _: () = assert!(size_of::<Info>() == 552 && std::mem::offset_of!(Info, value) == 520);
const _: () = assert!(std::mem::offset_of!(Info, flags) == 512);

pub(super) type Init = unsafe extern "C" fn(*mut Proc, *mut Info, usize) -> Status;
pub(super) type Get =
    unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> Status;
pub(super) type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> Status;
pub(super) type Commit = unsafe extern "C" fn() -> Status;
pub(super) type Fence = unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> Status;
pub(super) type Abort = unsafe extern "C" fn(c_int, *const c_char, *mut Proc, usize) -> Status;
pub(super) type Finalize = unsafe extern "C" fn(*const Info, usize) -> Status;
pub(super) type GetVersion = unsafe extern "C" fn() -> *const c_char;
pub(super) type ErrorString = unsafe extern "C" fn(Status) -> *const c_char;
