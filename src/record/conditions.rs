//! In which state the devices were: clocks, temperature, what holds them back.
//!
//! What could not be read is none and named in `unknown`, never zero.

use serde::{Deserialize, Serialize};

/// The devices of all hosts at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// When they were read, RFC 3339 in UTC.
    pub at: String,
    /// Each rank's device, one entry for each device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceState>,
    /// Hosts, and what could not be learnt there at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// One device.
///
/// # Units
/// MHz, °C, counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceState {
    /// Its host.
    pub host: String,
    /// Its unique id.
    pub uuid: String,
    /// Clock of the multiprocessors now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<u32>,
    /// The highest they can have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_max_mhz: Option<u32>,
    /// What holds the clocks back: `idle`, `power cap`, `thermal (hardware)`, …; none where it was not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Vec<String>>,
    /// Temperature of the chip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<u32>,
    /// Whether errors in memory are corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<bool>,
    /// Errors that could not be corrected, since the driver was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc_uncorrected: Option<u64>,
    /// Active `NVLinks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlinks: Option<u32>,
    /// Lanes of the PCI link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_lanes: Option<u32>,
    /// Generation of the PCI link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_generation: Option<u32>,
    /// What was asked for and not answered, with the library's word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}
