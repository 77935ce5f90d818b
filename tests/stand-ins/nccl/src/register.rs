//! Registered buffers: each rank's own, or windows that all ranks make together.

use crate::comm::{self, Comm};
use crate::journal;
use crate::wire::{Incoming, Outgoing, exchange};
use crate::{Code, INTERNAL, INVALID_ARGUMENT, INVALID_USAGE, code, cuda, fail, group};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A buffer that is registered with a communicator.
#[derive(Debug, Clone, Copy)]
pub struct Registered {
    handle: usize,
    address: usize,
    len: usize,
    is_window: bool,
}

impl Registered {
    pub fn holds(&self, address: usize, len: usize) -> bool {
        address >= self.address && address + len <= self.address + self.len
    }
}

/// A window to be made when the group closes.
pub struct Window {
    pub comm: Arc<Comm>,
    address: usize,
    len: usize,
    /// Where the handle goes, as an address: the caller keeps it until then.
    out: usize,
}

static NEXT: AtomicUsize = AtomicUsize::new(0x9000);

/// What `ncclMemAlloc` gave: windows are made of nothing else.
static OWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

pub fn remember(address: u64) {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.push(address as usize);
}

fn is_own(address: usize) -> bool {
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.contains(&address)
}

fn check(address: usize, len: usize) -> Result<(), Code> {
    if len > 0 && cuda::is_allocated(address as u64, len)? {
        return Ok(());
    }
    Err(fail(
        INVALID_ARGUMENT,
        "a buffer that lies in no allocation",
    ))
}

fn keep(comm: &Comm, address: usize, len: usize, is_window: bool) -> usize {
    let handle = NEXT.fetch_add(16, Ordering::Relaxed);
    comm.registrations().push(Registered {
        handle,
        address,
        len,
        is_window,
    });
    let what = if is_window { "window" } else { "buffer" };
    journal::line(&format!("rank {} registered a {what} of {len}", comm.rank));
    handle
}

/// # Safety
/// `out` must be writable.
unsafe fn register(
    comm: usize,
    address: usize,
    len: usize,
    out: *mut *mut c_void,
) -> Result<(), Code> {
    let comm = comm::find(comm)?;
    check(address, len)?;
    let handle = keep(&comm, address, len, false);
    // SAFETY: the caller's promise.
    unsafe { out.write(std::ptr::without_provenance_mut(handle)) };
    Ok(())
}

/// The only flag there is: `NCCL_WIN_COLL_SYMMETRIC`.
const SYMMETRIC: c_int = 1;

/// Makes a window when the group closes.
///
/// # Safety
/// `out` must be writable until then.
unsafe fn add_window(
    comm: usize,
    address: usize,
    len: usize,
    out: *mut *mut c_void,
    flags: c_int,
) -> Result<(), Code> {
    group::within(|| {
        let comm = comm::find(comm)?;
        check(address, len)?;
        if flags != SYMMETRIC || !is_own(address) {
            return Err(fail(
                INVALID_ARGUMENT,
                "a window that is not symmetric, or not of ncclMemAlloc's memory",
            ));
        }
        group::add_window(Window {
            comm,
            address,
            len,
            out: out.expose_provenance(),
        });
        Ok(())
    })
}

/// Makes the windows of a group, those of each communicator one after the other and the
/// communicators beside each other, since each waits for all its ranks.
pub fn make(windows: Vec<Window>) -> Result<(), Code> {
    let mut all: Vec<Vec<Window>> = Vec::new();
    for window in windows {
        let same = all
            .iter_mut()
            .find(|one| Arc::ptr_eq(&one[0].comm, &window.comm));
        match same {
            Some(one) => one.push(window),
            None => all.push(vec![window]),
        }
    }
    let threads: Vec<_> = all
        .into_iter()
        .map(|one| std::thread::spawn(move || one.iter().try_for_each(make_one)))
        .collect();
    let ends: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap_or(Err(INTERNAL)))
        .collect();
    ends.into_iter().collect()
}

fn make_one(window: &Window) -> Result<(), Code> {
    const KIND: u64 = 77;
    let comm = &window.comm;
    let mine = window.len.to_le_bytes();
    let mut theirs = vec![[0u8; 8]; comm.world];
    theirs[comm.rank] = mine;
    let others = || (0..comm.world).filter(|&peer| peer != comm.rank);
    let mut out: Vec<_> = others()
        .map(|peer| Outgoing::new(peer, KIND, &mine))
        .collect();
    let mut into: Vec<_> = theirs
        .iter_mut()
        .enumerate()
        .filter(|&(peer, _)| peer != comm.rank)
        .map(|(peer, bytes)| Incoming::new(peer, KIND, bytes))
        .collect();
    exchange(comm.peers(), &mut out, &mut into, &|| comm.is_gone())?;
    if theirs.iter().any(|len| *len != mine) {
        return Err(fail(INVALID_ARGUMENT, "windows of different sizes"));
    }
    let handle = if crate::steer::makes_windows() {
        keep(comm, window.address, window.len, true)
    } else {
        0
    };
    let out: *mut *mut c_void = std::ptr::with_exposed_provenance_mut(window.out);
    // SAFETY: the promise of whoever added the window.
    unsafe { out.write(std::ptr::without_provenance_mut(handle)) };
    Ok(())
}

fn give_up(comm: usize, handle: usize, is_window: bool) -> Result<(), Code> {
    let comm = comm::find(comm)?;
    let mut all = comm.registrations();
    let found = all
        .iter()
        .position(|one| one.handle == handle && one.is_window == is_window);
    let Some(index) = found else {
        return Err(fail(INVALID_USAGE, "a registration that is not there"));
    };
    all.remove(index);
    journal::line(&format!("rank {} deregistered", comm.rank));
    Ok(())
}

/// # Safety
/// `handle` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommRegister(
    comm: *mut c_void,
    buffer: *mut c_void,
    len: usize,
    handle: *mut *mut c_void,
) -> Code {
    // SAFETY: the caller's promise.
    code(unsafe { register(comm.addr(), buffer.addr(), len, handle) })
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclCommDeregister(comm: *mut c_void, handle: *mut c_void) -> Code {
    code(give_up(comm.addr(), handle.addr(), false))
}

/// # Safety
/// `window` must be writable until the group closes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommWindowRegister(
    comm: *mut c_void,
    buffer: *mut c_void,
    len: usize,
    window: *mut *mut c_void,
    flags: c_int,
) -> Code {
    // SAFETY: the caller's promise.
    code(unsafe { add_window(comm.addr(), buffer.addr(), len, window, flags) })
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclCommWindowDeregister(comm: *mut c_void, window: *mut c_void) -> Code {
    code(give_up(comm.addr(), window.addr(), true))
}
