//! MPI by the crate `mpi` (cargo feature `mpi`): started and ended once, for launcher and backend.
//!
//! The whole program is then linked to one MPI. Calls block, and MPI offers no way to end one: who
//! calls keeps the deadline, and a process that is stuck in one leaves without coming back.

mod verbs;
mod world;

pub use verbs::Piece;
pub use verbs::Transfer;

use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use mpi::Threading;
use mpi::ffi as sys;
use mpi::traits::Communicator;
use std::ffi::c_char;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::Weak;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

/// How long MPI may take to start; libraries wait in it for processes that never come.
const INIT_LIMIT: Duration = Duration::from_mins(1);

/// How long it may take to end.
const BYE_LIMIT: Duration = Duration::from_secs(5);

/// More than any library's longest message.
const MOST_WORDS: usize = 4096;

/// Where the one start and the one end are.
static STAGE: Mutex<Stage> = Mutex::new(Stage::Before);

enum Stage {
    Before,
    Live(Weak<Mpi>),
    After,
}

/// MPI, from its start to its end.
#[derive(Debug)]
pub struct Mpi {
    rank: u32,
    size: u32,
    library: String,
    /// Whether several threads may call at a time.
    many_threads: bool,
    is_spoiled: AtomicBool,
    thread: Thread,
}

/// The thread that started MPI and must be the one to end it.
#[derive(Debug)]
struct Thread {
    end: mpsc::Sender<()>,
    ended: Mutex<mpsc::Receiver<()>>,
}

/// What the library says of itself; MPI need not have been started.
///
/// # Errors
/// `Call` if it is no text.
pub fn library_version() -> Result<String, Fault> {
    let text = mpi::environment::library_version()
        .map_err(|error| Fault::new(Kind::Call, format!("MPI_Get_library_version: {error}")))?;
    // name and version; who built it and when comes behind a comma or on further lines
    let line = text.split([',', '\n', '\0']).next().unwrap_or_default();
    Ok(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl Mpi {
    /// Starts MPI, or joins whoever in this process has; it ends when the last one lets go.
    ///
    /// # Errors
    /// `Launch` if the world is not the one that was started, `Timeout`, `Call` if MPI cannot be
    /// started, or cannot be called from other threads than the first.
    pub fn join(env: &Env) -> Result<Arc<Self>, Fault> {
        let mut stage = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
        match &*stage {
            Stage::Live(one) => one.upgrade().ok_or_else(over),
            Stage::After => Err(over()),
            Stage::Before => {
                world::expect_manager(env, &library_version()?)?;
                let one = Arc::new(Self::start()?);
                *stage = Stage::Live(Arc::downgrade(&one));
                drop(stage);
                world::expect_size(env, one.size, &one.library)?;
                Ok(one)
            }
        }
    }

    /// Whether a backend can join: MPI has been started by the launcher, or can be started beside it.
    ///
    /// # Errors
    /// `Launch`, naming the launcher to ask for.
    pub fn expect_joinable(env: &Env) -> Result<(), Fault> {
        match &*STAGE.lock().unwrap_or_else(PoisonError::into_inner) {
            Stage::Live(_) => Ok(()),
            Stage::After => Err(over()),
            Stage::Before => world::expect_free_line(env),
        }
    }

    fn start() -> Result<Self, Fault> {
        let (end, until) = mpsc::channel();
        let (tell_ended, ended) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new().name("mpi".to_owned());
        let body = move || {
            let started = mpi::initialize_with_threading(Threading::Multiple);
            let Some((universe, level)) = started else {
                return drop(tell.send(Err(over())));
            };
            drop(tell.send(Ok(level)));
            // an error means that everybody has let go
            let _ = until.recv();
            drop(universe);
            let _ = tell_ended.send(());
        };
        thread
            .spawn(body)
            .map_err(|error| Fault::new(Kind::Call, format!("cannot start a thread: {error}")))?;
        let level = told.recv_timeout(INIT_LIMIT).unwrap_or_else(|_| {
            let text = format!(
                "MPI_Init did not come back within {} s",
                INIT_LIMIT.as_secs()
            );
            Err(Fault::new(Kind::Timeout, text))
        })?;
        Self::started(
            level,
            Thread {
                end,
                ended: Mutex::new(ended),
            },
        )
    }

    fn started(level: Threading, thread: Thread) -> Result<Self, Fault> {
        if level < Threading::Serialized {
            let text = format!("MPI offers threads only as {level:?}; expected Serialized");
            return Err(Fault::new(Kind::Call, text));
        }
        // SAFETY: MPI has been started, and both are constants of the library.
        let code = unsafe {
            sys::MPI_Comm_set_errhandler(sys::RSMPI_COMM_WORLD, sys::RSMPI_ERRORS_RETURN)
        };
        check("MPI_Comm_set_errhandler", code)?;
        let world = mpi::topology::SimpleCommunicator::world();
        let number = |value: i32| u32::try_from(value).unwrap_or(0);
        Ok(Self {
            rank: number(world.rank()),
            size: number(world.size()),
            library: library_version()?,
            many_threads: level == Threading::Multiple,
            is_spoiled: AtomicBool::new(false),
            thread,
        })
    }

    /// This process in `MPI_COMM_WORLD`.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The library, in its own words.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// A text from rank 0 to all.
    ///
    /// # Errors
    /// `Call` with MPI's words, or if it is no text of a sensible length.
    pub fn broadcast_text(&self, text: &str) -> Result<String, Fault> {
        let wrong = || Fault::new(Kind::Call, "what MPI_Bcast brought is no text of rank 0's");
        let mut len = u32::try_from(text.len())
            .map_err(|_| wrong())?
            .to_ne_bytes();
        broadcast(&mut len)?;
        let len = usize::try_from(u32::from_ne_bytes(len)).map_err(|_| wrong())?;
        if len > 1 << 20 {
            return Err(wrong());
        }
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(len, 0);
        broadcast(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| wrong())
    }

    /// Something has failed: other processes may not come to a common end, so none is waited for.
    pub fn spoil(&self) {
        self.is_spoiled.store(true, Ordering::Relaxed);
    }

    /// Ends all processes with `code`, where the library may be called while others call it too.
    pub fn abort(&self, code: u8) {
        self.spoil();
        if self.many_threads {
            // SAFETY: MPI has been started and lets several threads call; does not come back.
            unsafe { sys::MPI_Abort(sys::RSMPI_COMM_WORLD, code.into()) };
        }
    }
}

fn broadcast(bytes: &mut [u8]) -> Result<(), Fault> {
    let len = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
    // SAFETY: `bytes` is as long as is said, and exclusive through the call, which blocks.
    let code = unsafe {
        sys::MPI_Bcast(
            bytes.as_mut_ptr().cast(),
            len,
            sys::RSMPI_UINT8_T,
            0,
            sys::RSMPI_COMM_WORLD,
        )
    };
    check("MPI_Bcast", code)
}

impl Drop for Mpi {
    fn drop(&mut self) {
        *STAGE.lock().unwrap_or_else(PoisonError::into_inner) = Stage::After;
        if self.is_spoiled.load(Ordering::Relaxed) {
            return;
        }
        let _ = self.thread.end.send(());
        let ended = self.thread.ended.lock();
        // an end that does not come is left behind
        let _ = ended
            .unwrap_or_else(PoisonError::into_inner)
            .recv_timeout(BYE_LIMIT);
    }
}

fn over() -> Fault {
    Fault::new(
        Kind::Call,
        "MPI has been ended in this process and cannot be started again",
    )
}

/// MPI's words on a code that is not success.
fn check(call: &str, code: c_int) -> Result<(), Fault> {
    if code == 0 {
        return Ok(());
    }
    let mut words: [c_char; MOST_WORDS] = [0; MOST_WORDS];
    let mut len = 0;
    // SAFETY: there is more room than any library's longest message takes.
    let told = unsafe { sys::MPI_Error_string(code, words.as_mut_ptr(), &raw mut len) };
    let len = usize::try_from(len).unwrap_or(0).min(MOST_WORDS);
    let bytes = words[..len].iter().map(|letter| letter.to_ne_bytes()[0]);
    let said = String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned();
    let said = if told == 0 { said } else { String::new() };
    let text = format!("{call} failed: {said} ({code})");
    Err(Fault::new(Kind::Call, text))
}
