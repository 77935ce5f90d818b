//! Who started this process, which process it is, and where the processes meet.

use crate::base::{Env, Fault};
use crate::bootstrap::Bootstrap;
use std::fmt::Debug;
use std::sync::Arc;

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

/// A launcher: the variables it leaves, and how its processes meet.
pub trait Launcher: Debug + Sync {
    /// Its name for `--launcher`.
    fn name(&self) -> &'static str;

    /// One line for lists.
    fn summary(&self) -> &'static str;

    /// `None`: not started this way. `Some(Err)`: started this way, but what it left is not usable.
    fn seat(&self, env: &Env) -> Option<Result<ProcessSeat, Fault>>;
}

/// A joined control plane.
pub type Plane = Arc<dyn Bootstrap>;
