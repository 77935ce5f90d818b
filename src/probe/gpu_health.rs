//! The state of the GPUs, asked of NVIDIA's management library, which is loaded at run time.
//!
//! Nothing is set, and no CUDA context is made. What the library does not tell is left out.

use crate::record::GpuHealth;
use crate::record::GpuHealths;
use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enum_wrappers::device::EccCounter;
use nvml_wrapper::enum_wrappers::device::MemoryError;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id;
use std::ffi::OsStr;

/// The name that a runtime installation has; the library's own default is that of a development one.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// No GPU has more NVLinks than this.
///
/// # Source
/// `nvml.h`, `NVML_NVLINK_MAX_LINKS`.
const MOST_NVLINKS: u32 = 36;

/// Asks for all GPUs.
///
/// # Errors
/// The loader's or the library's words where there is no library or no driver.
pub fn all() -> Result<GpuHealths, String> {
    let nvml = open()?;
    let count = nvml
        .device_count()
        .map_err(|error| format!("NVML cannot count devices: {error}"))?;
    let gpus = (0..count).map(|index| gpu(&nvml, index));
    Ok(GpuHealths {
        source: "NVML".to_owned(),
        driver: nvml.sys_driver_version().ok(),
        cuda: nvml.sys_cuda_driver_version().ok().map(cuda_version),
        gpus: gpus.collect::<Result<_, _>>()?,
    })
}

/// Loads the library and opens it.
pub(super) fn open() -> Result<Nvml, String> {
    Nvml::builder()
        .lib_path(OsStr::new(LIBRARY))
        .init()
        .map_err(|error| refusal(&error))
}

/// The loader's words name the library already.
fn refusal(error: &NvmlError) -> String {
    match error {
        NvmlError::LibloadingError(words) => words.to_string(),
        other => format!("{LIBRARY}: {other}"),
    }
}

/// 13020 is 13.2.
fn cuda_version(number: i32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

fn gpu(nvml: &Nvml, index: u32) -> Result<GpuHealth, String> {
    let device = nvml
        .device_by_index(index)
        .map_err(|error| format!("NVML cannot open GPU {index}: {error}"))?;
    let uncorrectable = |counter| {
        let error = MemoryError::Uncorrected;
        device.total_ecc_errors(error, counter).ok()
    };
    let fields = Fields::of(&device);
    let flag = |id| fields.get(id).map(|value| value != 0);
    Ok(GpuHealth {
        index,
        name: device.name().unwrap_or_default(),
        uuid: device.uuid().ok(),
        bus_id: device.pci_info().ok().map(|info| bus_id(&info.bus_id)),
        persistence: device.is_in_persistent_mode().ok(),
        mig: device.mig_mode().ok().map(|mode| mode.current != 0),
        ecc: device
            .is_ecc_enabled()
            .ok()
            .map(|ecc| ecc.currently_enabled),
        uncorrectable_volatile: uncorrectable(EccCounter::Volatile),
        uncorrectable_aggregate: uncorrectable(EccCounter::Aggregate),
        remapped_uncorrectable: fields.get(field_id::NVML_FI_DEV_REMAPPED_UNC),
        remap_pending: flag(field_id::NVML_FI_DEV_REMAPPED_PENDING),
        remap_failed: flag(field_id::NVML_FI_DEV_REMAPPED_FAILURE),
        pcie_gen: pair(device.current_pcie_link_gen(), device.max_pcie_link_gen()),
        pcie_width: pair(
            device.current_pcie_link_width(),
            device.max_pcie_link_width(),
        ),
        pcie_replays: device.pcie_replay_counter().ok().map(u64::from),
        throttle: device.current_throttle_reasons().ok().map(reasons),
        sm_clock_mhz: pair(
            device.clock_info(Clock::SM),
            device.max_clock_info(Clock::SM),
        ),
        temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
        nvlinks: nvlinks(&device),
        nvlink_errors: fields.nvlink_errors(),
        fabric: None,
    })
}

fn pair<E>(now: Result<u32, E>, most: Result<u32, E>) -> Option<(u32, u32)> {
    Some((now.ok()?, most.ok()?))
}

/// Links that are up among those that have a state; none where the GPU has none or none is told.
fn nvlinks(device: &Device<'_>) -> Option<(u32, u32)> {
    let states = (0..MOST_NVLINKS).map_while(|link| device.link_wrapper_for(link).is_active().ok());
    let (mut up, mut all) = (0, 0);
    for is_up in states {
        up += u32::from(is_up);
        all += 1;
    }
    (all > 0).then_some((up, all))
}

/// Sysfs has four digits for the domain and small letters: `00000000:3A:00.0` is `0000:3a:00.0`.
pub fn bus_id(text: &str) -> String {
    let text = text.trim().to_ascii_lowercase();
    match text.split_once(':') {
        Some((domain, rest)) if domain.len() == 8 && domain.starts_with("0000") => {
            format!("{}:{rest}", &domain[4..])
        }
        _ => text,
    }
}

/// What slows the clocks; that nothing is to be done is no reason.
pub(super) fn reasons(all: ThrottleReasons) -> Vec<String> {
    let words = [
        (ThrottleReasons::SW_POWER_CAP, "power cap"),
        (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
        (
            ThrottleReasons::SW_THERMAL_SLOWDOWN,
            "software thermal slowdown",
        ),
        (
            ThrottleReasons::HW_THERMAL_SLOWDOWN,
            "hardware thermal slowdown",
        ),
        (
            ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN,
            "power brake slowdown",
        ),
        (
            ThrottleReasons::APPLICATIONS_CLOCKS_SETTING,
            "applications clocks setting",
        ),
        (ThrottleReasons::SYNC_BOOST, "sync boost"),
        (
            ThrottleReasons::DISPLAY_CLOCK_SETTING,
            "display clock setting",
        ),
    ];
    let set = words.iter().filter(|(reason, _)| all.contains(*reason));
    set.map(|(_, words)| (*words).to_owned()).collect()
}

/// Values that the library keeps by number.
struct Fields(Vec<(u32, u64)>);

const FIELDS: [u32; 6] = [
    field_id::NVML_FI_DEV_REMAPPED_UNC,
    field_id::NVML_FI_DEV_REMAPPED_PENDING,
    field_id::NVML_FI_DEV_REMAPPED_FAILURE,
    field_id::NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL,
    field_id::NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL,
    field_id::NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL,
];

impl Fields {
    fn of(device: &Device<'_>) -> Self {
        let samples = device.field_values_for(&FIELDS.map(FieldId));
        let samples = FIELDS.iter().zip(samples.unwrap_or_default());
        let told =
            samples.filter_map(|(id, sample)| Some((*id, number(&sample.ok()?.value.ok()?)?)));
        Self(told.collect())
    }

    fn get(&self, id: u32) -> Option<u64> {
        let found = self.0.iter().find(|(one, _)| *one == id);
        found.map(|(_, value)| *value)
    }

    fn nvlink_errors(&self) -> Option<[u64; 3]> {
        let of = |at: usize| self.get(FIELDS[at]);
        Some([of(3)?, of(4)?, of(5)?])
    }
}

fn number(value: &SampleValue) -> Option<u64> {
    match value {
        SampleValue::U32(value) => Some(u64::from(*value)),
        SampleValue::U64(value) => Some(*value),
        SampleValue::I64(value) => u64::try_from(*value).ok(),
        SampleValue::F64(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_id_is_spelled_as_sysfs_does() {
        assert_eq!(bus_id("00000000:3A:00.0"), "0000:3a:00.0");
        assert_eq!(bus_id("00000001:3A:00.0"), "0001:3a:00.0");
        assert_eq!(bus_id("0000:3a:00.0"), "0000:3a:00.0");
    }

    #[test]
    fn an_idle_gpu_has_no_reason_to_be_slow() {
        assert_eq!(reasons(ThrottleReasons::GPU_IDLE), Vec::<String>::new());
        let capped = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::GPU_IDLE;
        assert_eq!(reasons(capped), ["power cap"]);
        assert_eq!(cuda_version(13020), "13.2");
    }
}
