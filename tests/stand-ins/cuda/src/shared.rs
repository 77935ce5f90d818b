//! Memory that processes share: a file without a name for each allocation, mapped where it is wanted.
//!
//! As with the driver, what is created is mapped nowhere by itself, nothing may be touched before
//! access was granted, and memory lives for as long as anybody has it mapped.

use crate::devices::{self, Device};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, code, memory, steer};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// What everything is rounded up to.
const GRAIN: usize = 2 << 20;

const DEVICE: c_uint = 1;
const PINNED: c_uint = 1;
const POSIX_FILE_DESCRIPTOR: c_uint = 1;
const READ_AND_WRITE: c_uint = 3;

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Location {
    kind: c_uint,
    id: c_int,
}

/// `CUmemAllocationProp`.
#[repr(C)]
pub struct Prop {
    kind: c_uint,
    handle_types: c_uint,
    location: Location,
    win32: *mut c_void,
    flags: [c_uint; 2],
}

/// `CUmemAccessDesc`.
#[repr(C)]
pub struct Access {
    location: Location,
    flags: c_uint,
}

/// What a handle stands for.
struct Allocation {
    file: OwnedFd,
    len: usize,
    /// The device it lies on, where this process created it.
    device: Option<&'static Device>,
}

/// A range of addresses, and what is mapped there.
struct Range {
    len: usize,
    mapped: Option<Arc<Allocation>>,
}

#[derive(Default)]
struct State {
    next: u64,
    allocations: BTreeMap<u64, Arc<Allocation>>,
    ranges: BTreeMap<u64, Range>,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that this process has created on a device and not given up.
pub fn used(device: &'static Device) -> usize {
    let state = state();
    let here = |allocation: &&Arc<Allocation>| {
        allocation.device.is_some_and(|at| std::ptr::eq(at, device))
    };
    state
        .allocations
        .values()
        .filter(here)
        .map(|allocation| allocation.len)
        .sum()
}

impl State {
    fn keep(&mut self, allocation: Allocation) -> u64 {
        self.next += 1;
        let handle = 0x9000 + self.next;
        self.allocations.insert(handle, Arc::new(allocation));
        handle
    }

    fn allocation(&self, handle: u64) -> Result<Arc<Allocation>, Code> {
        self.allocations.get(&handle).cloned().ok_or(INVALID_HANDLE)
    }
}

fn checked(prop: &Prop) -> Result<&'static Device, Code> {
    if (prop.kind, prop.handle_types, prop.location.kind) != (PINNED, POSIX_FILE_DESCRIPTOR, DEVICE)
    {
        return Err(INVALID_VALUE);
    }
    devices::by_number(prop.location.id)
}

/// # Safety
/// `grain` must be writable and `prop` readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAllocationGranularity(
    grain: *mut usize,
    prop: *const Prop,
    _option: c_uint,
) -> Code {
    // SAFETY: the caller's promise.
    code(checked(unsafe { &*prop }).map(|_| unsafe { grain.write(GRAIN) }))
}

/// # Safety
/// `handle` must be writable and `prop` readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemCreate(
    handle: *mut u64,
    len: usize,
    prop: *const Prop,
    flags: c_ulonglong,
) -> Code {
    let create = || {
        // SAFETY: the caller's promise.
        let device = checked(unsafe { &*prop })?;
        if flags != 0 || len == 0 || !len.is_multiple_of(GRAIN) {
            return Err(INVALID_VALUE);
        }
        if len > device.memory.saturating_sub(memory::used_on(device)) {
            return Err(OUT_OF_MEMORY);
        }
        let made = rustix::fs::memfd_create("stand-in memory", rustix::fs::MemfdFlags::CLOEXEC);
        let file = made.map_err(|_| OUT_OF_MEMORY)?;
        rustix::fs::ftruncate(&file, len as u64).map_err(|_| OUT_OF_MEMORY)?;
        let allocation = Allocation {
            file,
            len,
            device: Some(device),
        };
        // SAFETY: the caller's promise.
        unsafe { handle.write(state().keep(allocation)) };
        Ok(())
    };
    code(create())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemRelease(handle: u64) -> Code {
    match state().allocations.remove(&handle) {
        Some(_) => crate::SUCCESS,
        None => INVALID_VALUE,
    }
}

/// # Safety
/// `fd` must be writable as an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemExportToShareableHandle(
    fd: *mut c_void,
    handle: u64,
    kind: c_uint,
    flags: c_ulonglong,
) -> Code {
    let export = || {
        if kind != POSIX_FILE_DESCRIPTOR || flags != 0 {
            return Err(INVALID_VALUE);
        }
        let copy = rustix::io::dup(&state().allocation(handle)?.file).map_err(|_| OUT_OF_MEMORY)?;
        // The caller owns it from here on.
        let number = std::os::fd::IntoRawFd::into_raw_fd(copy);
        // SAFETY: the caller's promise.
        unsafe { fd.cast::<c_int>().write(number) };
        Ok(())
    };
    code(export())
}

/// # Safety
/// `handle` must be writable; `fd` is a descriptor, as a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemImportFromShareableHandle(
    handle: *mut u64,
    fd: *mut c_void,
    kind: c_uint,
) -> Code {
    let import = || {
        let number = c_int::try_from(fd.addr()).map_err(|_| INVALID_VALUE)?;
        if kind != POSIX_FILE_DESCRIPTOR || number < 0 {
            return Err(INVALID_VALUE);
        }
        if steer::<u32>("STAND_IN_CUDA_NO_PEERS").unwrap_or(0) != 0 {
            return Err(crate::PEER_ACCESS_UNSUPPORTED);
        }
        // SAFETY: the caller passes a descriptor that is open during the call.
        let theirs = unsafe { BorrowedFd::borrow_raw(number) };
        let file = rustix::io::dup(theirs).map_err(|_| INVALID_VALUE)?;
        let len = rustix::fs::fstat(&file).map_err(|_| INVALID_VALUE)?.st_size;
        let allocation = Allocation {
            file,
            len: usize::try_from(len).map_err(|_| INVALID_VALUE)?,
            device: None,
        };
        // SAFETY: the caller's promise.
        unsafe { handle.write(state().keep(allocation)) };
        Ok(())
    };
    code(import())
}

/// # Safety
/// `address` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAddressReserve(
    address: *mut u64,
    len: usize,
    _alignment: usize,
    _wanted: u64,
    _flags: c_ulonglong,
) -> Code {
    if len == 0 || !len.is_multiple_of(GRAIN) {
        return INVALID_VALUE;
    }
    // SAFETY: a mapping at an address of the kernel's choice touches nothing of ours.
    let reserved = unsafe {
        rustix::mm::mmap_anonymous(
            std::ptr::null_mut(),
            len,
            ProtFlags::empty(),
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    };
    let Ok(start) = reserved else {
        return OUT_OF_MEMORY;
    };
    let start = start.expose_provenance() as u64;
    state().ranges.insert(start, Range { len, mapped: None });
    // SAFETY: the caller's promise.
    unsafe { address.write(start) };
    crate::SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAddressFree(address: u64, len: usize) -> Code {
    let mut state = state();
    match state.ranges.get(&address) {
        Some(range) if range.len == len && range.mapped.is_none() => {}
        _ => return INVALID_VALUE,
    }
    state.ranges.remove(&address);
    // SAFETY: the range was reserved above, and nothing is mapped there any more.
    let _ = unsafe { rustix::mm::munmap(memory::pointer(address).cast(), len) };
    crate::SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemMap(
    address: u64,
    len: usize,
    offset: usize,
    handle: u64,
    flags: c_ulonglong,
) -> Code {
    let map = || {
        let mut state = state();
        let allocation = state.allocation(handle)?;
        let range = state.ranges.get_mut(&address).ok_or(INVALID_VALUE)?;
        if offset != 0 || flags != 0 || range.len != len || allocation.len < len {
            return Err(INVALID_VALUE);
        }
        if range.mapped.is_some() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the range is ours; without access nobody can touch what is there.
        let mapped = unsafe {
            rustix::mm::mmap(
                memory::pointer(address).cast(),
                len,
                ProtFlags::empty(),
                MapFlags::SHARED | MapFlags::FIXED,
                &allocation.file,
                0,
            )
        };
        mapped.map_err(|_| OUT_OF_MEMORY)?;
        range.mapped = Some(allocation);
        Ok(())
    };
    code(map())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemUnmap(address: u64, len: usize) -> Code {
    let mut state = state();
    let Some(range) = state.ranges.get_mut(&address) else {
        return INVALID_VALUE;
    };
    if range.len != len || range.mapped.take().is_none() {
        return INVALID_VALUE;
    }
    // Blocks are locked before this state elsewhere.
    drop(state);
    memory::forget(address);
    // SAFETY: the range is ours, and stays reserved.
    let _ = unsafe {
        rustix::mm::mmap_anonymous(
            memory::pointer(address).cast(),
            len,
            ProtFlags::empty(),
            MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE,
        )
    };
    crate::SUCCESS
}

/// # Safety
/// `wanted` must hold `count` descriptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemSetAccess(
    address: u64,
    len: usize,
    wanted: *const Access,
    count: usize,
) -> Code {
    let grant = || {
        // SAFETY: the caller's promise.
        let wanted = unsafe { std::slice::from_raw_parts(wanted, count) };
        let mut devices = Vec::new();
        for access in wanted {
            if access.flags != READ_AND_WRITE || access.location.kind != DEVICE {
                return Err(INVALID_VALUE);
            }
            devices.push(devices::by_number(access.location.id)?);
        }
        let state = state();
        let range = state.ranges.get(&address).ok_or(INVALID_VALUE)?;
        if range.len != len || range.mapped.is_none() || devices.is_empty() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the range is ours and mapped.
        let granted = unsafe {
            rustix::mm::mprotect(
                memory::pointer(address).cast(),
                len,
                rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::WRITE,
            )
        };
        granted.map_err(|_| INVALID_VALUE)?;
        drop(state);
        memory::remember(address, len, devices[0]);
        Ok(())
    };
    code(grant())
}

/// # Safety
/// `memory` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(
    memory: *mut *mut c_void,
    len: usize,
    _flags: c_uint,
) -> Code {
    let layout = std::alloc::Layout::from_size_align(len.max(1), 4096);
    let Ok(layout) = layout else {
        return INVALID_VALUE;
    };
    // SAFETY: the layout is not empty; nobody frees it, as nobody frees it in the program.
    unsafe { memory.write(std::alloc::alloc_zeroed(layout).cast()) };
    crate::SUCCESS
}
