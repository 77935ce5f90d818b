//! A path as people read it: one line, and a page.

use crate::base::counted;
use crate::record::PathRecord;
use crate::record::path::{Basis, Channels, HostTraffic, LogFacts};
use std::fmt::Write as _;

/// `EFA (log and counters): Libfabric over efa, fabric efa-direct, 8 NICs, …`.
pub fn line(path: &PathRecord) -> String {
    let mut text = path.verdict.name().to_owned();
    let by = match (
        path.by.contains(&Basis::Log),
        path.by.contains(&Basis::Counters),
    ) {
        (true, true) => " (log and counters)",
        (true, false) => " (log)",
        (false, true) => " (counters)",
        (false, false) => "",
    };
    text.push_str(by);
    let mut parts = Vec::new();
    parts.extend(path.reason.clone());
    parts.extend(network(&path.log));
    parts.extend(direct(&path.log));
    parts.extend(sent(path));
    if !parts.is_empty() {
        let _ = write!(text, ": {}", parts.join("; "));
    }
    text
}

/// The whole of it, in lines.
pub fn page(path: &PathRecord) -> String {
    let mut text = format!("path     {}\n", line(path));
    if let Some(instance) = &path.instance {
        let _ = writeln!(text, "instance {instance}");
    }
    let versions = [
        ("nccl", &path.log.nccl),
        ("plugin", &path.log.plugins),
        ("aws-ofi-nccl", &path.log.aws_ofi_nccl),
        ("libfabric", &path.log.libfabric),
        ("protocol", &path.log.protocols),
    ];
    for (name, values) in versions
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
    {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let _ = writeln!(text, "{name:<13}{}", values.join(", "));
    }
    for (way, count) in &path.log.local_channels {
        let _ = writeln!(text, "channels     {count} inside a node by {way}");
    }
    for (name, channels) in &path.log.net_channels {
        let (all, direct) = (channels.all, channels.gpu_direct);
        let _ = writeln!(
            text,
            "channels     {all} over {name}, {direct} of them with GPUDirect"
        );
    }
    path.hosts
        .iter()
        .for_each(|host| self::host(&mut text, host));
    text.push_str(&findings(path));
    text
}

/// `warning: …` and `note: …`, each with its `hint:`.
pub fn findings(path: &PathRecord) -> String {
    let mut text = String::new();
    for finding in &path.findings {
        let word = if finding.warning { "warning" } else { "note" };
        let _ = writeln!(text, "{word}: {}", finding.text);
        if let Some(hint) = &finding.hint {
            let _ = writeln!(text, "  hint: {hint}");
        }
    }
    text
}

fn host(text: &mut String, host: &HostTraffic) {
    let _ = writeln!(text, "host {}", host.host);
    for device in &host.devices {
        let count = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), amount);
        let (name, tx, rx) = (&device.name, count(device.tx_bytes), count(device.rx_bytes));
        let bus = device.bus_id.as_deref().unwrap_or("");
        let _ = writeln!(text, "  {name:<16} sent {tx:>10}, received {rx:>10}  {bus}");
    }
    if !host.ignored.is_empty() {
        let _ = writeln!(text, "  no part of the path: {}", host.ignored.join(", "));
    }
    if let Some(bytes) = host.ethernet_tx_bytes {
        let _ = writeln!(
            text,
            "  {:<16} sent {:>10}",
            "other interfaces",
            amount(bytes)
        );
    }
}

/// `Libfabric over efa, fabric efa-direct, 8 NICs`.
fn network(log: &LogFacts) -> Option<String> {
    let names: Vec<&str> = log.networks.keys().map(String::as_str).collect();
    if names.is_empty() || log.nodes.iter().max() == Some(&1) {
        return None;
    }
    let mut text = names.join(" and ");
    let providers: Vec<&str> = log.providers.keys().map(String::as_str).collect();
    if !providers.is_empty() {
        let _ = write!(text, " over {}", providers.join(" and "));
    }
    for fabric in &log.fabrics {
        let _ = write!(text, ", fabric {fabric}");
    }
    for nics in &log.nics {
        let _ = write!(text, ", {}", counted(*nics, "NIC", "NICs"));
    }
    Some(text)
}

/// `GPUDirect on 4 of 4 channels`.
fn direct(log: &LogFacts) -> Option<String> {
    let mut sum = Channels::default();
    for one in log.net_channels.values() {
        sum.all += one.all;
        sum.gpu_direct += one.gpu_direct;
    }
    (sum.all > 0).then(|| format!("GPUDirect on {} of {} channels", sum.gpu_direct, sum.all))
}

/// `12.3 GB sent, 11.0 to 44.0 GB expected`.
fn sent(path: &PathRecord) -> Option<String> {
    let traffic = path.traffic?;
    let sent = traffic.nic_tx_bytes?;
    let expected = match (traffic.expected_least_bytes, traffic.expected_most_bytes) {
        (Some(least), Some(most)) if most > 0 => {
            format!(", {} to {} expected", amount(least), amount(most))
        }
        _ => String::new(),
    };
    Some(format!("NICs sent {}{expected}", amount(sent)))
}

/// Bytes with a unit of powers of ten.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn amount(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let fits = units.iter().find(|(size, _)| bytes as f64 >= *size);
    match fits {
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / size),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Evidence, judge};

    #[test]
    fn the_line_names_network_provider_fabric_nics_and_gpu_direct() {
        let log = crate::path::log::facts(
            "a:1:1 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 8 nics)\n\
             a:1:1 [0] NCCL INFO Using network Libfabric\n\
             a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Libfabric/0/GDRDMA\n",
        );
        let path = judge(&Evidence {
            logs: vec![("a".to_owned(), log)],
            ..Evidence::default()
        });
        assert_eq!(
            line(&path),
            "EFA (log): Libfabric over efa, fabric efa-direct, 8 NICs; GPUDirect on 1 of 1 channels"
        );
    }

    #[test]
    fn amounts_have_the_unit_that_fits() {
        assert_eq!(
            [999, 1_500, 2_000_000_000].map(amount),
            ["999 B", "1.5 kB", "2.0 GB"]
        );
    }
}
