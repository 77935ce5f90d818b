//! What may be compared at all, and floors for single sizes.

use super::*;

fn named(fields: &[(&str, Option<&str>)]) -> Fingerprint {
    let fields = fields.iter().map(|(name, value)| Field {
        name: (*name).to_owned(),
        value: value.map(str::to_owned),
    });
    Fingerprint {
        fields: fields.collect(),
    }
}

fn compared(baseline: &Fingerprint, now: &Fingerprint, force: bool) -> Result<Verdict, Fault> {
    let entry = BaselineEntry {
        fingerprint: baseline.clone(),
        ..entry(side(0, 3, usual))
    };
    let launches = side(10, 3, usual);
    let question = Question {
        baseline: &entry,
        now: &launches,
        fingerprint: now,
        earlier: &[],
        floors: &[],
        force,
    };
    judge(&question, &Rules::with(Limits::default()))
}

#[test]
fn unlike_fingerprints_are_refused_with_the_field_unless_forced() {
    let old = named(&[("nccl", Some("2.27.7")), ("topology", None)]);
    let new = named(&[
        ("nccl", Some("2.28.3")),
        ("topology", None),
        ("env NCCL_ALGO", Some("Ring")),
    ]);
    let fault = compared(&old, &new, false).unwrap_err();
    assert_eq!(fault.kind, Kind::Unlike);
    let text = fault.to_string();
    assert!(
        text.contains("nccl: baseline `2.27.7`, now `2.28.3`"),
        "{text}"
    );
    assert!(
        text.contains("env NCCL_ALGO: baseline `not set`, now `Ring`"),
        "{text}"
    );
    let forced = compared(&old, &new, true).unwrap();
    assert_eq!(forced.forced.len(), 2);
    assert!(
        forced.notes.iter().any(|note| note.contains("topology")),
        "{:?}",
        forced.notes
    );
}

#[test]
fn what_neither_knows_is_a_note_and_what_one_side_knows_is_a_difference() {
    let (known, unknown) = (named(&[("nccl", Some("2.28.3"))]), named(&[("nccl", None)]));
    assert!(compared(&unknown, &unknown, false).unwrap().notes[0].contains("nccl"));
    let fault = compared(&known, &unknown, false).unwrap_err().to_string();
    assert!(
        fault.contains("nccl: baseline `2.28.3`, now unknown"),
        "{fault}"
    );
    assert_ne!(fingerprint::digest(&known), fingerprint::digest(&unknown));
}

#[test]
fn a_retired_baseline_judges_nothing() {
    let entry = BaselineEntry {
        retired: true,
        ..entry(side(0, 3, usual))
    };
    let question = Question {
        baseline: &entry,
        now: &side(10, 3, usual),
        fingerprint: &entry.fingerprint,
        earlier: &[],
        floors: &[],
        force: true,
    };
    let fault = judge(&question, &Rules::with(Limits::default())).unwrap_err();
    assert!(
        fault.to_string().contains("retired by ada: new driver"),
        "{fault}"
    );
}

#[test]
fn without_a_common_row_there_is_nothing_to_judge() {
    let mut now = side(10, 3, usual);
    for row in now.iter_mut().flat_map(|launch| &mut launch.rows) {
        row.key.collective = "broadcast".to_owned();
    }
    let fault = judged(side(0, 3, usual), &now).unwrap_err();
    assert_eq!(fault.kind, Kind::Unlike);
    assert!(judged(side(0, 3, usual), &[]).is_err() && judged(Vec::new(), &now).is_err());
}

fn floor(from: u64, to: u64) -> Floor {
    Floor {
        collective: "allreduce".to_owned(),
        dtype: None,
        placement: None,
        from: Bytes(from),
        to: Bytes(to),
        busbw_gbps: None,
        algbw_gbps: None,
        time_us: None,
    }
}

#[test]
fn a_floor_is_held_against_every_row_it_names_and_fails_where_there_is_none() {
    let now = side(10, 3, usual);
    // 4 GiB in 100 us is 42,950 GB/s, times 1.5 on the bus
    let mut asks = floor(1 << 20, 8 << 30);
    asks.busbw_gbps = Some(64_000.0);
    let found = gate(&[asks.clone()], &now);
    assert_eq!(
        found.iter().map(|row| row.met).collect::<Vec<_>>(),
        [false, false, false, true]
    );
    assert_eq!(
        found[3].asks,
        "allreduce float out-of-place 4 GiB busbw ≥ 64000 GB/s"
    );
    let mut fast = floor(0, 8);
    fast.time_us = Some(101.0);
    assert!(gate(&[fast], &now)[0].met);
    let mut nowhere = floor(16, 32);
    nowhere.algbw_gbps = Some(1.0);
    let found = gate(&[nowhere], &now);
    assert_eq!((found.len(), found[0].met, found[0].got), (1, false, None));
    let mut waived = now.clone();
    waived[1].rows[5].measure = None;
    assert!(!gate(&[asks], &waived)[3].met);
}
