//! What a cloud instance should have, by its type.

use super::Scene;

/// A type of instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instance {
    pub(super) name: &'static str,
    pub(super) gpus: u32,
    pub(super) efas: u32,
    /// Rate of each device in Gb/s, as the vendor states it.
    pub(super) gbit: u32,
    /// The first EFA installer that serves it, where an early one does not.
    pub(super) installer: Option<(u32, u32)>,
    /// The first plugin that serves it, where an early one does not.
    pub(super) plugin: Option<(u32, u32)>,
}

/// # Source
/// AWS's instance pages and EFA limits of its device plugin; first versions from the installer's notes.
const ALL: &[Instance] = &[
    plain("p3dn.24xlarge", 8, 1, 100),
    plain("p4d.24xlarge", 8, 4, 100),
    plain("p4de.24xlarge", 8, 4, 100),
    plain("p5.48xlarge", 8, 32, 100),
    plain("p5e.48xlarge", 8, 32, 100),
    plain("p5.4xlarge", 1, 1, 100),
    plain("p5en.48xlarge", 8, 16, 200),
    since("p6-b200.48xlarge", (8, 8, 400), (1, 41), (1, 15)),
    since("p6-b300.48xlarge", (8, 16, 400), (1, 44), (1, 17)),
    since("p6e-gb200.36xlarge", (4, 4, 400), (1, 42), (1, 15)),
    plain("g5.48xlarge", 8, 1, 100),
    plain("g6.48xlarge", 8, 1, 100),
];

const fn plain(name: &'static str, gpus: u32, efas: u32, gbit: u32) -> Instance {
    Instance {
        name,
        gpus,
        efas,
        gbit,
        installer: None,
        plugin: None,
    }
}

const fn since(
    name: &'static str,
    (gpus, efas, gbit): (u32, u32, u32),
    installer: (u32, u32),
    plugin: (u32, u32),
) -> Instance {
    Instance {
        installer: Some(installer),
        plugin: Some(plugin),
        ..plain(name, gpus, efas, gbit)
    }
}

/// The type that the firmware names, whether or not it is known here.
pub(super) fn name(scene: &Scene) -> Option<String> {
    scene.text("/sys/class/dmi/id/product_name")
}

/// Whether this is a machine of EC2.
pub(super) fn is_ec2(scene: &Scene) -> bool {
    let vendor = scene.text("/sys/class/dmi/id/sys_vendor");
    vendor.is_some_and(|vendor| vendor == "Amazon EC2")
}

/// What is known of this machine's type.
pub(super) fn known(scene: &Scene) -> Option<&'static Instance> {
    let name = name(scene)?;
    ALL.iter().find(|one| one.name == name)
}

/// The first two numbers of a version.
pub(super) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let first = numbers.find(|number| !number.is_empty())?.parse().ok()?;
    Some((first, numbers.next()?.parse().ok()?))
}
