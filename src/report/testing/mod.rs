//! Runs for tests of plots and documents: ordinary ones, and every odd one that a reader may come with.

use crate::base::sweep::Step;
use crate::base::{Bytes, DataType, GBps, Micros, Placement, RedOp};
use crate::record::{
    BadElement, Blocking, Case, DeviceRecord, Footer, Header, InPlace, LibraryRecord, Outcome,
    Quality, Row, Run, SCHEMA, SeatRecord, Settings,
};
use std::collections::BTreeMap;

pub(super) mod judged;
mod odd;

pub(super) use judged::verdict;
pub(super) use odd::odd;

/// A name that every format must escape.
pub(super) const HOSTILE: &str =
    "a<b>&\"c\"'d'|e`f`*g*_h_\\i\n=j\u{1}\u{ffff}</script><script>alert(1)</script>]]>";

/// A run over the given sizes, both placements, whose bandwidth grows with the size.
pub(super) fn run(sizes: &[u64]) -> Run {
    let rows = sizes
        .iter()
        .flat_map(|&size| Placement::ALL.map(|placement| row("allreduce", size, placement)));
    Run {
        header: header(),
        rows: rows.collect(),
        footer: Some(footer(0)),
        torn: None,
    }
}

/// Powers of two from 8 B to 1 GiB.
pub(super) fn sizes() -> Vec<u64> {
    (3..=30).map(|exponent| 1 << exponent).collect()
}

pub(super) fn header() -> Header {
    let seat = |rank: u32| SeatRecord {
        rank,
        process: rank,
        pid: 100 + rank,
        host: format!("gpu-{}", rank / 4),
        device: DeviceRecord {
            ordinal: rank % 4,
            name: "NVIDIA H200".to_owned(),
            bus_id: "0000:53:00".to_owned(),
            uuid: None,
            memory_bytes: None,
        },
    };
    Header {
        ncclbench: "0.1.0".to_owned(),
        started: "2026-11-29T14:17:00.000Z".to_owned(),
        collective: "allreduce".to_owned(),
        backend: "nccl".to_owned(),
        measured: true,
        launcher: "slurm".to_owned(),
        launcher_reason: "SLURM_PROCID".to_owned(),
        shape: [8, 1, 1],
        average: "mean".to_owned(),
        libraries: vec![LibraryRecord {
            name: "nccl".to_owned(),
            path: "libnccl.so.2".to_owned(),
            version: "2.28.3".to_owned(),
            code: Some(22803),
            stand_in: false,
        }],
        seats: (0..8).map(seat).collect(),
        environment: BTreeMap::from([("SLURM_JOB_ID".to_owned(), "17".to_owned())]),
        ..serde_json::from_value(blank()).unwrap()
    }
}

/// What a header needs besides; made from JSON so that new optional fields need no change here.
fn blank() -> serde_json::Value {
    let settings = Settings {
        min_bytes: Bytes(8),
        max_bytes: Bytes(64),
        step: Step::Factor(2),
        blocking: Blocking::None,
        ..serde_json::from_value(serde_json::json!({
            "program": "all_reduce_perf", "min_bytes": 8, "max_bytes": 64, "step": {"factor": 2}, "warmup": 1,
            "iterations": 20, "ops_per_batch": 1, "checks": 1, "blocking": "none", "cycles": 1, "timestamps": false
        }))
        .unwrap()
    };
    serde_json::json!({
        "schema": SCHEMA, "ncclbench": "", "started": "", "utc_offset_s": 0, "args": ["ncclbench", "allreduce"],
        "collective": "", "backend": "", "measured": true, "stand_in": false, "launcher": "", "launcher_reason": "",
        "shape": [1, 1, 1], "settings": settings, "average": "", "libraries": [], "seats": [], "environment": {},
        "plan": "00ff", "clamped_to_bytes": null, "notes": [], "init_ms": {"communicator": 12.5}
    })
}

pub(super) fn footer(exit_code: u8) -> Footer {
    serde_json::from_value(serde_json::json!({
        "ended": "2026-11-29T14:18:00.000Z", "rows": 1, "wrong_measurements": 0, "average_busbw_gbps": 1.0,
        "exit_code": exit_code, "fault": null
    }))
    .unwrap()
}

/// A row at a time that a machine could have.
pub(super) fn row(collective: &str, size: u64, placement: Placement) -> Row {
    let bytes = u32::try_from(size).map_or(4e9, f64::from);
    measured(collective, size, placement, 10.0 + bytes / 400e3)
}

/// A row with a given time.
pub(super) fn measured(collective: &str, size: u64, placement: Placement, time_us: f64) -> Row {
    let algbw = GBps::of(Bytes(size), Micros(time_us)).0;
    let spread = serde_json::json!({
        "mean_us": time_us, "min_us": time_us, "max_us": time_us, "rank0_us": time_us
    });
    let outcome = serde_json::json!({
        "outcome": "measured", "time_us": time_us, "time": spread, "issue": spread, "algbw_gbps": algbw,
        "busbw_gbps": algbw * 1.75, "wrong": 0, "wrong_threads": 0, "unchecked": null, "bad": []
    });
    Row {
        case: case(collective, size, placement),
        outcome: serde_json::from_value(outcome).unwrap(),
        at: "2026-11-29T14:17:01.000Z".to_owned(),
        quality: Quality::default(),
    }
}

fn case(collective: &str, size: u64, placement: Placement) -> Case {
    serde_json::from_value(serde_json::json!({
        "collective": collective, "dtype": DataType::Float, "redop": RedOp::Sum, "root": null, "placement": placement,
        "requested": size, "size": size, "count": size / 4, "send_count": size / 4, "recv_count": size / 4,
        "in_place": InPlace::Same, "checkable": true, "algo_bytes": size, "bus_factor": 1.75, "iterations": 20,
        "ops_per_batch": 1, "checks": 1, "cycle": 0
    }))
    .unwrap()
}

/// The same row waived.
pub(super) fn waived(row: Row, reason: &str) -> Row {
    Row {
        outcome: Outcome::Waived {
            reason: reason.to_owned(),
        },
        ..row
    }
}

/// The same row with wrong data.
pub(super) fn spoilt(mut row: Row) -> Row {
    if let Outcome::Measured { wrong, bad, .. } = &mut row.outcome {
        *wrong = Some(3);
        bad.push(BadElement {
            rank: 2,
            host: HOSTILE.to_owned(),
            gpu: Some(1),
            index: 7,
            expected_bits: 1,
            got_bits: 2,
            class: "unwritten".to_owned(),
        });
    }
    row
}
