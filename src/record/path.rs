//! Which way the bytes went: the verdict on the network path, and what it rests on.
//!
//! `docs/path.md` says how it is come by. What is not known is not there: nothing here is a default
//! that stands for an unread value.

use super::line::finite;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The way the bytes went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// AWS EFA, all of it.
    Efa,
    /// EFA, but not as it should be; the reason says what.
    EfaDegraded,
    /// InfiniBand or RoCE.
    Infiniband,
    /// NCCL's own TCP.
    Socket,
    /// Libfabric over TCP: the plugin is loaded and the fast path is not used.
    TcpProvider,
    /// Nothing left a node: NVLink, `PCIe` or shared memory.
    IntraNode,
    /// Not to be told; the reason says why.
    Unknown,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Efa,
        Self::EfaDegraded,
        Self::Infiniband,
        Self::Socket,
        Self::TcpProvider,
        Self::IntraNode,
        Self::Unknown,
    ];

    /// As records and messages write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Efa => "EFA",
            Self::EfaDegraded => "EFA_DEGRADED",
            Self::Infiniband => "INFINIBAND",
            Self::Socket => "SOCKET",
            Self::TcpProvider => "TCP_PROVIDER",
            Self::IntraNode => "INTRA_NODE",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// What NCCL and its plugin wrote.
    Log,
    /// What the NICs counted.
    Counters,
}

/// Something that a reader should know, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// Whether something is wrong, and not only worth knowing.
    pub warning: bool,
    /// What was found.
    pub text: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The verdict and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathRecord {
    /// The way the bytes went.
    pub verdict: Verdict,
    /// Why it is degraded or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it rests on.
    pub by: BTreeSet<Basis>,
    /// What else was found, warnings first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The instance type, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// What the logs of all processes say together.
    pub log: LogFacts,
    /// What was counted against what should have been; none where nothing could be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficRecord>,
    /// Hosts and what their devices counted: 16 at the most, those that sent the least first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostTraffic>,
}

impl PathRecord {
    /// How many hosts are kept with their devices.
    pub const HOSTS: usize = 16;
}

/// Channels over one network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channels {
    /// Lines `Channel … via NET/…`.
    pub all: u64,
    /// Those of them that say `GDRDMA`: between NIC and GPU memory, without the host's.
    pub gpu_direct: u64,
}

/// What NCCL's log says about the path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogFacts {
    /// Lines of NCCL that were read.
    pub lines: u64,
    /// NCCL's versions.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub nccl: BTreeSet<String>,
    /// `Using network NAME`: how many lines, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub networks: BTreeMap<String, u64>,
    /// Network plugins that were loaded, with their interface's version: `Libfabric (v11)`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub plugins: BTreeSet<String>,
    /// Versions of aws-ofi-nccl.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub aws_ofi_nccl: BTreeSet<String>,
    /// Versions of Libfabric.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub libfabric: BTreeSet<String>,
    /// Libfabric's providers that were selected: how many lines, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, u64>,
    /// Fabrics: `efa`, `efa-direct`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub fabrics: BTreeSet<String>,
    /// How many NICs the plugin found, each number that was said.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub nics: BTreeSet<u32>,
    /// The plugin's transport protocol: `RDMA`, `SENDRECV`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub protocols: BTreeSet<String>,
    /// Which platform the plugin takes this for: `AWS`, `Default`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub platforms: BTreeSet<String>,
    /// Instance types that the plugin names.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub instances: BTreeSet<String>,
    /// Channels between nodes, by network.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub net_channels: BTreeMap<String, Channels>,
    /// Channels inside a node, by transport: `P2P/CUMEM`, `SHM/direct/direct`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub local_channels: BTreeMap<String, u64>,
    /// How many ranks the communicators have.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub ranks: BTreeSet<u32>,
    /// How many nodes NCCL counts in them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub nodes: BTreeSet<u32>,
    /// Ranks of the largest NVLink domain that spans nodes (MNNVL).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvlink_domain: Option<u32>,
    /// NICs with GPUDirect RDMA, by name.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub gpu_direct_on: BTreeSet<String>,
    /// NICs without it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub gpu_direct_off: BTreeSet<String>,
    /// Interfaces that NCCL's sockets use.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub interfaces: BTreeSet<String>,
    /// Ports that NCCL's InfiniBand uses: `mlx5_0:1/IB`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub ib_ports: BTreeSet<String>,
    /// Variables that NCCL says it has obeyed and that decide the path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Lines that say what went wrong, 16 at the most.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub troubles: BTreeSet<String>,
}

/// Bytes that the NICs sent against bytes that the operations need.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrafficRecord {
    /// Hosts that were counted.
    pub hosts: u32,
    /// The least that all nodes together must have sent to others, whatever the algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_least_bytes: Option<u64>,
    /// The most that the usual algorithms and protocols send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_most_bytes: Option<u64>,
    /// What the RDMA devices sent; none where they cannot be read.
    pub nic_tx_bytes: Option<u64>,
    /// What the other interfaces sent; none where they cannot be read.
    pub ethernet_tx_bytes: Option<u64>,
    /// Largest of a host's devices over its smallest, on the host where that is worst; none where one sent nothing.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "some_finite"
    )]
    pub rail_ratio: Option<f64>,
    /// Packets that were sent again, where that is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_packets: Option<u64>,
    /// Retransmission time-outs, where they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmission_timeouts: Option<u64>,
}

#[expect(clippy::ref_option, reason = "serde hands over the field")]
fn some_finite<S: serde::Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => finite(value, to),
        None => to.serialize_none(),
    }
}

/// What the devices of a host counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTraffic {
    /// Its name.
    pub host: String,
    /// The devices of its path, by name.
    pub devices: Vec<DeviceTraffic>,
    /// The instance type, where the machine says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// RDMA devices that are no part of the path: bridges beside EFA, ports that are down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// What its other interfaces sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ethernet_tx_bytes: Option<u64>,
    /// Why something could not be counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// What sort of device carries a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicKind {
    /// AWS EFA.
    Efa,
    /// InfiniBand or RoCE.
    Infiniband,
    /// Neither its driver nor its counters say.
    #[default]
    Unknown,
}

/// What a device counted between two readings. A counter that is not there is unknown, not 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTraffic {
    /// `rdmap16s27`, `mlx5_0`.
    pub name: String,
    /// What it is.
    pub kind: NicKind,
    /// Its PCI address, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_id: Option<String>,
    /// Its NUMA node, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa: Option<u32>,
    /// Bytes sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_bytes: Option<u64>,
    /// Bytes received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rx_bytes: Option<u64>,
    /// Every counter that moved and those of retransmissions, by the kernel's name, in its unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub moved: BTreeMap<String, u64>,
}
