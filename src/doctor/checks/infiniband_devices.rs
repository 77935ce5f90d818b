//! The device files of RDMA.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "infiniband-devices",
    what: "`/dev/infiniband/uverbs*`: one for each RDMA device, and usable by this process",
    why: "A container or a cgroup that hides them leaves `No eligible providers were found` and TCP, although `/sys` shows every device.",
    reads: "`/dev/infiniband`, `/sys/class/infiniband`, `/sys/class/infiniband_verbs`, `/etc/slurm/cgroup.conf`, `/etc/enroot/enroot.conf`",
    hint: "Docker: `--device /dev/infiniband --ulimit memlock=-1`; Enroot: `ENROOT_RESTRICT_DEV n` in enroot.conf; Slurm: `ConstrainDevices=no` in cgroup.conf or the devices in gres.conf; Kubernetes: ask for `vpc.amazonaws.com/efa` or the RDMA device plugin's resource",
    scope: Scope::Process,
    drift: Health::Failure,
    look,
};

fn look(scene: &Scene) -> Look {
    let devices = scene.rdma();
    let on_bus = hardware::pci(scene).iter().any(hardware::Pci::is_efa);
    if devices.is_empty() && !on_bus {
        return Look::none("no RDMA device");
    }
    let files: Vec<String> = scene
        .list("/dev/infiniband")
        .into_iter()
        .filter(|name| name.starts_with("uverbs"))
        .collect();
    let mut look = Look::default();
    look.share("uverbs", files.len().to_string());
    if files.is_empty() {
        look.fail(format!(
            "/dev/infiniband has no `uverbs*` for {} RDMA devices",
            devices.len()
        ));
        culprits(scene, &mut look);
        return look;
    }
    let refused = files.iter().filter_map(|name| {
        let path = format!("/dev/infiniband/{name}");
        scene
            .may_use(&path)
            .err()
            .map(|why| format!("{path}: {why}"))
    });
    let refused: Vec<String> = refused.collect();
    let is_restricted = !refused.is_empty();
    for line in refused {
        look.fail(line);
    }
    if files.len() < devices.len() {
        look.fail(format!(
            "{} of {} RDMA devices have a file",
            files.len(),
            devices.len()
        ));
    } else if !is_restricted {
        look.ok(format!(
            "{} files for {} RDMA devices",
            files.len(),
            devices.len()
        ));
    }
    if is_restricted || files.len() < devices.len() {
        culprits(scene, &mut look);
    }
    look
}

/// Settings that hide devices, where this process can read them.
fn culprits(scene: &Scene, look: &mut Look) {
    let has = |path: &str, name: &str, value: &str| {
        let text = scene.text(path).unwrap_or_default();
        text.lines().any(|line| {
            let line = line
                .split('#')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase();
            let mut words = line
                .split(|c: char| c == '=' || c.is_whitespace())
                .filter(|word| !word.is_empty());
            words.next() == Some(name) && words.next().is_some_and(|word| word.starts_with(value))
        })
    };
    if has("/etc/slurm/cgroup.conf", "constraindevices", "yes") {
        look.fail("`ConstrainDevices=yes` in /etc/slurm/cgroup.conf");
    }
    if has("/etc/enroot/enroot.conf", "enroot_restrict_dev", "y") {
        look.fail("`ENROOT_RESTRICT_DEV y` in /etc/enroot/enroot.conf");
    }
}
