//! Counters of RDMA devices and of the other interfaces, as the kernel shows them or as they were kept.
//!
//! What cannot be read is said and never taken for 0. A root other than `/` is for recorded evidence
//! and for tests; kept there may be `/sys` and `/proc`, or what lies under `/sys/class/infiniband` alone.

use crate::record::{NicCounters, NicReading};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the devices may lie under a root.
const PLACES: [&str; 3] = ["sys/class/infiniband", "class/infiniband", "infiniband"];

/// One reading, of the machine whose root folder is `root`.
pub fn read(root: &Path) -> NicReading {
    let mut reading = NicReading {
        instance: instance(root),
        ethernet: ethernet(root),
        ..NicReading::default()
    };
    match folder(root) {
        Folder::At(folder) => devices(&folder, &mut reading),
        Folder::None => {}
        Folder::Hidden(why) => reading.unread.push(why),
    }
    if reading.ethernet.is_none() {
        let path = root.join("proc/net/dev");
        reading
            .unread
            .push(format!("`{}` cannot be read", path.display()));
    }
    reading
}

enum Folder {
    At(PathBuf),
    /// The kernel shows its classes, and there is no RDMA device.
    None,
    /// Nothing can be seen, so that nothing is known.
    Hidden(String),
}

fn folder(root: &Path) -> Folder {
    let kept = PLACES
        .iter()
        .map(|place| root.join(place))
        .find(|folder| folder.is_dir());
    if let Some(folder) = kept {
        return match fs::read_dir(&folder) {
            Ok(_) => Folder::At(folder),
            Err(error) => Folder::Hidden(format!("`{}`: {error}", folder.display())),
        };
    }
    let class = root.join("sys/class");
    if fs::read_dir(&class).is_ok_and(|mut entries| entries.next().is_some()) {
        return Folder::None;
    }
    if subfolders(root).iter().any(|one| is_device(one)) {
        return Folder::At(root.to_owned());
    }
    Folder::Hidden(format!("`{}` is not visible", class.display()))
}

fn is_device(folder: &Path) -> bool {
    folder.join("ports").is_dir() || folder.join("hw_counters").is_dir()
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    paths.sort();
    paths
}

fn devices(folder: &Path, reading: &mut NicReading) {
    for path in subfolders(folder)
        .into_iter()
        .filter(|path| is_device(path))
    {
        let mut device = device(&path);
        numbers(&path.join("hw_counters"), &mut device.counters);
        for port in subfolders(&path.join("ports")) {
            numbers(&port.join("hw_counters"), &mut device.counters);
            numbers(&port.join("counters"), &mut device.counters);
        }
        if device.counters.is_empty() {
            reading
                .unread
                .push(format!("{}: no counter can be read", device.name));
        }
        reading.devices.push(device);
    }
}

fn device(path: &Path) -> NicCounters {
    let uevent = text(&path.join("device/uevent")).unwrap_or_default();
    let said = |key: &str| {
        let line = uevent.lines().find_map(|line| line.strip_prefix(key));
        line.map(str::to_owned)
    };
    let driver = path.join("device/driver");
    let state = text(&path.join("ports/1/state"));
    NicCounters {
        name: last(path).unwrap_or_default(),
        driver: linked(&driver)
            .or_else(|| text(&driver))
            .or_else(|| said("DRIVER=")),
        vendor: text(&path.join("device/vendor")),
        bus_id: linked(&path.join("device")).or_else(|| said("PCI_SLOT_NAME=")),
        numa: text(&path.join("device/numa_node")).and_then(|node| node.parse().ok()),
        // `4: ACTIVE`
        state: state.and_then(|text| text.rsplit(' ').next().map(str::to_owned)),
        counters: BTreeMap::new(),
    }
}

fn last(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// The last part of what a link points to.
fn linked(path: &Path) -> Option<String> {
    last(&fs::read_link(path).ok()?)
}

fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Every file of a folder that holds a number; ports add up.
fn numbers(folder: &Path, into: &mut BTreeMap<String, u64>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let number = text(&entry.path()).and_then(|text| text.parse::<u64>().ok());
        if let Some(number) = number {
            *into
                .entry(entry.file_name().to_string_lossy().into_owned())
                .or_default() += number;
        }
    }
}

/// Bytes sent by each interface.
///
/// # Source
/// Linux, `net/core/net-procfs.c`: the ninth number behind a name is what was sent.
fn ethernet(root: &Path) -> Option<BTreeMap<String, u64>> {
    let places = ["proc/net/dev", "net/dev", "net_dev"];
    let table = places.iter().find_map(|place| text(&root.join(place)))?;
    let line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let sent = numbers.split_whitespace().nth(8)?.parse().ok()?;
        Some((name.trim().to_owned(), sent))
    };
    Some(table.lines().filter_map(line).collect())
}

/// The instance type, where the machine is AWS's.
///
/// # Source
/// AWS: on Nitro instances DMI's product name is the instance type.
fn instance(root: &Path) -> Option<String> {
    let folder = root.join("sys/devices/virtual/dmi/id");
    let vendor = text(&folder.join("sys_vendor"))?;
    let product = text(&folder.join("product_name"));
    product.filter(|_| vendor.to_ascii_lowercase().contains("amazon"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    const EFA: &str = "sys/class/infiniband/rdmap16s27";

    #[test]
    fn an_efa_device_a_bridge_and_the_interfaces_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, &format!("{EFA}/ports/1/hw_counters/tx_bytes"), "42\n");
        put(root, &format!("{EFA}/hw_counters/cmds_err"), "1\n");
        put(root, &format!("{EFA}/ports/1/state"), "4: ACTIVE\n");
        put(
            root,
            &format!("{EFA}/device/uevent"),
            "DRIVER=efa\nPCI_SLOT_NAME=0000:10:1b.0\n",
        );
        put(root, &format!("{EFA}/device/numa_node"), "1\n");
        put(
            root,
            "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
            "7\n",
        );
        put(
            root,
            "proc/net/dev",
            "Inter-|   Receive\n face |bytes\n eth0: 1 2 3 4 5 6 7 8 900 1 2\n",
        );
        put(
            root,
            "sys/devices/virtual/dmi/id/sys_vendor",
            "Amazon EC2\n",
        );
        put(
            root,
            "sys/devices/virtual/dmi/id/product_name",
            "p5.48xlarge\n",
        );
        let reading = read(root);
        assert_eq!(reading.unread, [""; 0]);
        assert_eq!(reading.instance.as_deref(), Some("p5.48xlarge"));
        assert_eq!(reading.ethernet.unwrap()["eth0"], 900);
        let efa = &reading.devices[1];
        assert_eq!(
            (efa.driver.as_deref(), efa.state.as_deref(), efa.numa),
            (Some("efa"), Some("ACTIVE"), Some(1))
        );
        assert_eq!(efa.bus_id.as_deref(), Some("0000:10:1b.0"));
        assert_eq!(
            (efa.counters["tx_bytes"], efa.counters["cmds_err"]),
            (42, 1)
        );
        assert_eq!(reading.devices[0].counters["port_xmit_data"], 7);
    }

    #[test]
    fn what_is_hidden_is_said_and_what_is_not_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let hidden = read(folder.path());
        assert!(hidden.devices.is_empty() && hidden.unread[0].ends_with("is not visible"));
        fs::create_dir_all(folder.path().join("sys/class/net")).unwrap();
        put(folder.path(), "proc/net/dev", "lo: 1 2 3 4 5 6 7 8 9\n");
        assert_eq!(read(folder.path()).unread, [""; 0]);
    }

    #[test]
    fn devices_that_were_kept_alone_are_found_too() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "rdmap1/ports/1/hw_counters/tx_bytes", "5");
        assert_eq!(read(folder.path()).devices[0].counters["tx_bytes"], 5);
        put(
            folder.path(),
            "rdmap1/ports/1/hw_counters/tx_bytes",
            "not a number",
        );
        assert_eq!(
            read(folder.path()).unread[0],
            "rdmap1: no counter can be read"
        );
    }
}
