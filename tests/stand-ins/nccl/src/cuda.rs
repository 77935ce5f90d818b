//! The driver that the process has loaded: NCCL uses it too.

use crate::{Code, UNHANDLED_CUDA, fail};
use std::ffi::{c_int, c_void};
use std::sync::LazyLock;

type HostFunction = unsafe extern "C" fn(*mut c_void);

struct Driver {
    current: unsafe extern "C" fn(*mut *const c_void) -> c_int,
    set_current: unsafe extern "C" fn(*const c_void) -> c_int,
    /// None where the driver cannot record.
    is_capturing: Option<unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int>,
    launch: unsafe extern "C" fn(*mut c_void, HostFunction, *mut c_void) -> c_int,
    #[cfg(feature = "modern")]
    alloc: unsafe extern "C" fn(*mut u64, usize) -> c_int,
    #[cfg(feature = "modern")]
    free: unsafe extern "C" fn(u64) -> c_int,
    #[cfg(feature = "modern")]
    range: unsafe extern "C" fn(*mut u64, *mut usize, u64) -> c_int,
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
            set_current: *library.get(b"cuCtxSetCurrent\0").ok()?,
            is_capturing: library
                .get(b"cuStreamIsCapturing\0")
                .ok()
                .map(|symbol| *symbol),
            launch: *library.get(b"cuLaunchHostFunc\0").ok()?,
            #[cfg(feature = "modern")]
            alloc: *library.get(b"cuMemAlloc_v2\0").ok()?,
            #[cfg(feature = "modern")]
            free: *library.get(b"cuMemFree_v2\0").ok()?,
            #[cfg(feature = "modern")]
            range: *library.get(b"cuMemGetAddressRange_v2\0").ok()?,
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

/// The context of this thread. A thread without one is refused: the real library would silently take
/// device 0.
pub fn require_current() -> Result<usize, Code> {
    let mut context = std::ptr::null();
    // SAFETY: writes one handle.
    check(unsafe { (driver()?.current)(&raw mut context) })?;
    if context.is_null() {
        Err(fail(UNHANDLED_CUDA, "no device is current"))
    } else {
        Ok(context.expose_provenance())
    }
}

type Job = Box<dyn Fn() + Send + Sync>;

unsafe extern "C" fn call_once(data: *mut c_void) {
    // SAFETY: made by `enqueue`, and called once.
    let job = unsafe { Box::from_raw(data.cast::<Job>()) };
    job();
}

unsafe extern "C" fn call_again(data: *mut c_void) {
    // SAFETY: made by `enqueue`, and never freed: nobody says when the last launch was.
    let job = unsafe { &*data.cast::<Job>() };
    job();
}

fn is_capturing(stream: *mut c_void) -> Result<bool, Code> {
    let Some(asks) = driver()?.is_capturing else {
        return Ok(false);
    };
    let mut status = 0;
    // SAFETY: writes one status.
    check(unsafe { asks(stream, &raw mut status) })?;
    Ok(status != 0)
}

/// Runs `body` with a communicator's own context, and leaves the thread's as it was: a null stream is
/// the current context's.
pub fn on_device(context: usize, body: impl FnOnce() -> Result<(), Code>) -> Result<(), Code> {
    let before = require_current()?;
    set_current(context)?;
    let done = body();
    set_current(before)?;
    done
}

fn set_current(context: usize) -> Result<(), Code> {
    let context = std::ptr::with_exposed_provenance(context);
    // SAFETY: a context that was current.
    check(unsafe { (driver()?.set_current)(context) })
}

/// Runs `job` on a stream, or at each launch of the graph that the stream is being recorded for.
pub fn enqueue(stream: usize, job: impl Fn() + Send + Sync + 'static) -> Result<(), Code> {
    let job: Box<Job> = Box::new(Box::new(job));
    let stream = std::ptr::without_provenance_mut(stream);
    let call = if is_capturing(stream)? {
        call_again
    } else {
        call_once
    };
    // SAFETY: `call` takes what is passed; it may run on any thread.
    check(unsafe { (driver()?.launch)(stream, call, Box::into_raw(job).cast()) })
}

/// Whether `len` bytes from `address` on lie in one allocation.
#[cfg(feature = "modern")]
pub fn is_allocated(address: u64, len: usize) -> Result<bool, Code> {
    let (mut base, mut size) = (0, 0);
    // SAFETY: writes an address and a size.
    let found = unsafe { (driver()?.range)(&raw mut base, &raw mut size, address) } == 0;
    Ok(found && address as usize + len <= base as usize + size)
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
