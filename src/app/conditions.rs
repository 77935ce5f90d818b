//! In which state the devices of all ranks are, before the first row and after the last.

use super::worker;
use super::worker::Common;
use crate::backend::ThreadSeat;
use crate::base::Fault;
use crate::base::moment;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::probe::gpu_health;
use crate::record::Conditions;
use crate::record::DeviceState;
use crate::record::GpuHealth;
use std::collections::BTreeSet;

/// The state of every rank's device; none where the devices are not GPUs. Every thread of the world
/// calls it, outside of what is timed.
///
/// # Errors
/// As [`Bootstrap::decide`].
pub(super) fn gather(
    common: &Common<'_>,
    seat: &ThreadSeat,
    plane: &dyn Bootstrap,
) -> Result<Option<Conditions>, Fault> {
    let uuids = uuids(common, seat);
    if uuids.is_empty() {
        return Ok(None);
    }
    let mine = bootstrap::encode(&mine(&seat.host, &uuids))?;
    let step = worker::step("the devices' state", common.init_limit);
    let said = plane.decide(step, &mine, &joined)?;
    let conditions: Conditions = bootstrap::decode(&said)?;
    Ok(Some(Conditions {
        at: moment::rfc3339(super::narrator::now()),
        ..conditions
    }))
}

/// Rank and unique id of the GPUs of a thread's ranks.
pub(super) fn uuids(common: &Common<'_>, seat: &ThreadSeat) -> Vec<(u32, String)> {
    let uuid = |rank: &crate::base::Rank| {
        let uuid = common.berths.device(*rank).uuid.clone()?;
        Some((rank.0, uuid))
    };
    seat.ranks.iter().filter_map(uuid).collect()
}

fn mine(host: &str, uuids: &[(u32, String)]) -> Conditions {
    let healths = match gpu_health::all() {
        Ok(healths) => healths,
        Err(why) => {
            return Conditions {
                unknown: vec![format!("{host}: {why}")],
                ..Conditions::default()
            };
        }
    };
    let mut conditions = Conditions::default();
    for (_, uuid) in uuids {
        let is_it = |gpu: &&GpuHealth| gpu.uuid.as_deref() == Some(uuid);
        match healths.gpus.iter().find(is_it) {
            Some(gpu) => conditions.devices.push(state(host, uuid, gpu)),
            None => conditions
                .unknown
                .push(format!("{host}: NVML does not show {uuid}")),
        }
    }
    conditions
}

/// One device's part of what NVML tells, and the names of what it does not tell.
fn state(host: &str, uuid: &str, gpu: &GpuHealth) -> DeviceState {
    let told = [
        ("clocks", gpu.sm_clock_mhz.is_some()),
        ("throttle reasons", gpu.throttle.is_some()),
        ("temperature", gpu.temperature_c.is_some()),
        ("ECC", gpu.ecc.is_some()),
        ("NVLinks", gpu.nvlinks.is_some()),
        ("PCIe link", gpu.pcie_width.is_some()),
    ];
    let unknown = told.iter().filter(|(_, is_told)| !is_told);
    DeviceState {
        host: host.to_owned(),
        uuid: uuid.to_owned(),
        sm_mhz: gpu.sm_clock_mhz.map(|(now, _)| now),
        sm_max_mhz: gpu.sm_clock_mhz.map(|(_, most)| most),
        throttled: gpu.throttle.clone(),
        celsius: gpu.temperature_c,
        ecc: gpu.ecc,
        ecc_uncorrected: gpu.uncorrectable_volatile,
        nvlinks: gpu.nvlinks.map(|(up, _)| up),
        pci_lanes: gpu.pcie_width.map(|(now, _)| now),
        pci_generation: gpu.pcie_gen.map(|(now, _)| now),
        unknown: unknown.map(|(what, _)| (*what).to_owned()).collect(),
    }
}

/// All threads' devices, each once, by host and id.
fn joined(said: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let mut all = Conditions::default();
    let (mut seen, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for bytes in said {
        let theirs: Conditions = bootstrap::decode(bytes)?;
        let new = |device: &DeviceState| seen.insert((device.host.clone(), device.uuid.clone()));
        all.devices.extend(theirs.devices.into_iter().filter(new));
        unknown.extend(theirs.unknown);
    }
    all.unknown = unknown.into_iter().collect();
    bootstrap::encode(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu() -> GpuHealth {
        GpuHealth {
            uuid: Some("GPU-1".to_owned()),
            sm_clock_mhz: Some((1200, 1980)),
            throttle: Some(vec!["power cap".to_owned()]),
            ..GpuHealth::default()
        }
    }

    #[test]
    fn what_is_not_told_is_named_and_never_zero() {
        let state = state("a", "GPU-1", &gpu());
        assert_eq!((state.sm_mhz, state.sm_max_mhz), (Some(1200), Some(1980)));
        assert_eq!(
            (state.celsius, state.ecc, state.nvlinks),
            (None, None, None)
        );
        assert_eq!(
            state.unknown,
            ["temperature", "ECC", "NVLinks", "PCIe link"]
        );
        let text = serde_json::to_string(&state).unwrap();
        assert!(!text.contains("celsius") && !text.contains(":0"), "{text}");
    }

    #[test]
    fn a_device_that_several_ranks_share_stands_there_once() {
        let told = |host: &str, unknown: &[&str]| {
            bootstrap::encode(&Conditions {
                devices: vec![state(host, "GPU-1", &gpu())],
                unknown: unknown.iter().map(|text| (*text).to_owned()).collect(),
                ..Conditions::default()
            })
            .unwrap()
        };
        let said = [told("a", &["a: no"]), told("a", &["a: no"]), told("b", &[])];
        let all: Conditions = bootstrap::decode(&joined(&said).unwrap()).unwrap();
        let hosts: Vec<_> = all.devices.iter().map(|one| one.host.as_str()).collect();
        assert_eq!((hosts, all.unknown.len()), (vec!["a", "b"], 1));
    }
}
