//! Streams: a thread for each, so that enqueueing returns before the work is done.

use crate::devices::{self, Device};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE, NOT_READY, SUCCESS, code};
use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, mpsc};

type Job = Box<dyn FnOnce() -> Result<(), Code> + Send>;

/// A stream.
pub struct Stream {
    device: &'static Device,
    jobs: mpsc::Sender<Job>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    enqueued: AtomicU64,
    finished: AtomicU64,
    /// The first error; it sticks, as the driver's do.
    failed: AtomicI32,
}

/// Streams by handle.
static STREAMS: LazyLock<Mutex<HashMap<usize, Arc<Stream>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(0x1000);

/// The stream behind a handle.
pub fn find(handle: *mut c_void) -> Result<Arc<Stream>, Code> {
    let streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    streams.get(&handle.addr()).cloned().ok_or(INVALID_HANDLE)
}

/// The stream behind a handle, which must belong to the current context.
pub fn find_here(handle: *mut c_void) -> Result<Arc<Stream>, Code> {
    let stream = find(handle)?;
    if std::ptr::eq(stream.device, devices::current()?) {
        Ok(stream)
    } else {
        Err(INVALID_HANDLE)
    }
}

impl Stream {
    /// Runs `job` after everything that was enqueued before.
    pub fn enqueue(
        &self,
        job: impl FnOnce() -> Result<(), Code> + Send + 'static,
    ) -> Result<(), Code> {
        let failed = self.state.failed.load(Ordering::Acquire);
        if failed != SUCCESS {
            return Err(failed);
        }
        self.state.enqueued.fetch_add(1, Ordering::AcqRel);
        self.jobs.send(Box::new(job)).map_err(|_| INVALID_HANDLE)
    }

    fn query(&self) -> Code {
        let finished = self.state.finished.load(Ordering::Acquire);
        let failed = self.state.failed.load(Ordering::Acquire);
        if failed != SUCCESS {
            failed
        } else if finished == self.state.enqueued.load(Ordering::Acquire) {
            SUCCESS
        } else {
            NOT_READY
        }
    }
}

fn work(jobs: &mpsc::Receiver<Job>, state: &State) {
    for job in jobs {
        if let Err(code) = job() {
            let _ =
                state
                    .failed
                    .compare_exchange(SUCCESS, code, Ordering::AcqRel, Ordering::Acquire);
        }
        state.finished.fetch_add(1, Ordering::AcqRel);
    }
}

/// # Safety
/// `stream` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> Code {
    code(devices::current().and_then(|device| {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let (send, receive) = mpsc::channel();
        let state = Arc::new(State::default());
        let seen = Arc::clone(&state);
        std::thread::spawn(move || work(&receive, &seen));
        let handle = NEXT.fetch_add(16, Ordering::Relaxed) as usize;
        let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
        streams.insert(
            handle,
            Arc::new(Stream {
                device,
                jobs: send,
                state,
            }),
        );
        // SAFETY: the caller's promise.
        unsafe { stream.write(std::ptr::without_provenance_mut(handle)) };
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: *mut c_void) -> Code {
    find(stream).map_or_else(|code| code, |stream| stream.query())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> Code {
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if streams.remove(&stream.addr()).is_some() {
        SUCCESS
    } else {
        INVALID_HANDLE
    }
}

/// # Safety
/// `function` must be safe to call with `data` from another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchHostFunc(
    stream: *mut c_void,
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> Code {
    let data = data.expose_provenance();
    code(find(stream).and_then(|stream| {
        stream.enqueue(move || {
            // SAFETY: the caller's promise.
            unsafe { function(std::ptr::with_exposed_provenance_mut(data)) };
            Ok(())
        })
    }))
}

/// A word of device memory.
pub fn word(address: u64) -> &'static AtomicU32 {
    // SAFETY: the caller has checked that it lies in an allocation; every bit pattern is a value.
    unsafe { AtomicU32::from_ptr(crate::memory::pointer(address).cast()) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWriteValue32_v2(
    stream: *mut c_void,
    address: u64,
    value: c_uint,
    _flags: c_uint,
) -> Code {
    code(find(stream).and_then(|stream| {
        stream.enqueue(move || {
            crate::memory::check(address, 4)?;
            word(address).store(value, Ordering::Release);
            Ok(())
        })
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitValue32_v2(
    stream: *mut c_void,
    address: u64,
    value: c_uint,
    flags: c_uint,
) -> Code {
    if flags != 0 {
        return INVALID_VALUE;
    }
    code(find(stream).and_then(|stream| {
        stream.enqueue(move || {
            crate::memory::check(address, 4)?;
            while (word(address).load(Ordering::Acquire).wrapping_sub(value)).cast_signed() < 0 {
                std::thread::yield_now();
            }
            Ok(())
        })
    }))
}
