//! Streams: a thread for each, so that enqueueing returns before the work is done. One that is being
//! recorded keeps its work for the graph instead.

use crate::devices::{self, Device};
use crate::journal;
use crate::{
    CAPTURE_INVALIDATED, CAPTURE_UNSUPPORTED, CAPTURE_WRONG_THREAD, Code, ILLEGAL_STATE,
    INVALID_HANDLE, INVALID_VALUE, NOT_READY, SUCCESS, code,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::ThreadId;

/// Work that may be run again and again, as that of a graph is.
pub type Job = Arc<dyn Fn() -> Result<(), Code> + Send + Sync>;

/// A stream.
pub struct Stream {
    pub device: &'static Device,
    jobs: mpsc::Sender<Job>,
    state: Arc<State>,
    capture: Mutex<Option<Capture>>,
    is_null: bool,
}

/// What is being recorded.
struct Capture {
    jobs: Vec<Job>,
    thread: ThreadId,
    /// Something was done that cannot be recorded.
    is_invalid: bool,
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
/// The null stream of each device, by its index.
static NULL_STREAMS: LazyLock<Mutex<HashMap<usize, Arc<Stream>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(0x1000);

thread_local! {
    /// How many streams this thread is recording.
    static RECORDING: Cell<u32> = const { Cell::new(0) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses what a thread that records a stream must not do, such as allocate: the recording is lost.
pub fn require_no_recording() -> Result<(), Code> {
    if RECORDING.get() == 0 {
        return Ok(());
    }
    let here = std::thread::current().id();
    for stream in lock(&STREAMS).values() {
        if let Some(capture) = &mut *lock(&stream.capture) {
            capture.is_invalid |= capture.thread == here;
        }
    }
    Err(CAPTURE_UNSUPPORTED)
}

/// The stream behind a handle; null is the current device's.
pub fn find(handle: *mut c_void) -> Result<Arc<Stream>, Code> {
    if handle.is_null() {
        let device = devices::current()?;
        let mut streams = lock(&NULL_STREAMS);
        let stream = streams
            .entry(device.ordinal())
            .or_insert_with(|| Arc::new(Stream::new(device, true)));
        return Ok(Arc::clone(stream));
    }
    lock(&STREAMS)
        .get(&handle.addr())
        .cloned()
        .ok_or(INVALID_HANDLE)
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
    fn new(device: &'static Device, is_null: bool) -> Self {
        let (send, receive) = mpsc::channel();
        let state = Arc::new(State::default());
        let seen = Arc::clone(&state);
        std::thread::spawn(move || work(&receive, &seen));
        Self {
            device,
            jobs: send,
            state,
            capture: Mutex::new(None),
            is_null,
        }
    }

    /// Runs `job` after everything that was enqueued before, or keeps it for the graph.
    pub fn enqueue(
        &self,
        job: impl Fn() -> Result<(), Code> + Send + Sync + 'static,
    ) -> Result<(), Code> {
        self.enqueue_job(Arc::new(job))
    }

    pub fn enqueue_job(&self, job: Job) -> Result<(), Code> {
        if let Some(capture) = &mut *lock(&self.capture) {
            capture.jobs.push(job);
            return Ok(());
        }
        let failed = self.state.failed.load(Ordering::Acquire);
        if failed != SUCCESS {
            return Err(failed);
        }
        self.state.enqueued.fetch_add(1, Ordering::AcqRel);
        self.jobs.send(job).map_err(|_| INVALID_HANDLE)
    }

    #[cfg_attr(
        not(feature = "graphs"),
        expect(dead_code, reason = "an old driver records nothing")
    )]
    pub fn is_recording(&self) -> bool {
        lock(&self.capture).is_some()
    }

    #[cfg_attr(
        not(feature = "graphs"),
        expect(dead_code, reason = "an old driver records nothing")
    )]
    pub fn begin(&self) -> Result<(), Code> {
        if self.is_null {
            return Err(CAPTURE_UNSUPPORTED);
        }
        let mut capture = lock(&self.capture);
        if capture.is_some() {
            return Err(ILLEGAL_STATE);
        }
        *capture = Some(Capture {
            jobs: Vec::new(),
            thread: std::thread::current().id(),
            is_invalid: false,
        });
        RECORDING.set(RECORDING.get() + 1);
        Ok(())
    }

    /// What was recorded.
    #[cfg_attr(
        not(feature = "graphs"),
        expect(dead_code, reason = "an old driver records nothing")
    )]
    pub fn end(&self) -> Result<Vec<Job>, Code> {
        let mut capture = lock(&self.capture);
        let Some(recorded) = capture.take() else {
            return Err(ILLEGAL_STATE);
        };
        if recorded.thread != std::thread::current().id() {
            *capture = Some(recorded);
            return Err(CAPTURE_WRONG_THREAD);
        }
        RECORDING.set(RECORDING.get() - 1);
        if recorded.is_invalid {
            return Err(CAPTURE_INVALIDATED);
        }
        Ok(recorded.jobs)
    }

    fn query(&self) -> Code {
        if let Some(capture) = &mut *lock(&self.capture) {
            capture.is_invalid = true;
            return CAPTURE_UNSUPPORTED;
        }
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
        let handle = NEXT.fetch_add(16, Ordering::Relaxed) as usize;
        lock(&STREAMS).insert(handle, Arc::new(Stream::new(device, false)));
        journal::line("stream made");
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
    if lock(&STREAMS).remove(&stream.addr()).is_some() {
        SUCCESS
    } else {
        INVALID_HANDLE
    }
}

/// While the stream is recorded the function is called once for each launch of the graph.
///
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
