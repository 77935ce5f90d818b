//! What must be alike before two runs may be compared, and in what they differ.

use crate::record::fingerprint::Field;
use crate::record::verdict::Difference;
use crate::record::{Fingerprint, Header};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Variables whose names start so change what is measured.
const PREFIXES: [&str; 5] = ["NCCL_", "FI_", "OFI_NCCL_", "UCX_", "RDMAV_"];

/// Further ones.
const NAMES: [&str; 4] = [
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_MODULE_LOADING",
    "LD_PRELOAD",
    "OMP_NUM_THREADS",
];

/// Of those, the ones that say where to write, whom to meet or what to tell, and nothing of the path of data.
const HARMLESS: [&str; 8] = [
    "NCCL_DEBUG",
    "NCCL_COMM_ID",
    "NCCL_HOSTID",
    "NCCL_RAS_",
    "NCCL_SET_",
    "NCCL_TESTS_",
    "NCCL_CONF_FILE",
    "FI_LOG_",
];

/// Backends whose operations are this program's own, so that its version matters.
const OURS: [&str; 3] = ["host", "kernel", "sim"];

/// The fingerprint of a run.
pub fn of(header: &Header) -> Fingerprint {
    let mut fields = vec![
        field("backend", known(&header.backend)),
        field("measured", Some(yes_no(header.measured))),
        field("stand-in", Some(yes_no(header.stand_in))),
    ];
    if OURS.contains(&header.backend.as_str()) {
        fields.push(field("ncclbench", known(&header.ncclbench)));
    }
    fields.extend(libraries(header));
    fields.extend(places(header));
    fields.extend(network(header));
    fields.push(field("timing", Some(timing(header))));
    fields.extend(environment(header));
    Fingerprint { fields }
}

fn field(name: impl Into<String>, value: Option<String>) -> Field {
    Field {
        name: name.into(),
        value,
    }
}

fn known(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn yes_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// Libraries by name and version; where a library lies and how processes meet does not matter.
fn libraries(header: &Header) -> Vec<Field> {
    let mut versions: BTreeMap<&str, Option<String>> = BTreeMap::new();
    if header.backend == "nccl" {
        versions.insert("nccl", None);
        versions.insert("cuda driver", None);
    }
    for library in &header.libraries {
        if library.name != "pmix" {
            versions.insert(&library.name, known(&library.version));
        }
    }
    versions
        .into_iter()
        .map(|(name, version)| field(name, version))
        .collect()
}

/// Devices by name, nodes and ranks on each by number; host names and process ids are not in it.
fn places(header: &Header) -> Vec<Field> {
    let seats = &header.seats;
    let devices: BTreeSet<&str> = seats.iter().map(|seat| seat.device.name.trim()).collect();
    let devices: Vec<&str> = devices
        .into_iter()
        .filter(|name| !name.is_empty())
        .collect();
    let mut nodes: BTreeMap<&str, u32> = BTreeMap::new();
    for seat in seats {
        *nodes.entry(&seat.host).or_default() += 1;
    }
    let mut ranks: Vec<u32> = nodes.values().copied().collect();
    ranks.sort_unstable();
    ranks.dedup();
    let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
    let [processes, threads, gpus] = header.shape;
    vec![
        field("device", known(&devices.join(", "))),
        field(
            "nodes",
            (!seats.is_empty()).then(|| nodes.len().to_string()),
        ),
        field("ranks of a node", known(&ranks.join(", "))),
        field("groups", Some(groups(header))),
        field(
            "processes × threads × ranks",
            Some(format!("{processes} × {threads} × {gpus}")),
        ),
    ]
}

/// How many groups the ranks work in, each by itself.
fn groups(header: &Header) -> String {
    let groups: BTreeSet<u64> = header.groups.iter().copied().collect();
    groups.len().max(1).to_string()
}

/// What carries the data between nodes, as NCCL's log says; one node has none. The class of the network's
/// topology is known to nobody yet.
fn network(header: &Header) -> Vec<Field> {
    let hosts: BTreeSet<&str> = header.seats.iter().map(|seat| seat.host.as_str()).collect();
    if header.backend != "nccl" || hosts.len() < 2 {
        return Vec::new();
    }
    let log = header.nccl_log.as_ref();
    let joined = |values: Option<Vec<&str>>| known(&values.unwrap_or_default().join(", "));
    vec![
        field(
            "network",
            joined(log.map(|log| log.networks.keys().map(String::as_str).collect())),
        ),
        field(
            "aws-ofi-nccl",
            joined(log.map(|log| log.aws_ofi_nccl.iter().map(String::as_str).collect())),
        ),
        field(
            "libfabric",
            joined(log.map(|log| log.libfabric.iter().map(String::as_str).collect())),
        ),
        field(
            "provider",
            joined(log.map(|log| log.providers.keys().map(String::as_str).collect())),
        ),
        field("topology", None),
    ]
}

/// How operations are launched and waited for; how often they are repeated does not matter.
fn timing(header: &Header) -> String {
    let settings = &header.settings;
    let mut words = vec![
        format!("waiting {}", spelled(&settings.blocking)),
        format!("{} operations in a batch", settings.ops_per_batch.max(1)),
    ];
    let tweaks = &settings.tweaks;
    if tweaks.graph_launches > 0 {
        words.push("CUDA graphs".to_owned());
    }
    if !tweaks.registration.is_none() {
        words.push(format!("registration {}", spelled(&tweaks.registration)));
    }
    if let Some(policy) = &tweaks.cta_policy {
        words.push(format!("blocks {}", spelled(policy)));
    }
    if tweaks.null_stream {
        words.push("null stream".to_owned());
    }
    if tweaks.unalign_count > 0 {
        words.push(format!("shifted by {} elements", tweaks.unalign_count));
    }
    words.join(", ")
}

/// The record's word for a setting.
fn spelled(setting: &impl serde::Serialize) -> String {
    serde_json::to_value(setting)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn environment(header: &Header) -> Vec<Field> {
    let matters = |name: &str| {
        (NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
            && !HARMLESS.iter().any(|prefix| name.starts_with(prefix))
    };
    let variables = header.environment.iter();
    variables
        .filter(|(name, _)| matters(name))
        .map(|(name, value)| field(format!("{VARIABLE}{name}"), Some(value.clone())))
        .collect()
}

/// What a field of a variable starts with.
const VARIABLE: &str = "env ";

/// What a variable that is not there is said to be: its absence is known.
const UNSET: &str = "not set";

/// Twelve hexadecimal digits that stand for a fingerprint, in names of folders.
pub fn digest(fingerprint: &Fingerprint) -> String {
    let mut hash = Sha256::new();
    for field in &fingerprint.fields {
        hash.update(field.name.as_bytes());
        hash.update([0]);
        hash.update(field.value.as_deref().unwrap_or("\u{1}").as_bytes());
        hash.update([0]);
    }
    hexadecimal(&hash.finalize()[..6])
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The fields in which two fingerprints differ, one that only one side knows among them.
pub fn differences(baseline: &Fingerprint, now: &Fingerprint) -> Vec<Difference> {
    let names = names(baseline, now);
    let all = names.iter().map(|name| Difference {
        field: (*name).to_owned(),
        baseline: value(baseline, name),
        now: value(now, name),
    });
    all.filter(|field| field.baseline != field.now).collect()
}

/// The fields that neither side knows: a reader must be told that they may differ.
pub fn unknown(baseline: &Fingerprint, now: &Fingerprint) -> Vec<String> {
    let names = names(baseline, now).into_iter();
    names
        .filter(|name| value(baseline, name).is_none() && value(now, name).is_none())
        .map(str::to_owned)
        .collect()
}

fn names<'f>(baseline: &'f Fingerprint, now: &'f Fingerprint) -> Vec<&'f str> {
    let mut names: Vec<&str> = Vec::new();
    for field in baseline.fields.iter().chain(&now.fields) {
        if !names.contains(&field.name.as_str()) {
            names.push(&field.name);
        }
    }
    names
}

fn value(fingerprint: &Fingerprint, name: &str) -> Option<String> {
    let mut fields = fingerprint.fields.iter();
    match fields.find(|field| field.name == name) {
        Some(field) => field.value.clone(),
        None => name.starts_with(VARIABLE).then(|| UNSET.to_owned()),
    }
}

/// Says in what two sides differ, one line a field.
pub fn in_words(differences: &[Difference]) -> Vec<String> {
    let said = |value: &Option<String>| match value {
        Some(value) => format!("`{value}`"),
        None => "unknown".to_owned(),
    };
    differences
        .iter()
        .map(|field| {
            format!(
                "{}: baseline {}, now {}",
                field.field,
                said(&field.baseline),
                said(&field.now)
            )
        })
        .collect()
}
