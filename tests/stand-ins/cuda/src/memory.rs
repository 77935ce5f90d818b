//! Device memory: host memory that is accounted to a device and checked on every access.

use crate::devices::{self, Device};
use crate::{Code, ILLEGAL_ADDRESS, INVALID_VALUE, OUT_OF_MEMORY, bytes, code, streams};
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::{c_uchar, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// An allocation.
struct Block {
    layout: Layout,
    device: &'static Device,
}

/// Blocks by first address.
static BLOCKS: LazyLock<Mutex<BTreeMap<usize, Block>>> = LazyLock::new(Mutex::default);

fn blocks() -> MutexGuard<'static, BTreeMap<usize, Block>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn used(blocks: &BTreeMap<usize, Block>, device: &'static Device) -> usize {
    blocks
        .values()
        .filter(|block| std::ptr::eq(block.device, device))
        .map(|block| block.layout.size())
        .sum()
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
        blocks.insert(memory.expose_provenance(), Block { layout, device });
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
    let Some(block) = blocks().remove(&(address as usize)) else {
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
