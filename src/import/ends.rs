//! What opens and what closes the record of an imported run.

use super::About;
use super::build::utc;
use super::heading::{Draft, Told};
use crate::base::Bytes;
use crate::base::sweep::Step;
use crate::collective::Collective;
use crate::record::{
    DeviceRecord, Footer, Header, LibraryRecord, Registration, SCHEMA, SeatRecord, Settings, Tweaks,
};
use std::collections::{BTreeMap, BTreeSet};

/// The run's header.
pub(super) fn header(
    draft: &Draft,
    told: &Told,
    what: &'static dyn Collective,
    about: &About,
    started: &str,
) -> Header {
    let processes: BTreeSet<_> = draft
        .seats
        .iter()
        .map(|seat| (&seat.host, seat.pid))
        .collect();
    Header {
        schema: SCHEMA,
        ncclbench: env!("CARGO_PKG_VERSION").to_owned(),
        started: started.to_owned(),
        utc_offset_s: 0,
        args: draft.args.clone(),
        collective: what.name().to_owned(),
        backend: "nccl".to_owned(),
        call: None,
        measured: true,
        stand_in: false,
        launcher: "import".to_owned(),
        launcher_reason: format!("`{}`", about.name),
        shape: [
            u32::try_from(processes.len()).unwrap_or(u32::MAX),
            told.threads,
            told.gpus,
        ],
        settings: settings(draft, told, what),
        seed: None,
        average: average(draft).unwrap_or("mean").to_owned(),
        libraries: library(draft).into_iter().collect(),
        seats: seats(draft),
        groups: groups(draft),
        environment: draft.environment.clone(),
        plan: String::new(),
        clamped_to_bytes: draft.clamp,
        notes: notes(draft, about),
        init_ms: BTreeMap::new(),
        sweep: None,
        conditions: None,
        nccl_log: None,
    }
}

fn settings(draft: &Draft, told: &Told, what: &'static dyn Collective) -> Settings {
    let option = |short, long| option(&draft.args, short, long);
    let number = |short, long| option(short, long).and_then(|text| text.parse::<usize>().ok());
    Settings {
        program: format!("{}_perf", what.nccl_tests_name()),
        min_bytes: Bytes(told.min_bytes),
        max_bytes: Bytes(told.max_bytes),
        step: match told.step {
            Step::Factor(0 | 1) => Step::Factor(2),
            step => step,
        },
        warmup: told.warmup,
        iterations: told.iterations,
        ops_per_batch: told.ops_per_batch,
        checks: told.checks,
        blocking: draft.blocking,
        cycles: 1,
        placement: None,
        timestamps: draft.rows.iter().any(|row| row.at.is_some()),
        table_release: None,
        tweaks: Tweaks {
            graph_launches: told.graph,
            registration: number('R', "local_register")
                .and_then(|index| Registration::ALL.get(index).copied())
                .unwrap_or_default(),
            parallel_init: draft.parallel_init,
            unalign_count: number('u', "unalign")
                .and_then(|count| count.try_into().ok())
                .unwrap_or(told.unalign),
            per_iteration: draft.per_iteration,
            issue_time: draft.issue_time,
            ..Tweaks::default()
        },
    }
}

/// What an option of nccl-tests' command line was given, the last time.
fn option<'a>(args: &'a [String], short: char, long: &str) -> Option<&'a str> {
    let value = |index: usize| {
        let (word, next) = (
            args[index].as_str(),
            args.get(index + 1).map(String::as_str),
        );
        if let Some(rest) = word.strip_prefix("--") {
            let (name, value) = rest
                .split_once('=')
                .map_or((rest, next), |(name, v)| (name, Some(v)));
            return value.filter(|_| name == long);
        }
        let rest = word.strip_prefix('-')?.strip_prefix(short)?;
        if rest.is_empty() { next } else { Some(rest) }
    };
    (0..args.len()).rev().find_map(value)
}

/// `-a`, where the command line is known.
fn average(draft: &Draft) -> Option<&'static str> {
    match option(&draft.args, 'a', "average")? {
        "0" => Some("rank0"),
        "1" => Some("mean"),
        "2" => Some("min"),
        "3" => Some("max"),
        _ => None,
    }
}

fn library(draft: &Draft) -> Option<LibraryRecord> {
    let code = draft.library?;
    Some(LibraryRecord {
        name: "nccl".to_owned(),
        path: String::new(),
        version: format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100),
        code: Some(code),
        stand_in: false,
    })
}

fn seats(draft: &Draft) -> Vec<SeatRecord> {
    let mut processes: Vec<(&String, u32)> = Vec::new();
    let seats = draft.seats.iter().map(|seat| {
        let key = (&seat.host, seat.pid);
        let process = processes.iter().position(|known| *known == key);
        let process = process.unwrap_or_else(|| {
            processes.push(key);
            processes.len() - 1
        });
        SeatRecord {
            rank: seat.rank,
            process: u32::try_from(process).unwrap_or(u32::MAX),
            pid: seat.pid,
            host: seat.host.clone(),
            device: DeviceRecord {
                ordinal: seat.device,
                name: seat.name.clone(),
                bus_id: seat.bus_id.clone(),
                uuid: None,
                memory_bytes: None,
            },
        }
    });
    seats.collect()
}

/// Where there is more than the one.
fn groups(draft: &Draft) -> Vec<u64> {
    if draft.seats.iter().all(|seat| seat.group == 0) {
        return Vec::new();
    }
    draft
        .seats
        .iter()
        .map(|seat| u64::from(seat.group))
        .collect()
}

fn notes(draft: &Draft, about: &About) -> Vec<String> {
    let version = draft.version.as_deref().unwrap_or("of an unknown version");
    let mut notes = vec![format!(
        "imported from nccl-tests {version}, `{}`",
        about.name
    )];
    if average(draft).is_none() {
        notes.push("how the time combines ranks is not in the log; taken for the mean, which is the default".to_owned());
    }
    if draft.started.is_some() || draft.rows.iter().any(|row| row.at.is_some()) {
        notes.push("times are local to where it ran".to_owned());
    } else {
        notes.push("when it ran is not in the log; the time is that of the file".to_owned());
    }
    if draft.seats.iter().any(|seat| seat.group > 0) {
        notes.push("several groups ran at once; the table is of the first one's ranks".to_owned());
    }
    let failures = draft.failures.iter();
    notes.extend(failures.map(|text| format!("the run failed: {text}")));
    notes
}

/// None where the run did not come to its end.
pub(super) fn footer(draft: &Draft, about: &About) -> Option<Footer> {
    let wrong_measurements = draft.wrong_measurements?;
    let ended = draft.ended.as_deref().and_then(utc);
    Some(Footer {
        ended: ended.unwrap_or_else(|| about.written.clone()),
        rows: 2 * draft.rows.len() as u64,
        wrong_measurements,
        average_busbw_gbps: draft.average_busbw.unwrap_or(0.0),
        exit_code: exit_code(draft, wrong_measurements),
        fault: draft.failures.first().cloned(),
        ..Footer::default()
    })
}

/// Ours, for what nccl-tests ended with.
fn exit_code(draft: &Draft, wrong_measurements: u64) -> u8 {
    if wrong_measurements > 0 {
        5
    } else if !draft.failures.is_empty() {
        3
    } else if draft.bandwidth_met == Some(false) {
        6
    } else {
        0
    }
}
