//! Who started this process, which process it is, and where the processes meet.

use crate::base::{Clock, Env, Fault, Kind};
use crate::bootstrap::ProcessPlane;
use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

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
    /// `--rendezvous HOST:PORT`.
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

/// This process and its machine, as [`crate::probe`] finds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Here {
    /// Host name, up to the first dot.
    pub host: String,
    /// Host name, boot id and network namespace, or `--host-label`.
    pub identity: String,
    /// Process id.
    pub pid: u32,
    /// Version of the program.
    pub version: String,
    /// Addresses at which others may reach this host, best first.
    pub addresses: Vec<IpAddr>,
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

/// What the launcher goes on offering; keep it as long as the run.
pub trait Meeting: Debug + Send + Sync {
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
    pub meeting: Box<dyn Meeting>,
}

/// Finds who started this process and joins the others.
///
/// # Errors
/// `Usage` for flags that do not fit, `Launch` for a wrong launch, `Timeout` naming who did not come.
pub fn join(wish: &Wish, env: &Env, here: &Here, clock: &Arc<dyn Clock>) -> Result<Joined, Fault> {
    let _ = (wish, env, here, clock);
    Err(Fault::new(Kind::Launch, "no launcher yet"))
}

/// What came of `--spawn`.
#[derive(Debug)]
pub struct Spawned {
    /// The code to leave with.
    pub exit_code: u8,
    /// What a reader must know: a process that a signal ended.
    pub notes: Vec<String>,
}

/// `--spawn N`: starts N processes of this program here with `arguments` (without the program's
/// name) less `--spawn`, and waits for them; stdout and stderr are theirs too.
///
/// # Errors
/// `Usage` with `--rank` and the like, `Call` if a process cannot be started.
pub fn spawn(wish: &Wish, arguments: &[String], clock: &Arc<dyn Clock>) -> Result<Spawned, Fault> {
    let _ = (wish, arguments, clock);
    Err(Fault::new(Kind::Launch, "no launcher yet"))
}
