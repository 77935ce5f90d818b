//! The driver that the process has loaded: NCCL uses it too.

use crate::{Code, UNHANDLED_CUDA, fail};
use std::ffi::{c_int, c_void};
use std::sync::LazyLock;

type HostFunction = unsafe extern "C" fn(*mut c_void);

struct Driver {
    current: unsafe extern "C" fn(*mut *const c_void) -> c_int,
    launch: unsafe extern "C" fn(*mut c_void, HostFunction, *mut c_void) -> c_int,
    #[cfg(feature = "modern")]
    alloc: unsafe extern "C" fn(*mut u64, usize) -> c_int,
    #[cfg(feature = "modern")]
    free: unsafe extern "C" fn(u64) -> c_int,
}

/// Found by its name: the loader knows a library that is mapped already.
static DRIVER: LazyLock<Option<Driver>> = LazyLock::new(|| {
    // SAFETY: the driver is made to be loaded so.
    let library = unsafe { libloading::Library::new("libcuda.so.1") }.ok()?;
    let library = Box::leak(Box::new(library));
    // SAFETY: the signatures are those of `cuda.h`.
    unsafe {
        Some(Driver {
            current: *library.get(b"cuCtxGetCurrent\0").ok()?,
            launch: *library.get(b"cuLaunchHostFunc\0").ok()?,
            #[cfg(feature = "modern")]
            alloc: *library.get(b"cuMemAlloc_v2\0").ok()?,
            #[cfg(feature = "modern")]
            free: *library.get(b"cuMemFree_v2\0").ok()?,
        })
    }
});

fn driver() -> Result<&'static Driver, Code> {
    DRIVER
        .as_ref()
        .ok_or_else(|| fail(UNHANDLED_CUDA, "no CUDA driver"))
}

fn check(code: c_int) -> Result<(), Code> {
    if code == 0 {
        Ok(())
    } else {
        Err(fail(UNHANDLED_CUDA, &format!("CUDA failure {code}")))
    }
}

/// Refuses a thread that has no device: the real library would silently take device 0.
pub fn require_current() -> Result<(), Code> {
    let mut context = std::ptr::null();
    // SAFETY: writes one handle.
    check(unsafe { (driver()?.current)(&raw mut context) })?;
    if context.is_null() {
        Err(fail(UNHANDLED_CUDA, "no device is current"))
    } else {
        Ok(())
    }
}

unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: made by `enqueue`, and called once.
    let job = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
    job();
}

/// Runs `job` on a stream.
pub fn enqueue(stream: usize, job: impl FnOnce() + Send + 'static) -> Result<(), Code> {
    let job: Box<Box<dyn FnOnce() + Send>> = Box::new(Box::new(job));
    let stream = std::ptr::without_provenance_mut(stream);
    // SAFETY: `call` takes what is passed; it may run on any thread.
    check(unsafe { (driver()?.launch)(stream, call, Box::into_raw(job).cast()) })
}

#[cfg(feature = "modern")]
pub fn alloc(len: usize) -> Result<u64, Code> {
    let mut address = 0;
    // SAFETY: writes one address.
    check(unsafe { (driver()?.alloc)(&raw mut address, len) })?;
    Ok(address)
}

#[cfg(feature = "modern")]
pub fn free(address: u64) -> Result<(), Code> {
    // SAFETY: frees what `alloc` gave, which the driver checks.
    check(unsafe { (driver()?.free)(address) })
}
