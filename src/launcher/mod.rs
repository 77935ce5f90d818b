//! Who started this process, which process it is, and where the processes meet.
//!
//! A launcher says no more than that; everything later goes over the control plane of `bootstrap`.

mod alone;
mod child;
mod compose;
mod exchange;
mod explicit;
mod folder;
mod kubernetes;
#[cfg(feature = "mpi")]
mod mpi;
mod nodelist;
mod open_mpi;
mod pmi1;
mod pmi1_wire;
mod pmix;
mod slurm;
mod spawn;
mod speaker;
mod torchrun;
mod variables;

pub use crate::bootstrap::Here;
pub use child::ChildWish;
pub use child::Place as ChildPlace;
pub use child::Rendezvous;
pub use child::run_child;
pub use compose::join;
pub use nodelist::expand as node_list;
pub use spawn::Spawned;
pub use spawn::spawn;
pub use speaker::is_first;

use crate::base::Env;
use crate::base::Fault;
use crate::bootstrap::ProcessPlane;
use crate::bootstrap::tcp::listen::Place;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Every launcher, in the order in which they are looked for.
pub const ALL: &[&dyn Launcher] = &[
    &explicit::Explicit,
    &open_mpi::OpenMpi,
    &pmix::PmixServer,
    &pmi1::Pmi1,
    &torchrun::Torchrun,
    &slurm::Slurm,
    &kubernetes::Kubernetes,
    #[cfg(feature = "mpi")]
    &mpi::MpiWorld,
    &alone::Alone,
];

/// The launcher that nothing announces.
const ALONE: &str = "alone";

/// What the command line says about the launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// `--launcher`.
    pub launcher: Option<String>,
    /// `--spawn`: local processes to start.
    pub spawn: Option<u32>,
    /// `--rank`: this process.
    pub rank: Option<u32>,
    /// `--world`: the number of processes.
    pub world: Option<u32>,
    /// `--rendezvous`: `HOST:PORT` or `file:///FOLDER`.
    pub rendezvous: Option<String>,
    /// `--secret-file`.
    pub secret_file: Option<String>,
    /// How long all processes may take to meet.
    pub timeout_init: Duration,
    /// Path of libpmix, else `NCCLBENCH_PMIX`.
    pub pmix_lib: Option<String>,
    /// Ranks in each process: `-t` times `-g`.
    pub ranks_per_process: u32,
}

/// A process's place among the processes of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSeat {
    /// Index of the process.
    pub process: u32,
    /// Number of processes.
    pub processes: u32,
    /// Index among the processes of its host, where the launcher says so; the control plane counts otherwise.
    pub local_process: Option<u32>,
    /// Which launcher.
    pub launcher: &'static str,
    /// The flags or variables that decided it.
    pub reason: String,
}

/// All that a launcher may look at.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The command line's wishes.
    pub wish: &'a Wish,
    /// The environment.
    pub env: &'a Env,
}

/// A launcher: the variables it leaves, and how its processes meet.
pub trait Launcher: Debug + Sync {
    /// Its name for `--launcher`.
    fn name(&self) -> &'static str;

    /// One line for lists.
    fn summary(&self) -> &'static str;

    /// Whether flags or variables say that this process was started this way.
    fn is_announced(&self, wish: &Wish, env: &Env) -> bool;

    /// Takes this process's place.
    ///
    /// # Errors
    /// `Launch` if what it left cannot be used.
    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault>;
}

/// What a launcher said.
#[derive(Debug)]
pub struct Taken {
    /// This process's place.
    pub seat: ProcessSeat,
    /// A name that all processes of the run know, and no other run has.
    pub job: String,
    /// How the processes find each other.
    pub way: Way,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// How the processes find each other.
#[derive(Debug)]
pub enum Way {
    /// There is nobody to be found.
    Alone,
    /// At a place that all know.
    At(Place),
    /// At a place that all know by a name that may come to be known only while they wait.
    Awaited(Place),
    /// By files in a folder that all share.
    Folder(PathBuf),
    /// As a flag says, with what the launcher carries besides.
    Named {
        /// What the flag says.
        way: Box<Way>,
        /// The carrier, for its abort.
        meeting: Box<dyn Meeting>,
    },
    /// By what the launcher carries from the first to all.
    Carried {
        /// The carrier.
        meeting: Box<dyn Meeting>,
        /// Whether all processes are on one host.
        one_host: bool,
    },
}

/// What the launcher goes on offering; keep it as long as the run.
pub trait Meeting: Debug + Send + Sync {
    /// Leaves a text for all processes. Called by the first.
    ///
    /// # Errors
    /// `Call` with the carrier's words; `Timeout`.
    fn publish(&self, text: &str, limit: Duration) -> Result<(), Fault>;

    /// The text that the first process has left.
    ///
    /// # Errors
    /// As [`Meeting::publish`].
    fn lookup(&self, limit: Duration) -> Result<String, Fault>;

    /// All processes have met: nothing is to be carried any more.
    fn met(&self) {}

    /// Asks the launcher to end all processes with `code`, where it can. Does not wait for long.
    fn abort(&self, code: u8, message: &str);
}

/// A process that has met the others.
#[derive(Debug)]
pub struct Joined {
    /// Its place.
    pub seat: ProcessSeat,
    /// The joined control plane.
    pub plane: Arc<dyn ProcessPlane>,
    /// What a reader must know, without `note: `.
    pub notes: Vec<String>,
    /// What the launcher goes on offering; keep it as long as the run.
    pub meeting: Arc<dyn Meeting>,
}

/// Names of all launchers that flags or variables announce, in the order in which they are looked
/// for; the one that is always there is left out.
pub fn announced(wish: &Wish, env: &Env) -> Vec<&'static str> {
    let others = ALL.iter().filter(|launcher| launcher.name() != ALONE);
    let announced = others.filter(|launcher| launcher.is_announced(wish, env));
    announced.map(|launcher| launcher.name()).collect()
}

/// Variables that say which process this one is.
const RANKS: [&str; 6] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "RANK",
    "SLURM_PROCID",
    "JOB_COMPLETION_INDEX",
];

/// Which process the flags or the variables say that this is, whether or not it could join.
pub fn index(wish: &Wish, env: &Env) -> Option<String> {
    let said = RANKS.iter().find_map(|name| env.get(name));
    let flag = wish.rank.map(|rank| rank.to_string());
    flag.or_else(|| said.map(str::to_owned))
}

/// The launcher of a name.
///
/// # Errors
/// `Usage` listing all names.
pub fn by_name(name: &str) -> Result<&'static dyn Launcher, Fault> {
    let found = ALL.iter().find(|launcher| launcher.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<String> = ALL.iter().map(|one| format!("`{}`", one.name())).collect();
        Fault::usage(format!(
            "invalid value `{name}` for `--launcher`; expected one of {}",
            names.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests;
