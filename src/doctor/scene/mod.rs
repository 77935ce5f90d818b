//! What the checks look at: files, variables, commands and GPUs of this machine, or of one that was
//! copied under a root.
//!
//! Under a root nothing of this machine is asked: what other programs would say is read from files
//! in [`STORED`], and what has no such file is unknown. Nothing here judges.

mod ask;
mod files;
mod limits;
mod smi;
#[cfg(test)]
mod tests;

pub(super) use ask::ALL as ASKED;

pub(super) use ask::Asked;
pub(super) use ask::DMESG;
pub(super) use ask::FI_INFO;
pub(super) use ask::Silence;
pub(super) use limits::parse_list;

use super::hardware::Pci;
use crate::base::Env;
use crate::probe::rdma::Device;
use crate::record::GpuHealths;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::Duration;

/// Where a root keeps what commands said and what no file of a machine holds.
pub const STORED: &str = "doctor";

/// How long a program that is asked may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(15);

/// How long the resolver may take.
const RESOLVER_LIMIT: Duration = Duration::from_secs(5);

/// A machine as one process sees it.
#[derive(Debug)]
pub struct Scene {
    root: Option<PathBuf>,
    env: Env,
    ranks: u32,
    nccl_lib: Option<String>,
    gpus: OnceCell<Result<GpuHealths, String>>,
    pub(super) pci: OnceCell<Vec<Pci>>,
    pub(super) rdma: OnceCell<Vec<Device>>,
}

impl Scene {
    /// This machine, as a process with `env` sees it that would hold `ranks` ranks and load NCCL
    /// from `nccl_lib`, if that is given.
    pub fn here(env: Env, ranks: u32, nccl_lib: Option<String>) -> Self {
        Self {
            root: None,
            env,
            ranks,
            nccl_lib,
            gpus: OnceCell::new(),
            pci: OnceCell::new(),
            rdma: OnceCell::new(),
        }
    }

    /// The machine that lies under `root`; its variables are those of `proc/self/environ` there.
    ///
    /// # Errors
    /// In one line: the root is no folder, or holds nothing of a machine.
    pub fn under(root: PathBuf, ranks: u32) -> Result<Self, String> {
        let shown = root.display().to_string();
        if !root.is_dir() {
            return Err(format!("`{shown}` is no folder"));
        }
        let parts = ["proc", "sys", "etc", "dev"];
        if !parts.iter().any(|part| root.join(part).is_dir()) {
            return Err(format!(
                "`{shown}` holds none of the folders `proc`, `sys`, `etc` and `dev`"
            ));
        }
        let mut scene = Self {
            root: Some(root),
            ..Self::here(Env::default(), ranks, None)
        };
        scene.env = scene.environ();
        scene.nccl_lib = scene.env.get("NCCLBENCH_NCCL").map(str::to_owned);
        Ok(scene)
    }

    /// How many ranks this process would hold.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The NCCL library that was named.
    pub fn nccl_lib(&self) -> Option<&str> {
        self.nccl_lib.as_deref()
    }

    /// The value of a variable of the process.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env.get(name)
    }

    /// All variables of the process.
    pub fn variables(&self) -> &Env {
        &self.env
    }

    /// Whether this machine is looked at, and not a copy.
    pub fn is_live(&self) -> bool {
        self.root.is_none()
    }

    /// The host's name, up to the first dot.
    pub fn host(&self) -> Option<String> {
        let name = self.text("/proc/sys/kernel/hostname")?;
        name.split('.').next().map(str::to_owned)
    }
}
