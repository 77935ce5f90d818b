//! The store, written and read again, by two writers and after a crash.

use super::*;
use crate::base::sweep::Step;
use crate::base::{Bytes, DataType, GBps, Kind, Micros, Placement};
use crate::baseline::{fingerprint, launch};
use crate::record::baseline::BaselineEntry;
use crate::record::{
    Blocking, Case, Fingerprint, Header, InPlace, Line, Outcome, Quality, Row, Run, Settings,
    Spread, Tweaks,
};
use std::io::Write as _;

fn header(started: &str, pid: u32) -> Header {
    serde_json::from_value(serde_json::json!({
        "schema": 1, "ncclbench": "0.1.0", "started": started, "utc_offset_s": 0, "args": [],
        "collective": "allreduce", "backend": "host", "measured": true, "stand_in": false,
        "launcher": "alone", "launcher_reason": "", "shape": [1, 2, 1],
        "settings": settings(), "average": "mean", "libraries": [], "environment": {}, "plan": "",
        "clamped_to_bytes": null, "notes": [], "init_ms": {},
        "seats": [{"rank": 0, "process": 0, "pid": pid, "host": format!("node-{pid}"), "device": {
            "ordinal": 0, "name": "cpu", "bus_id": "", "uuid": null, "memory_bytes": null}}],
    }))
    .unwrap()
}

fn settings() -> Settings {
    Settings {
        program: String::new(),
        min_bytes: Bytes(8),
        max_bytes: Bytes(8),
        step: Step::Factor(2),
        warmup: 1,
        iterations: 20,
        ops_per_batch: 1,
        checks: 1,
        blocking: Blocking::None,
        cycles: 1,
        timestamps: false,
        placement: None,
        table_release: None,
        tweaks: Tweaks::default(),
    }
}

fn row(requested: u64, time_us: f64) -> Row {
    let spread = Spread {
        mean_us: time_us,
        min_us: time_us,
        max_us: time_us * 1.1,
        rank0_us: time_us,
    };
    Row {
        case: case(requested),
        outcome: Outcome::Measured {
            time_us: Micros(time_us),
            time: spread,
            issue: Some(spread),
            algbw_gbps: GBps(1.0),
            busbw_gbps: GBps(1.0),
            wrong: Some(u64::from(requested == 64)),
            wrong_threads: 0,
            unchecked: None,
            bad: Vec::new(),
            per_iteration: None,
        },
        at: String::new(),
        quality: Quality::default(),
    }
}

fn case(requested: u64) -> Case {
    Case {
        collective: "allreduce".to_owned(),
        dtype: DataType::Float,
        redop: None,
        root: None,
        placement: Placement::OutOfPlace,
        requested: Bytes(requested),
        size: Bytes(requested),
        count: requested / 4,
        send_count: requested / 4,
        recv_count: requested / 4,
        in_place: InPlace::Same,
        checkable: true,
        algo_bytes: Bytes(requested),
        bus_factor: 1.0,
        iterations: 20,
        ops_per_batch: 1,
        checks: 1,
        cycle: 0,
        rank_bytes: Vec::new(),
    }
}

fn waived(requested: u64) -> Row {
    Row {
        outcome: Outcome::Waived {
            reason: "no memory".to_owned(),
        },
        ..row(requested, 1.0)
    }
}

fn write(run: &mut NewRun, line: &Line) {
    let mut text = serde_json::to_vec(line).unwrap();
    text.push(b'\n');
    run.file.write_all(&text).unwrap();
}

fn stored(store: &Store, header: &Header, rows: &[Row]) -> NewRun {
    let mut run = store.create(header).unwrap();
    write(&mut run, &Line::Header(Box::new(header.clone())));
    for row in rows {
        write(&mut run, &Line::Row(Box::new(row.clone())));
    }
    run
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("results"));
    (folder, store)
}

#[test]
fn what_is_read_in_brief_is_what_is_read_whole() {
    let (_folder, store) = store();
    let header = header("2026-11-30T01:02:03.000Z", 1);
    let mut run = stored(
        &store,
        &header,
        &[row(8, 5.0), waived(16), row(64, 7.0), row(8, 6.0)],
    );
    write(&mut run, &Line::Footer(Box::default()));
    let bytes = std::fs::read(&run.path).unwrap();
    let (brief, whole) = (read_brief("a", &bytes).unwrap(), Run::read(&bytes).unwrap());
    assert_eq!(brief.launch, launch::of_run("a", &whole));
    assert_eq!(brief.header, whole.header);
    assert_eq!((brief.launch.rows.len(), brief.launch.wrong), (3, 1));
}

#[test]
fn runs_are_found_by_what_they_have_in_common_and_listed_oldest_first() {
    let (_folder, store) = store();
    assert!(store.runs().unwrap().is_empty());
    let mut other = header("2026-11-28T01:02:03.000Z", 1);
    other.backend = "nccl".to_owned();
    drop(stored(&store, &other, &[]));
    for day in ["30", "29"] {
        let header = header(&format!("2026-11-{day}T01:02:03.000Z"), 1);
        drop(stored(&store, &header, &[row(8, 5.0)]));
    }
    let names: Vec<String> = store
        .runs()
        .unwrap()
        .into_iter()
        .map(|run| run.name)
        .collect();
    assert!(names.is_sorted() && names.len() == 3 && names[0].starts_with("20261128T010203Z-"));
    let digest = fingerprint::digest(&fingerprint::of(&header("2026-11-01T00:00:00.000Z", 77)));
    let (launches, faults) = store.launches_of(&digest).unwrap();
    assert!(faults.is_empty());
    assert_eq!(
        launches.len(),
        2,
        "the host and the process are not in the fingerprint"
    );
    assert!(launches[0].cut_short.is_some(), "they have no footer");
    assert!(store.launches_of("000000000000").unwrap().0.is_empty());
    let beside = store
        .root()
        .join("runs")
        .join(&digest)
        .join("fingerprint.json");
    assert!(
        std::fs::read_to_string(beside)
            .unwrap()
            .contains("\"backend\"")
    );
}

#[test]
fn a_run_that_lies_anywhere_in_the_folder_is_one_of_the_store() {
    let (_folder, store) = store();
    let header = header("2026-11-30T01:02:03.000Z", 1);
    let run = stored(&store, &header, &[row(8, 5.0)]);
    let elsewhere = store.root().join("2026-11-30-by-hand/night.jsonl");
    std::fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    std::fs::rename(&run.path, &elsewhere).unwrap();
    std::fs::write(store.root().join("notes.jsonl"), "no run\n").unwrap();
    let names: Vec<String> = store
        .runs()
        .unwrap()
        .into_iter()
        .map(|run| run.name)
        .collect();
    assert_eq!(names, ["night", "notes"]);
    let digest = fingerprint::digest(&fingerprint::of(&header));
    let (launches, faults) = store.launches_of(&digest).unwrap();
    assert_eq!((launches.len(), faults.len()), (1, 1));
    assert!(
        faults[0].to_string().contains("notes.jsonl"),
        "{}",
        faults[0]
    );
}

#[test]
fn two_runs_that_begin_at_once_have_a_file_each() {
    let (_folder, store) = store();
    let start = || header("2026-11-30T01:02:03.000Z", 1);
    let paths: Vec<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| store.create(&start()).unwrap().path))
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    });
    let mut unique = paths.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), paths.len());
}

#[test]
fn a_run_that_was_killed_is_read_up_to_its_last_whole_line() {
    let (_folder, store) = store();
    let header = header("2026-11-30T01:02:03.000Z", 1);
    let mut run = stored(&store, &header, &[row(8, 5.0), row(16, 6.0)]);
    run.file.write_all(b"{\"line\":\"row\",\"collec").unwrap();
    let brief = store.read_run("last").unwrap();
    assert_eq!(brief.launch.rows.len(), 2);
    assert_eq!(
        brief.launch.cut_short.as_deref(),
        Some("its last line was cut off")
    );
    run.file.write_all(b"\n{\"line\":\"footer\"}\n").unwrap();
    let fault = store.read_run("last").unwrap_err();
    assert!(fault.to_string().contains("line 4"), "{fault}");
}

#[test]
fn a_run_is_named_by_path_by_the_beginning_of_its_name_or_as_the_last() {
    let (_folder, store) = store();
    for day in ["29", "30"] {
        drop(stored(
            &store,
            &header(&format!("2026-11-{day}T01:02:03.000Z"), 1),
            &[],
        ));
    }
    let last = store.find("last").unwrap();
    assert_eq!(store.find("20261130").unwrap(), last);
    assert_eq!(store.find(last.to_str().unwrap()).unwrap(), last);
    assert_eq!(store.find("202611").unwrap_err().kind, Kind::Usage);
    let fault = store.find("2027").unwrap_err();
    assert!(
        fault.kind == Kind::Missing && fault.to_string().contains("results list"),
        "{fault}"
    );
}

fn entry(name: &str, author: &str) -> BaselineEntry {
    BaselineEntry {
        schema: 0,
        name: name.to_owned(),
        entry: 0,
        retired: false,
        author: author.to_owned(),
        at: "2026-11-30T01:02:03.000Z".to_owned(),
        reason: "because".to_owned(),
        fingerprint: Fingerprint::default(),
        launches: Vec::new(),
    }
}

#[test]
fn a_baseline_changes_by_entries_and_keeps_every_one() {
    let (_folder, store) = store();
    assert_eq!(store.baseline("night").unwrap_err().kind, Kind::Missing);
    for author in ["ada", "bob", "eve"] {
        store.accept(entry("night", author)).unwrap();
    }
    let current = store.baseline("night").unwrap();
    assert_eq!((current.entry, current.author.as_str()), (3, "eve"));
    let authors: Vec<String> = store
        .history_of("night")
        .unwrap()
        .into_iter()
        .map(|entry| entry.author)
        .collect();
    assert_eq!(authors, ["ada", "bob", "eve"]);
    assert_eq!(store.baselines().unwrap().len(), 1);
}

#[test]
fn of_two_who_accept_at_once_one_is_told() {
    let (_folder, store) = store();
    let accepted: Vec<_> = std::thread::scope(|scope| {
        let store = &store;
        let writers: Vec<_> = ["a", "b", "c", "d"]
            .into_iter()
            .map(|name| scope.spawn(move || store.accept(entry("night", name))))
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    });
    let written = accepted.iter().filter(|outcome| outcome.is_ok()).count();
    let history = store.history_of("night").unwrap();
    assert_eq!(history.len(), written);
    assert!(written >= 1);
    for fault in accepted.into_iter().filter_map(Result::err) {
        assert!(
            fault.to_string().contains("changed by somebody else"),
            "{fault}"
        );
    }
    let numbers: Vec<u32> = history.iter().map(|entry| entry.entry).collect();
    assert_eq!(
        numbers,
        (1..=u32::try_from(written).unwrap()).collect::<Vec<_>>()
    );
}

#[test]
fn a_writer_that_died_half_way_leaves_a_baseline_that_reads_and_can_be_changed() {
    let (_folder, store) = store();
    store.accept(entry("night", "ada")).unwrap();
    let current = store.root().join("baselines/night.json");
    let before = std::fs::read(&current).unwrap();
    store.accept(entry("night", "bob")).unwrap();
    std::fs::write(&current, before).unwrap();
    std::fs::write(store.root().join("baselines/.night.json.x.tmp"), "{").unwrap();
    assert_eq!(store.baseline("night").unwrap().author, "bob");
    assert_eq!(store.accept(entry("night", "eve")).unwrap().entry, 3);
    assert_eq!(store.baselines().unwrap().len(), 1);
}

#[test]
fn a_copied_file_alone_is_a_baseline_too() {
    let (_folder, store) = store();
    store.accept(entry("night", "ada")).unwrap();
    std::fs::remove_dir_all(store.root().join("baselines/history")).unwrap();
    assert_eq!(store.baseline("night").unwrap().entry, 1);
    assert_eq!(store.history_of("night").unwrap().len(), 1);
    assert_eq!(store.accept(entry("night", "bob")).unwrap().entry, 2);
    let path = store.root().join("baselines/night.json");
    assert_eq!(
        store.baseline(path.to_str().unwrap()).unwrap().author,
        "bob"
    );
}

#[test]
fn the_baseline_for_a_run_is_the_one_in_force_with_its_fingerprint() {
    let (_folder, store) = store();
    let fields = fingerprint::of(&header("2026-11-30T01:02:03.000Z", 1));
    assert!(store.baseline_for(&fields).unwrap().0.is_none());
    store.accept(entry("other", "ada")).unwrap();
    let mut mine = entry("mine", "ada");
    mine.fingerprint = fields.clone();
    store.accept(mine.clone()).unwrap();
    assert_eq!(store.baseline_for(&fields).unwrap().0.unwrap().name, "mine");
    mine.name = "second".to_owned();
    store.accept(mine.clone()).unwrap();
    let fault = store.baseline_for(&fields).unwrap_err();
    assert!(fault.to_string().contains("mine\n  second"), "{fault}");
    mine.retired = true;
    store.accept(mine).unwrap();
    assert_eq!(store.baseline_for(&fields).unwrap().0.unwrap().name, "mine");
}

#[test]
fn names_that_are_no_names_and_files_that_are_no_baselines_are_refused() {
    let (_folder, store) = store();
    for name in ["", ".hidden", "-x", "a b", "night.3", &"x".repeat(65)] {
        assert_eq!(
            store.accept(entry(name, "ada")).unwrap_err().kind,
            Kind::Usage,
            "{name}"
        );
    }
    store.accept(entry("night", "ada")).unwrap();
    let path = store.root().join("baselines/night.json");
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("\"schema\": 1", "\"schema\": 99");
    std::fs::write(&path, text).unwrap();
    let fault = store.baseline("night").unwrap_err().to_string();
    assert!(fault.contains("night.json`: its schema is 99"), "{fault}");
    assert!(store.baselines().unwrap()[0].entry.is_err());
}
