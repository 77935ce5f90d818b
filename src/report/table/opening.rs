//! What stands before the table's headings: versions, settings, devices, remarks.

use crate::base::sweep::Step;
use crate::record::{Blocking, Header, Release, SeatRecord, Settings};
use std::fmt::Write as _;

/// All lines before the headings.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeDeviceReport`.
pub(super) fn opening(header: &Header) -> String {
    let mut text = first_lines(header);
    text.push_str(&how(&header.settings));
    text.push_str("#\n# Using devices\n");
    for (index, seat) in header.seats.iter().enumerate() {
        let group = header.groups.get(index).copied().unwrap_or(0);
        text.push_str(&rank_line(seat, group));
    }
    text.push_str(&remarks(header));
    text
}

/// Version, program and settings; a release before those lines has none of them. The library is
/// looked up at run time, so that the version of the headers is that of the library; without NCCL
/// both are 0.
fn first_lines(header: &Header) -> String {
    let settings = &header.settings;
    let release = settings.table_release.unwrap_or(Release::NEWEST);
    let nccl = header.libraries.iter().find(|one| one.name == "nccl");
    let version = nccl.and_then(|library| library.code).unwrap_or(0);
    let mut text = String::new();
    if release >= Release::TELLS_ITSELF {
        let _ = writeln!(
            text,
            "# nccl-tests version {release} nccl-headers={version} nccl-library={version}"
        );
    }
    if release >= Release::NAMES_PROGRAM {
        let _ = writeln!(text, "# Collective test starting: {}", settings.program);
    }
    let [_, threads, gpus] = header.shape;
    let _ = write!(text, "# nThread {threads} nGpus {gpus} {}", loops(settings));
    if release >= Release::TELLS_UNALIGN {
        let _ = write!(text, " unalign: {}", settings.tweaks.unalign_count);
    }
    text + "\n"
}

fn loops(settings: &Settings) -> String {
    let (step, unit) = match settings.step {
        Step::Factor(factor) => (factor, "factor"),
        Step::Bytes(bytes) => (bytes, "bytes"),
    };
    format!(
        "minBytes {} maxBytes {} step: {step}({unit}) warmup iters: {} iters: {} agg iters: {} \
         validation: {} graph: {}",
        settings.min_bytes.0,
        settings.max_bytes.0,
        settings.warmup,
        settings.iterations,
        settings.ops_per_batch,
        settings.checks,
        settings.tweaks.graph_launches,
    )
}

/// Lines about what is not the usual.
fn how(settings: &Settings) -> String {
    let mut text = blocking_line(settings.blocking).to_owned();
    if let Some(skip) = settings.tweaks.per_iteration {
        let skips = match skip {
            0 => String::new(),
            _ => format!("; summary skips first {skip} iterations"),
        };
        let _ = writeln!(
            text,
            "# Per-Iteration Report: CUDA event timing; i_* uses max over process rows{skips} "
        );
    }
    if settings.tweaks.parallel_init {
        text.push_str("# Parallel Init Enabled: threads call into NcclInitRank concurrently \n");
    }
    text
}

fn blocking_line(blocking: Blocking) -> &'static str {
    match blocking {
        Blocking::None => "",
        Blocking::WaitAndBarrier => {
            "# Blocking Enabled: wait and barrier after each inner iteration (-m) \n"
        }
        Blocking::Wait => "# Blocking Enabled: wait after each inner iteration (-m), no barrier \n",
        Blocking::BarrierOutside => {
            "# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier \n"
        }
    }
}

fn rank_line(seat: &SeatRecord, group: u64) -> String {
    let device = &seat.device;
    format!(
        "#  Rank {:2} Group {group:2} Pid {:6} on {:>10} device {:2} [{}] {}\n",
        seat.rank, seat.pid, seat.host, device.ordinal, device.bus_id, device.name
    )
}

/// Between the devices and the table: nccl-tests' line about memory, and of our own only what makes the
/// numbers worthless. All else is on stderr and in the run's file.
fn remarks(header: &Header) -> String {
    let mut text = String::new();
    if let Some(limit) = header.clamped_to_bytes {
        let _ = write!(
            text,
            "#\n# Reducing maxBytes to {limit} due to memory limitation\n"
        );
    }
    if !header.measured {
        text.push_str("# ncclbench: simulated by a cost model; nothing was measured\n");
    }
    if header.stand_in {
        text.push_str("# ncclbench: a stand-in library took part; this is a test of the program\n");
    }
    text
}
