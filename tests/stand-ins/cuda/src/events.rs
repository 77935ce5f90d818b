//! Events: the moment at which a stream comes to them.

use crate::devices::{self, Device};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE, NOT_READY, SUCCESS, code, journal, streams};
use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// An event of a device.
struct Event {
    device: &'static Device,
    passed: Mutex<Passed>,
}

#[derive(Clone, Copy)]
enum Passed {
    /// It was never enqueued.
    Never,
    /// A stream has not come to it yet.
    NotYet,
    At(Instant),
}

static EVENTS: LazyLock<Mutex<HashMap<usize, Arc<Event>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicUsize = AtomicUsize::new(0x7000);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(handle: *mut c_void) -> Result<Arc<Event>, Code> {
    lock(&EVENTS)
        .get(&handle.addr())
        .cloned()
        .ok_or(INVALID_HANDLE)
}

/// # Safety
/// `event` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, flags: c_uint) -> Code {
    code(devices::current().and_then(|device| {
        // Flags may switch the timing off, and then nothing could be measured.
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let handle = NEXT.fetch_add(16, Ordering::Relaxed);
        let passed = Mutex::new(Passed::Never);
        journal::line("event made");
        lock(&EVENTS).insert(handle, Arc::new(Event { device, passed }));
        // SAFETY: the caller's promise.
        unsafe { event.write(std::ptr::without_provenance_mut(handle)) };
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> Code {
    code(find(event).and_then(|event| {
        let stream = streams::find(stream)?;
        if !std::ptr::eq(stream.device, event.device) {
            return Err(INVALID_HANDLE);
        }
        *lock(&event.passed) = Passed::NotYet;
        stream.enqueue(move || {
            *lock(&event.passed) = Passed::At(Instant::now());
            Ok(())
        })
    }))
}

/// # Safety
/// `milliseconds` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    from: *mut c_void,
    to: *mut c_void,
) -> Code {
    let elapsed = || {
        let moment = |handle| match *lock(&find(handle)?.passed) {
            Passed::Never => Err(INVALID_HANDLE),
            Passed::NotYet => Err(NOT_READY),
            Passed::At(moment) => Ok(moment),
        };
        let (from, to) = (moment(from)?, moment(to)?);
        let elapsed = to.saturating_duration_since(from).as_secs_f64() * 1e3;
        // SAFETY: the caller's promise.
        unsafe { milliseconds.write(elapsed as f32) };
        Ok(())
    };
    code(elapsed())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: *mut c_void) -> Code {
    if lock(&EVENTS).remove(&event.addr()).is_some() {
        journal::line("event destroyed");
        SUCCESS
    } else {
        INVALID_HANDLE
    }
}
