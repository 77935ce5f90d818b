//! What an AWS instance type has, so that what is missing can be told.

/// A type of instance with EFA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// `p5.48xlarge`.
    pub name: &'static str,
    /// GPUs.
    pub gpus: u32,
    /// EFA devices.
    pub devices: u32,
    /// Rate of each in Gb/s, both directions each.
    pub gbit: u32,
    /// Whether NICs read and write GPU memory themselves there.
    pub gpu_direct: bool,
    /// The protocol that the plugin takes there by itself.
    pub protocol: Option<&'static str>,
}

const fn row(
    name: &'static str,
    gpus: u32,
    nics: (u32, u32),
    gpu_direct: bool,
    protocol: Option<&'static str>,
) -> Instance {
    Instance {
        name,
        gpus,
        devices: nics.0,
        gbit: nics.1,
        gpu_direct,
        protocol,
    }
}

const RDMA: Option<&str> = Some("RDMA");
const SENDRECV: Option<&str> = Some("SENDRECV");

/// Those that are known.
///
/// # Source
/// AWS's instance pages and Kubernetes manifests for counts and rates; aws-ofi-nccl 1.21,
/// `src/platform-aws.cpp`, for GPUDirect and protocols.
pub const ALL: &[Instance] = &[
    row("p3dn.24xlarge", 8, (1, 100), false, SENDRECV),
    row("p4d.24xlarge", 8, (4, 100), true, SENDRECV),
    row("p4de.24xlarge", 8, (4, 100), true, SENDRECV),
    row("p5.48xlarge", 8, (32, 100), true, RDMA),
    row("p5.4xlarge", 1, (1, 100), false, SENDRECV),
    row("p5e.48xlarge", 8, (32, 100), true, RDMA),
    row("p5en.48xlarge", 8, (16, 200), true, RDMA),
    row("p6-b200.48xlarge", 8, (8, 400), true, RDMA),
    row("p6-b300.48xlarge", 8, (16, 400), true, RDMA),
    row("p6e-gb200.36xlarge", 4, (4, 400), true, RDMA),
    row("g5.48xlarge", 8, (1, 100), false, SENDRECV),
    row("g6.48xlarge", 8, (1, 100), false, None),
];

/// Finds a type by its name; `xl` for `xlarge` and the family alone, for its largest, are taken too.
pub fn by_name(text: &str) -> Option<&'static Instance> {
    let wanted = text.trim().to_ascii_lowercase();
    let wanted = match wanted.strip_suffix("xl") {
        Some(short) => format!("{short}xlarge"),
        None => wanted,
    };
    let family = |one: &&Instance| one.name.split('.').next() == Some(wanted.as_str());
    let exact = ALL.iter().find(|one| one.name == wanted);
    exact.or_else(|| ALL.iter().find(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_found_by_its_name_its_short_form_and_its_family() {
        for text in ["p5.48xlarge", "p5.48xl", "P5", " p5.48xlarge\n"] {
            assert_eq!(by_name(text).map(|one| one.devices), Some(32), "{text}");
        }
        assert_eq!(by_name("p5.4xlarge").map(|one| one.devices), Some(1));
        assert_eq!(by_name("m5.large"), None);
    }

    #[test]
    fn names_are_unique_and_every_type_has_a_device_for_its_gpus_or_shares_one() {
        for one in ALL {
            assert_eq!(ALL.iter().filter(|other| other.name == one.name).count(), 1);
            assert!(one.devices == 1 || one.devices * 2 >= one.gpus, "{one:?}");
        }
    }
}
