//! One reading of a host's devices: what `probe` reads and `path` compares.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A host's counters at one moment. A counter that is not there is unknown, not 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicReading {
    /// The instance type, where the machine says it.
    pub instance: Option<String>,
    /// RDMA devices, by name.
    pub devices: Vec<NicCounters>,
    /// Bytes that each other interface has sent; none where the kernel does not say.
    pub ethernet: Option<BTreeMap<String, u64>>,
    /// Why something could not be read.
    pub unread: Vec<String>,
}

/// A device of `/sys/class/infiniband` and its counters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicCounters {
    /// `rdmap16s27`, `mlx5_0`.
    pub name: String,
    /// The kernel's driver: `efa`, `mlx5_core`.
    pub driver: Option<String>,
    /// PCI vendor, `0x1d0f`.
    pub vendor: Option<String>,
    /// PCI address.
    pub bus_id: Option<String>,
    /// NUMA node.
    pub numa: Option<u32>,
    /// State of the first port: `ACTIVE`, `DOWN`.
    pub state: Option<String>,
    /// Counters by the kernel's name, in the kernel's unit; ports added up.
    pub counters: BTreeMap<String, u64>,
}
