//! Who runs a collective: the library under test, the CPU, or a cost model.

mod check;
mod extras;
mod host;
pub mod kernel;
mod machine;
mod messages;
#[cfg(feature = "mpi")]
mod mpi;
mod nccl;
mod sim;

pub use extras::{CommWish, Events, Extras, Graphs, Registrar};

use crate::base::pattern::{Recipe, Stretch};
use crate::base::{Buffer, Bytes, Clock, Env, Fault, Rank, Span, World};
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Witness;
use crate::ops::Ops;
use crate::record::{DeviceRecord, LibraryRecord, Mismatches, Tuning};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// Every backend, in the order in which lists show them; the first is the default.
pub const ALL: &[&dyn Backend] = &[
    &nccl::NcclBackend,
    &kernel::KernelBackend,
    &host::Host,
    #[cfg(feature = "mpi")]
    &mpi::MpiBackend,
    &sim::Sim,
];

/// What a backend is told before it looks round.
#[derive(Debug, Clone)]
pub struct Wish {
    /// `--nccl-lib`, else `NCCLBENCH_NCCL`.
    pub nccl_lib: Option<String>,
    /// The process's environment.
    pub env: Env,
    /// Seed of what is simulated.
    pub seed: u64,
    /// What the communicator is told beside the defaults.
    pub comm: CommWish,
    /// For backend `kernel` alone.
    pub kernel: KernelWish,
}

/// What backend `kernel` is told; by default it chooses by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelWish {
    /// The algorithm, by its name.
    pub algo: Option<String>,
    /// Blocks of a launch.
    pub blocks: Option<u32>,
    /// Threads of a block.
    pub block_threads: Option<u32>,
    /// Whether launches may be made ready while earlier ones run, where the GPU can do that.
    pub early: Option<bool>,
    /// A table that was measured, instead of the built-in one.
    pub tuning: Option<Tuning>,
}

/// What a backend found in this process.
#[derive(Debug, Clone)]
pub struct Equipment {
    /// Libraries it loaded.
    pub libraries: Vec<LibraryRecord>,
    /// Devices it can see, by ordinal. `host` and `sim` have one, which all ranks share.
    pub devices: Vec<DeviceRecord>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// The place of one engine thread.
#[derive(Debug, Clone)]
pub struct ThreadSeat {
    /// Number of ranks in the world.
    pub world: World,
    /// The ranks this thread drives, consecutive.
    pub ranks: Vec<Rank>,
    /// The device of each of them.
    pub devices: Vec<u32>,
    /// Host name, up to the first dot.
    pub host: String,
    /// Host name, boot id and network namespace, or `--host-label`: shared memory only within one.
    pub host_identity: String,
    /// How long opening may take.
    pub limit: Duration,
    /// How long an operation may go without progress; none means for ever.
    pub op_limit: Option<Duration>,
    /// The run's clock.
    pub clock: Arc<dyn Clock>,
    /// What the backend was told.
    pub wish: Wish,
}

/// A way to run collectives.
pub trait Backend: Debug + Sync {
    /// Its name for `--backend`.
    fn name(&self) -> &'static str;

    /// One line for lists.
    fn summary(&self) -> &'static str;

    /// False for a cost model: every report marks its rows.
    fn measures(&self) -> bool;

    /// Whether one thread drives all its `-g` ranks (grouped calls), or every rank is a thread.
    fn lanes_share_a_thread(&self) -> bool;

    /// Whether an operation is complete when its call returns, so that every one is progress; else
    /// only what is waited for is known to be.
    fn launches_block(&self) -> bool {
        false
    }

    /// Whom to ask why a run hangs; nobody by default.
    fn witness(&self, _wish: &Wish) -> Option<Witness> {
        None
    }

    /// `Ok` where it can heed what the communicator is to be told; no backend passes over it in silence.
    ///
    /// # Errors
    /// `Unsupported`, naming the option.
    fn heed(&self, wish: CommWish) -> Result<(), Fault> {
        wish.require_none(self.name())
    }

    /// Loads its libraries and lists this process's devices; creates nothing.
    ///
    /// # Errors
    /// `Missing`, saying what is not there and what to do instead.
    fn probe(&self, wish: &Wish) -> Result<Equipment, Fault>;

    /// Opens a communicator over all ranks; `boot` joins all engine threads of all processes and
    /// every one of them makes this call.
    ///
    /// # Errors
    /// `Call` where the library fails, `Timeout` where it does not come back, faults of `boot`.
    fn open(&self, seat: &ThreadSeat, boot: &dyn Bootstrap) -> Result<Box<dyn Session>, Fault>;

    /// How the ranks of a world of this size find each other, where a record's reader must know.
    fn joining(&self, _wish: &Wish, _world: World) -> Option<String> {
        None
    }
}

/// Ends what a session waits for; may be called from another thread, more than once.
pub trait Abort: Debug + Send + Sync {
    /// Makes the session's waits return with a fault as soon as they can. Never blocks for long.
    fn abort(&self);
}

/// An open communicator as one engine thread sees it: some ranks ("lanes"), each with its own buffers and stream.
///
/// What it may have besides is [`Extras`].
pub trait Session: Extras {
    /// The verbs of lane `lane`.
    fn ops(&self, lane: usize) -> &dyn Ops;

    /// Runs `body`, which enqueues on several lanes, as one group call.
    ///
    /// # Errors
    /// Those of `body`, else those of closing the group.
    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault>;

    /// Bytes that one lane may still allocate, where there is a limit worth asking about.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    fn free_memory(&self, lane: usize) -> Result<Option<Bytes>, Fault>;

    /// Allocates a buffer on a lane; freed with the session.
    ///
    /// # Errors
    /// `Call` where there is not enough memory.
    fn alloc(&mut self, lane: usize, len: Bytes) -> Result<Buffer, Fault>;

    /// Enqueues writing `recipe`'s input of this lane's rank, from element 0, into a span.
    ///
    /// # Errors
    /// `Call` where the device fails.
    fn fill(&mut self, lane: usize, into: Span, recipe: &Recipe) -> Result<(), Fault>;

    /// Enqueues overwriting a span with what no right result looks like.
    ///
    /// # Errors
    /// `Call` where the device fails.
    fn poison(&mut self, lane: usize, span: Span, recipe: &Recipe) -> Result<(), Fault>;

    /// Compares a lane's output with what `expect` says, waiting for it; `None` where there is no data to compare (`sim`).
    ///
    /// # Errors
    /// `Call` where the device fails.
    fn verify(
        &mut self,
        lane: usize,
        got: Span,
        recipe: &Recipe,
        expect: &[Stretch],
    ) -> Result<Option<Mismatches>, Fault>;

    /// Whether all that was enqueued on all lanes is complete; looks for asynchronous errors too. Does not block.
    ///
    /// # Errors
    /// `Call` where an operation has failed.
    fn poll(&mut self) -> Result<bool, Fault>;

    /// What ends this session's waits from another thread.
    fn aborter(&self) -> Arc<dyn Abort>;
}
