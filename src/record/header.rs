//! What opens and what closes a run's file.

use super::Conditions;
use super::Judgement;
use super::MemoryUse;
use super::PathRecord;
use super::Settings;
use super::SweepRecord;
use super::line::{all_finite, finite};
use super::path::LogFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A library that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryRecord {
    /// `nccl`, `cuda driver`, `pmix`.
    pub name: String,
    /// The file it came from.
    pub path: String,
    /// Its version as it says it.
    pub version: String,
    /// Its version as a number (`ncclGetVersion`), where it has one.
    pub code: Option<i32>,
    /// A test fixture and not the real thing.
    pub stand_in: bool,
}

/// A GPU, or the CPU that plays one on backend `host`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Index among the visible devices of its process.
    pub ordinal: u32,
    /// Name as the driver gives it; the CPU's model name on `host`.
    pub name: String,
    /// PCI address `0000:53:00`; `0000:00:00` on `host`.
    pub bus_id: String,
    /// Universally unique id; none on `host`.
    pub uuid: Option<String>,
    /// Memory in bytes, where it is known.
    pub memory_bytes: Option<u64>,
}

/// One rank's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatRecord {
    /// The rank.
    pub rank: u32,
    /// Its process's index in the world of processes.
    pub process: u32,
    /// Its process's id.
    pub pid: u32,
    /// Its host name, up to the first dot.
    pub host: String,
    /// What it runs on.
    pub device: DeviceRecord,
}

/// The first line of a run's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`super::SCHEMA`].
    pub schema: u32,
    /// This program's version.
    pub ncclbench: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// Seconds that local time is ahead of UTC on the first rank; the table's timestamps are local.
    pub utc_offset_s: i32,
    /// The command line, as given.
    pub args: Vec<String>,
    /// The collective's one spelling.
    pub collective: String,
    /// Which backend ran it.
    pub backend: String,
    /// `native` where the collective was one call of the library, `composed` where it was made of
    /// sends and receives; none in files of before this was kept.
    #[serde(default)]
    pub call: Option<String>,
    /// False for a cost model: nothing was measured.
    pub measured: bool,
    /// A stand-in library took part: a test of this program and not a measurement.
    pub stand_in: bool,
    /// Which launcher was used, and why.
    pub launcher: String,
    /// The variables or flags that decided it.
    pub launcher_reason: String,
    /// Processes, threads for each, GPUs for each thread.
    pub shape: [u32; 3],
    /// What the run was told to do.
    pub settings: Settings,
    /// Seed that all data followed from; none in files from before it was written.
    #[serde(default)]
    pub seed: Option<u64>,
    /// How the table's `time` combines ranks: `rank0`, `mean`, `min`, `max`.
    pub average: String,
    /// The libraries that were loaded.
    pub libraries: Vec<LibraryRecord>,
    /// Every rank's place, by rank.
    pub seats: Vec<SeatRecord>,
    /// The group of each rank's process, by rank, where the processes form several
    /// (`NCCL_TESTS_SPLIT`): ranks work together within their group only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<u64>,
    /// Variables that matter, from an allow-list.
    pub environment: BTreeMap<String, String>,
    /// Digest of the plan that all ranks agreed on.
    pub plan: String,
    /// The size limit that memory set, if it cut the sweep.
    pub clamped_to_bytes: Option<u64>,
    /// What a reader must know: inexact checks, shared GPUs, skipped steps.
    pub notes: Vec<String>,
    /// What NCCL's log on the first process said once the communicator was open; the verdict on the
    /// path is the footer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl_log: Option<LogFacts>,
    /// Milliseconds that the steps of initialisation took on the first rank.
    #[serde(serialize_with = "all_finite")]
    pub init_ms: BTreeMap<String, f64>,
    /// What the sweep was, where the run was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepRecord>,
    /// The devices' state before the first measurement; none in files from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
}

/// A mean bus bandwidth that a run must reach, and whether it did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BandwidthFloor {
    /// What the mean is held against: nine tenths of what was asked for.
    #[serde(serialize_with = "finite")]
    pub floor_gbps: f64,
    /// Whether the run measured something and its mean is not below.
    pub met: bool,
}

/// The last line of a run's file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Footer {
    /// When it ended, RFC 3339 in UTC.
    pub ended: String,
    /// Rows written.
    pub rows: u64,
    /// Pairs of a measurement and a thread of the world whose output had any wrong element, as
    /// nccl-tests counts its `Out of bounds values`.
    pub wrong_measurements: u64,
    /// Mean of the bus bandwidths of all measurements, as nccl-tests prints it; 0 where there is none.
    #[serde(serialize_with = "finite")]
    pub average_busbw_gbps: f64,
    /// The exit code that all processes agreed on.
    pub exit_code: u8,
    /// What ended the run early, if something did.
    pub fault: Option<String>,
    /// Whether that was a signal, so that nothing need be wrong.
    #[serde(default)]
    pub interrupted: bool,
    /// The bandwidth that was asked for (`NCCL_TESTS_MIN_BW`), where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_floor: Option<BandwidthFloor>,
    /// The devices' state after the last measurement; none where the run was ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// What the sweep came to; none where the run was none or was ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// Which way the bytes went, where that was found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRecord>,
    /// The device memory that the run took, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryUse>,
}
