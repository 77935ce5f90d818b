//! The text of `nvidia-smi -q` and `nvidia-smi nvlink -s`, as the state of the GPUs.
//!
//! # Source
//! The tool's own manual page and its output with drivers 535 to 580; sections are told by their
//! indentation, and names that a driver does not print are not told.

use crate::probe::gpu_health::bus_id;
use crate::record::GpuHealth;
use crate::record::GpuHealths;

/// A line of the text: the sections that it is in, its name, its value.
struct Entry<'a> {
    sections: Vec<&'a str>,
    name: &'a str,
    value: &'a str,
}

/// Reads both texts.
pub(super) fn parse(query: &str, links: &str) -> GpuHealths {
    let entries = entries(query);
    let mut told = GpuHealths {
        source: "nvidia-smi".to_owned(),
        ..GpuHealths::default()
    };
    for entry in &entries {
        match (entry.sections.is_empty(), entry.name) {
            (true, "Driver Version") => told.driver = Some(entry.value.to_owned()),
            (true, "CUDA Version") => told.cuda = Some(entry.value.to_owned()),
            _ => {}
        }
    }
    let mut at = 0;
    while let Some(first) = entries[at..].iter().position(is_gpu) {
        let start = at + first;
        let next = entries[start + 1..].iter().position(is_gpu);
        let end = next.map_or(entries.len(), |next| start + 1 + next);
        let index = u32::try_from(told.gpus.len()).unwrap_or(u32::MAX);
        told.gpus.push(gpu(index, &entries[start..end]));
        at = end;
    }
    add_links(&mut told.gpus, links);
    told
}

/// `GPU 00000000:18:00.0` at the left margin opens a GPU.
fn is_gpu(entry: &Entry<'_>) -> bool {
    entry.sections.is_empty() && entry.value.is_empty() && entry.name.starts_with("GPU ")
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut all = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        open.retain(|(depth, _)| *depth < indent);
        let (name, value) = match line.split_once(" : ") {
            Some((name, value)) => (name.trim(), value.trim()),
            None => (line.trim(), ""),
        };
        all.push(Entry {
            sections: open.iter().map(|(_, name)| *name).collect(),
            name,
            value,
        });
        if value.is_empty() {
            open.push((indent, name));
        }
    }
    all
}

/// The value at the end of a path of sections below the GPU's.
fn value<'a>(entries: &[Entry<'a>], path: &[&str]) -> Option<&'a str> {
    let (name, sections) = path.split_last()?;
    let found = entries.iter().find(|entry| {
        let inner = entry.sections.get(1..).unwrap_or_default();
        entry.name == *name && inner == sections
    });
    let value = found?.value;
    (!value.is_empty() && value != "N/A" && !value.starts_with('[')).then_some(value)
}

fn gpu(index: u32, entries: &[Entry<'_>]) -> GpuHealth {
    let text = |path: &[&str]| value(entries, path).map(str::to_owned);
    let number = |path: &[&str]| leading(value(entries, path)?);
    let flag = |path: &[&str]| match value(entries, path)? {
        "Enabled" | "Yes" => Some(true),
        "Disabled" | "No" => Some(false),
        _ => None,
    };
    let any = |paths: &[&[&str]]| paths.iter().find_map(|path| number(path));
    let uncorrectable = |kind: &str| {
        // ECC counters are split by kind of memory from Ampere on, and by cause from Hopper on
        let names = [
            "SRAM Uncorrectable",
            "SRAM Uncorrectable Parity",
            "SRAM Uncorrectable SEC-DED",
            "DRAM Uncorrectable",
        ];
        let found = names
            .iter()
            .filter_map(|name| number(&["ECC Errors", kind, name]));
        let found: Vec<u64> = found.collect();
        (!found.is_empty()).then(|| found.iter().sum())
    };
    let link = |what: &str| {
        let at = |name: &str| number(&["PCI", "GPU Link Info", what, name]);
        let now = at("Current")?;
        Some((small(now), small(at("Max")?)))
    };
    GpuHealth {
        index,
        name: text(&["Product Name"]).unwrap_or_default(),
        uuid: text(&["GPU UUID"]),
        bus_id: text(&["PCI", "Bus Id"]).map(|text| bus_id(&text)),
        persistence: flag(&["Persistence Mode"]),
        mig: flag(&["MIG Mode", "Current"]),
        ecc: flag(&["ECC Mode", "Current"]),
        uncorrectable_volatile: uncorrectable("Volatile"),
        uncorrectable_aggregate: uncorrectable("Aggregate"),
        remapped_uncorrectable: number(&["Remapped Rows", "Uncorrectable Error"]),
        remap_pending: flag(&["Remapped Rows", "Pending"]),
        remap_failed: flag(&["Remapped Rows", "Remapping Failure Occurred"]),
        pcie_gen: link("PCIe Generation"),
        pcie_width: link("Link Width"),
        pcie_replays: any(&[&["PCI", "Replays Since Reset"]]),
        throttle: throttle(entries),
        sm_clock_mhz: number(&["Clocks", "SM"])
            .map(small)
            .zip(number(&["Max Clocks", "SM"]).map(small)),
        temperature_c: number(&["Temperature", "GPU Current Temp"]).map(small),
        nvlinks: None,
        nvlink_errors: None,
        fabric: text(&["Fabric", "State"]),
    }
}

/// What slows the clocks; that the GPU is idle is no reason.
fn throttle(entries: &[Entry<'_>]) -> Option<Vec<String>> {
    let heads = ["Clocks Event Reasons", "Clocks Throttle Reasons"];
    let inside = |entry: &&Entry<'_>| {
        let inner = entry.sections.get(1..).unwrap_or_default();
        inner.first().is_some_and(|head| heads.contains(head)) && !entry.value.is_empty()
    };
    let mut told = entries.iter().filter(inside).peekable();
    told.peek()?;
    let active = told.filter(|entry| entry.value == "Active");
    let names = active.filter_map(|entry| words(entry.name));
    Some(names.map(str::to_owned).collect())
}

/// The reasons in the words that are used for the library's.
fn words(name: &str) -> Option<&'static str> {
    Some(match name {
        "Applications Clocks Setting" => "applications clocks setting",
        "SW Power Cap" => "power cap",
        "HW Slowdown" => "hardware slowdown",
        "HW Thermal Slowdown" => "hardware thermal slowdown",
        "HW Power Brake Slowdown" => "power brake slowdown",
        "Sync Boost" => "sync boost",
        "SW Thermal Slowdown" => "software thermal slowdown",
        "Display Clock Setting" => "display clock setting",
        _ => return None,
    })
}

/// `16x`, `1980 MHz`, `4`.
fn leading(value: &str) -> Option<u64> {
    let digits = value.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// `GPU 0: NVIDIA H200 (UUID: GPU-…)`, then `Link 0: 26.562 GB/s` or `Link 0: <inactive>`.
fn add_links(gpus: &mut [GpuHealth], text: &str) {
    let mut current: Option<usize> = None;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("GPU ") {
            let index = leading(rest);
            current = gpus
                .iter()
                .position(|gpu| Some(u64::from(gpu.index)) == index);
        } else if line.starts_with("Link ") {
            let Some(gpu) = current.and_then(|at| gpus.get_mut(at)) else {
                continue;
            };
            let (up, all) = gpu.nvlinks.unwrap_or_default();
            let is_up = u32::from(line.contains("GB/s"));
            gpu.nvlinks = Some((up + is_up, all + 1));
        }
    }
}
