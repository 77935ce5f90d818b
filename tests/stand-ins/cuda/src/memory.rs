//! Device memory: host memory that is accounted to a device and checked on every access.

use crate::devices::{self, Device};
use crate::{Code, ILLEGAL_ADDRESS, INVALID_VALUE, OUT_OF_MEMORY, bytes, code, shared, streams};
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::{c_uchar, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// An allocation.
struct Block {
    layout: Layout,
    device: &'static Device,
    /// Whether it was mapped and is somebody else's to free.
    mapped: bool,
}

/// Blocks by first address.
static BLOCKS: LazyLock<Mutex<BTreeMap<usize, Block>>> = LazyLock::new(Mutex::default);

fn blocks() -> MutexGuard<'static, BTreeMap<usize, Block>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn used(blocks: &BTreeMap<usize, Block>, device: &'static Device) -> usize {
    blocks
        .values()
        .filter(|block| std::ptr::eq(block.device, device) && !block.mapped)
        .map(|block| block.layout.size())
        .sum::<usize>()
        + shared::used(device)
}

/// Bytes of a device that are taken.
pub fn used_on(device: &'static Device) -> usize {
    used(&blocks(), device)
}

/// From now on a mapped range may be accessed.
pub fn remember(address: u64, len: usize, device: &'static Device) {
    if let Ok(layout) = Layout::from_size_align(len, 256) {
        let block = Block {
            layout,
            device,
            mapped: true,
        };
        blocks().insert(address as usize, block);
    }
}

/// From now on a mapped range may not be accessed any more.
pub fn forget(address: u64) {
    blocks().remove(&(address as usize));
}

/// Whether `len` bytes from `address` on lie in one allocation.
pub fn check(address: u64, len: usize) -> Result<(), Code> {
    let address = address as usize;
    let blocks = blocks();
    match blocks.range(..=address).next_back() {
        Some((start, block)) if address - start + len <= block.layout.size() => Ok(()),
        _ => Err(ILLEGAL_ADDRESS),
    }
}

/// A device address as a pointer.
pub fn pointer(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// # Safety
/// `address` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, len: usize) -> Code {
    code(devices::current().and_then(|device| {
        streams::require_no_recording()?;
        let layout = Layout::from_size_align(len, 256).map_err(|_| INVALID_VALUE)?;
        let mut blocks = blocks();
        if len == 0 {
            return Err(INVALID_VALUE);
        }
        if len > device.memory - used(&blocks, device) {
            return Err(OUT_OF_MEMORY);
        }
        // SAFETY: the layout is not empty.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        if memory.is_null() {
            return Err(OUT_OF_MEMORY);
        }
        let block = Block {
            layout,
            device,
            mapped: false,
        };
        blocks.insert(memory.expose_provenance(), block);
        // SAFETY: the caller's promise.
        unsafe { address.write(memory.addr() as u64) };
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Code {
    if let Err(code) = streams::require_no_recording() {
        return code;
    }
    let mut blocks = blocks();
    if blocks
        .get(&(address as usize))
        .is_none_or(|block| block.mapped)
    {
        return INVALID_VALUE;
    }
    let Some(block) = blocks.remove(&(address as usize)) else {
        return INVALID_VALUE;
    };
    // SAFETY: allocated above with this layout, and removed from the map only once.
    unsafe { std::alloc::dealloc(pointer(address), block.layout) };
    crate::SUCCESS
}

/// # Safety
/// Both must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    code(devices::current().map(|device| {
        let left = device.memory - used(&blocks(), device);
        // SAFETY: the caller's promise.
        unsafe {
            free.write(left);
            total.write(device.memory);
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(
    address: u64,
    value: c_uchar,
    len: usize,
    stream: *mut c_void,
) -> Code {
    code(streams::find_here(stream).and_then(|stream| {
        stream.enqueue(move || {
            check(address, len)?;
            // SAFETY: checked to lie in an allocation.
            unsafe { pointer(address).write_bytes(value, len) };
            Ok(())
        })
    }))
}

/// # Safety
/// `from` must be readable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    len: usize,
    stream: *mut c_void,
) -> Code {
    // Staged at once, as the driver does with pageable memory.
    // SAFETY: the caller's promise.
    let staged = unsafe { bytes(from, len) }.to_vec();
    code(streams::find_here(stream).and_then(|stream| {
        stream.enqueue(move || {
            check(to, len)?;
            // SAFETY: checked to lie in an allocation.
            unsafe { pointer(to).copy_from_nonoverlapping(staged.as_ptr(), len) };
            Ok(())
        })
    }))
}

/// # Safety
/// `to` must be writable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, len: usize) -> Code {
    code(devices::current().and_then(|_| {
        streams::require_no_recording()?;
        check(from, len)?;
        // SAFETY: checked to lie in an allocation; the caller's promise for the other side.
        unsafe { to.cast::<u8>().copy_from_nonoverlapping(pointer(from), len) };
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32Async(
    address: u64,
    value: c_uint,
    count: usize,
    stream: *mut c_void,
) -> Code {
    code(streams::find_here(stream).and_then(|stream| {
        stream.enqueue(move || {
            check(address, 4 * count)?;
            for index in 0..count {
                streams::word(address + 4 * index as u64).store(value, Ordering::Release);
            }
            Ok(())
        })
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(
    to: u64,
    from: u64,
    len: usize,
    stream: *mut c_void,
) -> Code {
    code(streams::find_here(stream).and_then(|stream| {
        stream.enqueue(move || {
            check(from, len)?;
            check(to, len)?;
            // SAFETY: both were checked to lie in allocations.
            unsafe { pointer(to).copy_from(pointer(from), len) };
            Ok(())
        })
    }))
}

/// # Safety
/// Both must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAddressRange_v2(
    base: *mut u64,
    size: *mut usize,
    address: u64,
) -> Code {
    let blocks = blocks();
    let found = blocks.range(..=address as usize).next_back();
    match found {
        Some((start, block)) if address as usize - start < block.layout.size() => {
            // SAFETY: the caller's promise.
            unsafe {
                base.write(*start as u64);
                size.write(block.layout.size());
            }
            crate::SUCCESS
        }
        _ => INVALID_VALUE,
    }
}
