//! What holds the clocks of some GPUs back, asked again and again of one open management library.
//!
//! Everything else about a GPU's state is read at once by `gpu_health`; this is what is quick enough
//! to be asked between two measurements.

use super::gpu_health;
use nvml_wrapper::Nvml;

/// An open management library and the GPUs to ask about.
#[derive(Debug)]
pub struct Throttle {
    nvml: Nvml,
    /// Rank and unique id.
    gpus: Vec<(u32, String)>,
}

impl Throttle {
    /// For the GPUs of these ranks; none where there is no library or no GPU.
    pub fn open(gpus: Vec<(u32, String)>) -> Option<Self> {
        if gpus.is_empty() {
            return None;
        }
        let nvml = gpu_health::open().ok()?;
        Some(Self { nvml, gpus })
    }

    /// What holds them back now, `rank 3: power cap`; a GPU that is not told is left out.
    pub fn now(&self) -> Vec<String> {
        let told = self.gpus.iter().filter_map(|(rank, uuid)| {
            let device = self.nvml.device_by_uuid(uuid.as_str()).ok()?;
            let reasons = device.current_throttle_reasons().ok()?;
            let words = gpu_health::reasons(reasons);
            (!words.is_empty()).then(|| format!("rank {rank}: {}", words.join(", ")))
        });
        told.collect()
    }
}
