//! Communicators and the operators that were created on them.

use crate::log;
#[cfg(feature = "modern")]
use crate::register::Registered;
use crate::steer::{self, Init};
use crate::wire::Meeting;
use crate::{Code, INTERNAL, INVALID_ARGUMENT, SUCCESS, fail};
use ncclbench::base::DataType;
use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// One rank's communicator.
pub struct Comm {
    pub rank: usize,
    pub world: usize,
    /// The context that was current when it was made.
    pub context: usize,
    peers: OnceLock<Vec<Option<TcpStream>>>,
    calls: AtomicU64,
    gone: AtomicBool,
    failed: AtomicI32,
    operators: Mutex<Vec<(DataType, u64)>>,
    #[cfg(feature = "modern")]
    registrations: Mutex<Vec<Registered>>,
}

/// Communicators by handle. A handle is never used twice, so that a stale one is always caught.
static COMMS: LazyLock<Mutex<HashMap<usize, Arc<Comm>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicUsize = AtomicUsize::new(0x2000);

fn comms() -> std::sync::MutexGuard<'static, HashMap<usize, Arc<Comm>>> {
    COMMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The communicator behind a handle.
pub fn find(handle: usize) -> Result<Arc<Comm>, Code> {
    comms().get(&handle).cloned().ok_or_else(|| {
        fail(
            INVALID_ARGUMENT,
            "a communicator that does not exist, or was destroyed or aborted",
        )
    })
}

/// Takes a communicator out of service.
pub fn remove(handle: usize) -> Result<Arc<Comm>, Code> {
    let comm = find(handle)?;
    comms().remove(&handle);
    comm.give_up();
    Ok(comm)
}

/// A communicator that is not connected yet, and its handle.
pub fn create(rank: usize, world: usize, context: usize) -> (usize, Arc<Comm>) {
    let comm = Arc::new(Comm {
        rank,
        world,
        context,
        peers: OnceLock::new(),
        calls: AtomicU64::new(0),
        gone: AtomicBool::new(false),
        failed: AtomicI32::new(SUCCESS),
        operators: Mutex::default(),
        #[cfg(feature = "modern")]
        registrations: Mutex::default(),
    });
    let handle = NEXT.fetch_add(16, Ordering::Relaxed);
    comms().insert(handle, Arc::clone(&comm));
    (handle, comm)
}

impl Comm {
    /// Meets the other ranks.
    pub fn connect(&self, meeting: Meeting) -> Result<(), Code> {
        log::at_init(self.rank);
        match steer::init(self.rank) {
            Init::Fine => {}
            Init::Error(code) => return Err(fail(code, "initialisation was told to fail")),
            Init::Hang => {
                self.hang();
                return Err(INTERNAL);
            }
        }
        let peers = meeting.join(self.rank, self.world, &|| self.is_gone())?;
        self.peers.set(peers).map_err(|_| INTERNAL)
    }

    pub fn peers(&self) -> &[Option<TcpStream>] {
        self.peers.get().map_or(&[], Vec::as_slice)
    }

    /// The number of a new call, from 1.
    pub fn next_call(&self) -> u64 {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if number == 1 {
            log::at_first_operation(self.rank);
        }
        number
    }

    /// Whether it was destroyed or aborted.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Ends every wait on it.
    pub fn give_up(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Waits for the abort.
    pub fn hang(&self) {
        while !self.is_gone() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What an operation has come to since it was accepted.
    pub fn state(&self) -> Code {
        self.failed.load(Ordering::Acquire)
    }

    /// Records that an operation failed. As with NCCL's kernels, the stream then waits for the abort.
    pub fn fail_on_stream(&self, code: Code) {
        self.failed.store(code, Ordering::Release);
        self.hang();
    }

    /// The buffers that are registered with it.
    #[cfg(feature = "modern")]
    pub fn registrations(&self) -> std::sync::MutexGuard<'_, Vec<Registered>> {
        let registrations = self.registrations.lock();
        registrations.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a buffer of an operation is registered.
    pub fn knows(&self, address: usize, len: usize) -> bool {
        #[cfg(feature = "modern")]
        return self
            .registrations()
            .iter()
            .any(|one| one.holds(address, len));
        #[cfg(not(feature = "modern"))]
        return address + len == 0;
    }

    /// Adds an operator; returns its index.
    pub fn add_operator(&self, dtype: DataType, bits: u64) -> usize {
        let mut operators = self
            .operators
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        operators.push((dtype, bits));
        operators.len() - 1
    }

    /// The operator with an index.
    pub fn operator(&self, index: usize) -> Option<(DataType, u64)> {
        let operators = self
            .operators
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        operators.get(index).copied()
    }
}
