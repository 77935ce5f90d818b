//! Graphs: what was recorded on a stream, run as often as it is launched.

use crate::devices::Device;
use crate::journal;
use crate::streams::{self, Job};
use crate::{CAPTURE_UNSUPPORTED, Code, INVALID_HANDLE, INVALID_VALUE, SUCCESS, code};
use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// What was recorded, and where it may be launched.
struct Graph {
    device: &'static Device,
    jobs: Vec<Job>,
}

type Graphs = LazyLock<Mutex<HashMap<usize, Arc<Graph>>>>;

static RECORDED: Graphs = LazyLock::new(Mutex::default);
static LAUNCHABLE: Graphs = LazyLock::new(Mutex::default);
/// Handles of both sorts; none is used twice, so that a stale or a mistaken one is always caught.
static NEXT: AtomicUsize = AtomicUsize::new(0x5000);

fn lock(graphs: &Graphs) -> MutexGuard<'_, HashMap<usize, Arc<Graph>>> {
    graphs.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add(graphs: &Graphs, graph: Arc<Graph>) -> *mut c_void {
    journal::line("graph made");
    let handle = NEXT.fetch_add(16, Ordering::Relaxed);
    lock(graphs).insert(handle, graph);
    std::ptr::without_provenance_mut(handle)
}

fn find(graphs: &Graphs, handle: *mut c_void) -> Result<Arc<Graph>, Code> {
    lock(graphs)
        .get(&handle.addr())
        .cloned()
        .ok_or(INVALID_HANDLE)
}

fn destroy(graphs: &Graphs, handle: *mut c_void) -> Code {
    if lock(graphs).remove(&handle.addr()).is_some() {
        journal::line("graph destroyed");
        SUCCESS
    } else {
        INVALID_HANDLE
    }
}

/// Keeps a recording under a new handle.
fn keep(device: &'static Device, jobs: Vec<Job>) -> *mut c_void {
    add(&RECORDED, Arc::new(Graph { device, jobs }))
}

/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`, the only mode in which other threads of a process may go
/// on as before.
const THREAD_LOCAL: c_uint = 1;

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: c_uint) -> Code {
    code(streams::find(stream).and_then(|stream| {
        if mode != THREAD_LOCAL {
            return Err(INVALID_VALUE);
        }
        stream.begin()
    }))
}

/// # Safety
/// `status` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamIsCapturing(stream: *mut c_void, status: *mut c_int) -> Code {
    code(streams::find(stream).map(|stream| {
        // SAFETY: the caller's promise.
        unsafe { status.write(stream.is_recording().into()) }
    }))
}

/// # Safety
/// `graph` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> Code {
    code(streams::find(stream).and_then(|stream| {
        let handle = keep(stream.device, stream.end()?);
        // SAFETY: the caller's promise.
        unsafe { graph.write(handle) };
        Ok(())
    }))
}

/// # Safety
/// `executable` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut *mut c_void,
    graph: *mut c_void,
    flags: c_ulonglong,
) -> Code {
    code(find(&RECORDED, graph).and_then(|graph| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { executable.write(add(&LAUNCHABLE, graph)) };
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch(executable: *mut c_void, stream: *mut c_void) -> Code {
    code(find(&LAUNCHABLE, executable).and_then(|graph| {
        let stream = streams::find(stream)?;
        if !std::ptr::eq(stream.device, graph.device) {
            return Err(INVALID_HANDLE);
        }
        if stream.is_recording() {
            return Err(CAPTURE_UNSUPPORTED);
        }
        journal::line("graph launched");
        let mut jobs = graph.jobs.iter();
        jobs.try_for_each(|job| stream.enqueue_job(Arc::clone(job)))
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecDestroy(executable: *mut c_void) -> Code {
    destroy(&LAUNCHABLE, executable)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroy(graph: *mut c_void) -> Code {
    destroy(&RECORDED, graph)
}
