//! The devices that are there, as variables describe them, and the contexts on them.

use crate::{Code, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, SUCCESS, code, steer};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// A device. Its address is its context's handle.
#[derive(Debug)]
pub struct Device {
    /// Index among the devices of the machine.
    pub physical: usize,
    /// Memory in bytes.
    pub memory: usize,
    capability: c_int,
    uuid: [u8; 16],
    /// The MIG slice that it is, if it is not a whole GPU.
    slice: Option<u8>,
}

/// A GPU or a slice of one, as an entry of `CUDA_VISIBLE_DEVICES` names it.
#[derive(Debug, Clone, Copy)]
struct Named {
    physical: usize,
    slice: Option<u8>,
}

/// The visible devices, in `CUDA_VISIBLE_DEVICES`' order.
pub fn all() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| visible().into_iter().map(device).collect())
}

fn device(Named { physical, slice }: Named) -> Device {
    Device {
        physical,
        slice,
        memory: steer("STAND_IN_CUDA_MEMORY").unwrap_or(4 << 30),
        capability: steer("STAND_IN_CUDA_CAPABILITY").unwrap_or(90),
        uuid: uuid(physical),
    }
}

/// As the driver reads it: the list ends at the first entry that names no device.
fn visible() -> Vec<Named> {
    let count = steer("STAND_IN_CUDA_DEVICES").unwrap_or(8usize);
    let Ok(list) = std::env::var("CUDA_VISIBLE_DEVICES") else {
        return (0..count).map(whole).collect();
    };
    list.split(',')
        .map_while(|entry| named(entry.trim(), count))
        .collect()
}

fn whole(physical: usize) -> Named {
    Named {
        physical,
        slice: None,
    }
}

/// By index, by the start of a `GPU-` id, or by a whole `MIG-` id.
fn named(entry: &str, count: usize) -> Option<Named> {
    let mut gpus = 0..count;
    if let Some(start) = entry.strip_prefix("GPU-") {
        let is_it = |&physical: &usize| text(uuid(physical)).starts_with(start);
        return gpus.find(is_it).map(whole);
    }
    if let Some(id) = entry.strip_prefix("MIG-") {
        let mut slices = gpus.flat_map(|physical| {
            [1, 2].map(|slice| Named {
                physical,
                slice: Some(slice),
            })
        });
        return slices.find(|named| text(slice_of(uuid(named.physical), named.slice)) == id);
    }
    entry.parse().ok().filter(|index| *index < count).map(whole)
}

/// The id of a slice: the GPU's, with the slice's number in the ninth byte.
fn slice_of(mut uuid: [u8; 16], slice: Option<u8>) -> [u8; 16] {
    uuid[8] |= slice.map_or(0, |slice| 0x80 + slice);
    uuid
}

fn text(uuid: [u8; 16]) -> String {
    let part = |range: std::ops::Range<usize>| -> String {
        uuid[range]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    [
        part(0..4),
        part(4..6),
        part(6..8),
        part(8..10),
        part(10..16),
    ]
    .join("-")
}

/// An id from the host and the index: two hosts on one machine have different GPUs.
fn uuid(physical: usize) -> [u8; 16] {
    let host = ["STAND_IN_CUDA_HOST", "SLURMD_NODENAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .unwrap_or_default();
    let mut bytes = [0; 16];
    let hash = host
        .trim()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    bytes[..8].copy_from_slice(&hash.to_be_bytes());
    bytes[8..].copy_from_slice(&(physical as u64).to_be_bytes());
    bytes
}

pub fn by_number(device: c_int) -> Result<&'static Device, Code> {
    usize::try_from(device)
        .ok()
        .and_then(|index| all().get(index))
        .ok_or(INVALID_DEVICE)
}

impl Device {
    /// Its index among the visible ones.
    pub fn ordinal(&'static self) -> usize {
        let mut devices = all().iter();
        devices
            .position(|device| std::ptr::eq(device, self))
            .unwrap_or(usize::MAX)
    }
}

thread_local! {
    static CURRENT: Cell<Option<&'static Device>> = const { Cell::new(None) };
}

/// The device of this thread's context.
pub fn current() -> Result<&'static Device, Code> {
    CURRENT.get().ok_or(INVALID_CONTEXT)
}

/// # Safety
/// `count` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    // SAFETY: the caller's promise.
    unsafe { count.write(all().len() as c_int) };
    SUCCESS
}

/// # Safety
/// `device` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    code(by_number(ordinal).map(|_| {
        // SAFETY: the caller's promise.
        unsafe { device.write(ordinal) }
    }))
}

/// Writes text and a NUL into a buffer of `len` bytes.
///
/// # Safety
/// `into` must be writable for `len` bytes.
unsafe fn write_text(text: &str, into: *mut c_char, len: c_int) -> Result<(), Code> {
    let room = usize::try_from(len).map_err(|_| INVALID_VALUE)?;
    let kept = text.len().min(room.checked_sub(1).ok_or(INVALID_VALUE)?);
    // SAFETY: `kept` and the NUL are within `len`.
    unsafe {
        into.copy_from_nonoverlapping(text.as_ptr().cast(), kept);
        into.add(kept).write(0);
    }
    Ok(())
}

/// # Safety
/// `name` must be writable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> Code {
    code(by_number(device).and_then(|_| {
        // SAFETY: the caller's promise.
        unsafe { write_text("ncclbench stand-in GPU", name, len) }
    }))
}

/// # Safety
/// `id` must be writable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(id: *mut c_char, len: c_int, device: c_int) -> Code {
    code(by_number(device).and_then(|device| {
        let text = format!("0000:{:02X}:00.0", 0x1a + device.physical);
        // SAFETY: the caller's promise.
        unsafe { write_text(&text, id, len) }
    }))
}

/// # Safety
/// `uuid` must be writable for 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> Code {
    code(by_number(device).map(|device| {
        // SAFETY: the caller's promise.
        unsafe { uuid.write(device.uuid) }
    }))
}

/// # Safety
/// `uuid` must be writable for 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> Code {
    code(by_number(device).map(|device| {
        // SAFETY: the caller's promise.
        unsafe { uuid.write(slice_of(device.uuid, device.slice)) }
    }))
}

/// # Safety
/// `bytes` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> Code {
    code(by_number(device).map(|device| {
        // SAFETY: the caller's promise.
        unsafe { bytes.write(device.memory) }
    }))
}

/// # Safety
/// `value` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: c_uint,
    device: c_int,
) -> Code {
    code(by_number(device).and_then(|device| {
        let answer = match attribute {
            // multiprocessors: few, because each of their blocks is emulated
            16 => steer("STAND_IN_CUDA_MULTIPROCESSORS").unwrap_or(8),
            75 => device.capability / 10,
            76 => device.capability % 10,
            _ => return Err(INVALID_VALUE),
        };
        // SAFETY: the caller's promise.
        unsafe { value.write(answer) };
        Ok(())
    }))
}

/// # Safety
/// `context` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(
    context: *mut *const Device,
    device: c_int,
) -> Code {
    code(by_number(device).map(|device| {
        // SAFETY: the caller's promise.
        unsafe { context.write(device) }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: *const Device) -> Code {
    let Some(device) = all().iter().find(|device| std::ptr::eq(*device, context)) else {
        return INVALID_CONTEXT;
    };
    CURRENT.set(Some(device));
    SUCCESS
}

/// # Safety
/// `context` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut *const c_void) -> Code {
    let handle = CURRENT
        .get()
        .map_or(std::ptr::null(), |device| std::ptr::from_ref(device).cast());
    // SAFETY: the caller's promise.
    unsafe { context.write(handle) };
    SUCCESS
}
