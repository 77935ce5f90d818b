//! Devices for remote memory access, as the kernel lists them: InfiniBand, RoCE, EFA.

use serde::Deserialize;
use serde::Serialize;
use std::path::Path;

/// A device of `/sys/class/infiniband`. What the kernel does not say is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// `mlx5_0`, `rdmap16s27`.
    pub name: String,
    /// The kernel's driver: `efa`, `mlx5_core`.
    pub driver: Option<String>,
    /// State of the first port: `ACTIVE`, `DOWN`.
    pub state: Option<String>,
    /// Its rate in Gb/s, as the kernel gives it: `400 Gb/sec (4X NDR)`.
    pub rate: Option<String>,
    /// `InfiniBand` or `Ethernet`.
    pub link: Option<String>,
    /// The NUMA node it is attached to.
    pub numa: Option<u32>,
}

/// All of them, by name; none where the kernel has no such list.
pub fn devices() -> Vec<Device> {
    devices_in(Path::new("/sys/class/infiniband"))
}

/// Those that a copy of the kernel's list holds.
///
/// # Source
/// Linux, `Documentation/ABI/stable/sysfs-class-infiniband`.
pub fn devices_in(folder: &Path) -> Vec<Device> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut devices: Vec<Device> = entries.map(|entry| device(&entry.path())).collect();
    devices.sort_by(|a, b| a.name.cmp(&b.name));
    devices
}

fn device(path: &Path) -> Device {
    let read = |file: &str| {
        let text = std::fs::read_to_string(path.join(file)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let last = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let state = read("ports/1/state");
    Device {
        name: last(path).unwrap_or_default(),
        driver: std::fs::read_link(path.join("device/driver"))
            .ok()
            .and_then(|link| last(&link)),
        // `4: ACTIVE`
        state: state.map(|text| text.rsplit(' ').next().unwrap_or_default().to_owned()),
        rate: read("ports/1/rate"),
        link: read("ports/1/link_layer"),
        numa: read("device/numa_node").and_then(|text| text.parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_efa_device_is_told_from_a_bridge_by_its_driver() {
        let folder = tempfile::tempdir().unwrap();
        for (name, driver, state) in [
            ("rdmap16s27", "efa", "4: ACTIVE\n"),
            ("mlx5_0", "mlx5_core", "1: DOWN\n"),
        ] {
            let device = folder.path().join(name);
            fs::create_dir_all(device.join("ports/1")).unwrap();
            fs::create_dir_all(device.join("device")).unwrap();
            fs::write(device.join("ports/1/state"), state).unwrap();
            fs::write(device.join("device/numa_node"), "1\n").unwrap();
            let link = format!("../../../bus/pci/drivers/{driver}");
            std::os::unix::fs::symlink(link, device.join("device/driver")).unwrap();
        }
        let found = devices_in(folder.path());
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.driver.as_deref(), one.state.as_deref(), one.numa))
            .collect();
        assert_eq!(
            told,
            [
                (Some("mlx5_core"), Some("DOWN"), Some(1)),
                (Some("efa"), Some("ACTIVE"), Some(1))
            ]
        );
        assert_eq!(found[0].rate, None);
    }

    #[test]
    fn a_kernel_without_the_list_has_no_devices() {
        assert_eq!(devices_in(Path::new("/nowhere")), []);
    }
}
