//! The state of a GPU as its management library tells it. What was not told is none, never a default.

use serde::Deserialize;
use serde::Serialize;

/// A GPU's state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuHealth {
    /// The management library's index, which need not be CUDA's ordinal.
    pub index: u32,
    /// `NVIDIA H200`.
    pub name: String,
    /// `GPU-…`.
    pub uuid: Option<String>,
    /// As sysfs spells it: `0000:18:00.0`.
    pub bus_id: Option<String>,
    /// Whether the driver stays loaded without clients.
    pub persistence: Option<bool>,
    /// Whether it is cut into slices.
    pub mig: Option<bool>,
    /// Whether memory errors are corrected.
    pub ecc: Option<bool>,
    /// Uncorrectable memory errors since the driver was loaded.
    pub uncorrectable_volatile: Option<u64>,
    /// The same over its life.
    pub uncorrectable_aggregate: Option<u64>,
    /// Rows that were replaced after uncorrectable errors.
    pub remapped_uncorrectable: Option<u64>,
    /// A replacement waits for a reset.
    pub remap_pending: Option<bool>,
    /// A row could not be replaced.
    pub remap_failed: Option<bool>,
    /// PCIe generation now, and the most that this slot and GPU can.
    pub pcie_gen: Option<(u32, u32)>,
    /// PCIe lanes now, and the most.
    pub pcie_width: Option<(u32, u32)>,
    /// PCIe replays since the driver was loaded.
    pub pcie_replays: Option<u64>,
    /// Why the clocks are not at their highest, in the library's words; none is not told.
    pub throttle: Option<Vec<String>>,
    /// Clock of the multiprocessors in MHz now, and the most.
    pub sm_clock_mhz: Option<(u32, u32)>,
    /// Temperature in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// NVLinks that are up, and how many the library has a state for.
    pub nvlinks: Option<(u32, u32)>,
    /// Errors of the NVLinks by kind: CRC, replay, recovery.
    pub nvlink_errors: Option<[u64; 3]>,
    /// State of its registration with the NVSwitch fabric: `Completed`; none is not told.
    pub fabric: Option<String>,
}

/// The state of all GPUs that the management library shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuHealths {
    /// Who told: `NVML`, `nvidia-smi`.
    pub source: String,
    /// Version of the driver.
    pub driver: Option<String>,
    /// Latest CUDA that the driver serves: `13.0`.
    pub cuda: Option<String>,
    /// By index.
    pub gpus: Vec<GpuHealth>,
}
