//! Counters of errors of the RDMA devices.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "link-errors",
    what: "counters of errors of EFA, InfiniBand and RoCE devices since they came up",
    why: "A link that recovers, or a peer that does not answer, costs time in every large operation; what counts is whether a counter grows.",
    reads: "`/sys/class/infiniband/*/ports/1/{counters,hw_counters}`",
    hint: "run it again in ten minutes: a few more are watched; tens to hundreds a minute mean a cable, a link or a switch port",
    scope: Scope::Host,
    drift: Health::NotApplicable,
    look,
};

/// Counters that stand still on a healthy device.
///
/// # Source
/// Linux, `Documentation/ABI/stable/sysfs-class-infiniband`; `drivers/infiniband/hw/efa/efa_verbs.c`.
const COUNTERS: &[&str] = &[
    "counters/symbol_error",
    "counters/link_error_recovery",
    "counters/link_downed",
    "counters/port_rcv_errors",
    "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors",
    "hw_counters/rx_drops",
    "hw_counters/retrans_timeout_events",
    "hw_counters/unresponsive_remote_events",
    "hw_counters/impaired_remote_conn_events",
    "hw_counters/rdma_read_wr_err",
    "hw_counters/rdma_write_wr_err",
    "hw_counters/local_ack_timeout_err",
    "hw_counters/out_of_sequence",
];

fn look(scene: &Scene) -> Look {
    let devices = scene.rdma();
    if devices.is_empty() {
        return Look::none("no RDMA device");
    }
    let mut look = Look::default();
    let mut read = 0;
    for one in devices {
        let counted = COUNTERS.iter().filter_map(|counter| {
            let path = format!("/sys/class/infiniband/{}/ports/1/{counter}", one.name);
            let value: u64 = scene.number(&path)?;
            let name = counter.rsplit('/').next().unwrap_or(counter);
            Some((name, value))
        });
        let counted: Vec<(&str, u64)> = counted.collect();
        read += counted.len();
        let moved: Vec<String> = counted
            .iter()
            .filter(|(_, value)| *value > 0)
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if !moved.is_empty() {
            look.warn(format!("{}: {}", one.name, moved.join(", ")));
        }
    }
    if read == 0 {
        return Look::unknown("`/sys` shows no counter of these devices");
    }
    if look.is_silent() {
        look.ok(format!(
            "{read} counters of {} devices are 0",
            devices.len()
        ));
    }
    look
}
