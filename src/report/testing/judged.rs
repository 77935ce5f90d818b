//! A verdict on a run, with everything in it that a reader may be shown.

use super::HOSTILE;
use crate::record::verdict::{Band, BandVerdict, BaselineRef, Change, Decision, GateResult};
use crate::record::verdict::{MissingRow, RowLook, RowVerdict, Side};
use crate::record::{Row, RowKey, Run, Verdict};

/// A verdict on a run: its rows are as much faster as `percent` says.
pub(in crate::report) fn verdict(run: &Run, percent: f64) -> Verdict {
    let change = Change {
        percent,
        low_percent: Some(percent - 1.0),
        high_percent: Some(percent + 1.0),
    };
    let rows: Vec<RowVerdict> = run.rows.iter().map(|row| of_row(row, change)).collect();
    let missing = rows.first().map(|row| MissingRow {
        key: row.key.clone(),
        lost: true,
        why: "not in the file".to_owned(),
    });
    let decision = if percent < -4.0 {
        Decision::Regress
    } else {
        Decision::Inconclusive
    };
    Verdict {
        decision,
        sentence: format!("slower than {HOSTILE}"),
        baseline: baseline(),
        runs: vec!["run".to_owned()],
        started: "2026-11-29T14:17:00.000Z".to_owned(),
        over_ranks: "max".to_owned(),
        summary: "median".to_owned(),
        confidence_percent: 95.0,
        pass_confidence_percent: 99.5,
        bands: [Band::Latency, Band::Bandwidth]
            .map(|band| of_band(band, change, decision))
            .into(),
        parts: Vec::new(),
        missing: missing.into_iter().collect(),
        rows,
        gate: vec![gate()],
        launches_needed: None,
        forced: Vec::new(),
        history: Vec::new(),
        notes: vec![HOSTILE.to_owned()],
    }
}

fn baseline() -> BaselineRef {
    BaselineRef {
        name: HOSTILE.to_owned(),
        entry: 2,
        author: "someone".to_owned(),
        accepted: "2026-11-01T00:00:00Z".to_owned(),
        reason: "first".to_owned(),
        launches: 5,
    }
}

fn gate() -> GateResult {
    GateResult {
        asks: HOSTILE.to_owned(),
        got: None,
        bound: 350.0,
        unit: "GB/s".to_owned(),
        met: false,
    }
}

fn of_row(row: &Row, change: Change) -> RowVerdict {
    let key = RowKey::of(&row.case);
    let side = |time_us: f64| Side {
        launches: 5,
        time_us,
        fastest_us: time_us * 0.97,
        slowest_us: time_us * 1.03,
        busbw_gbps: 100.0 / time_us,
    };
    RowVerdict {
        band: if key.requested.0 <= 64 << 10 {
            Band::Latency
        } else {
            Band::Bandwidth
        },
        key,
        baseline: side(10.0),
        now: side(11.0),
        change,
        limit_percent: 3.0,
        look: RowLook::Slower,
        z: None,
        why: String::new(),
    }
}

fn of_band(band: Band, change: Change, decision: Decision) -> BandVerdict {
    BandVerdict {
        band,
        collective: None,
        rows: 5,
        change,
        ruled_out_percent: None,
        limit_percent: 3.0,
        decision,
        launches_needed: None,
        why: "because".to_owned(),
    }
}
