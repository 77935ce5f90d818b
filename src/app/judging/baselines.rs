//! `ncclbench baseline`: accept, list, show, retire.

use super::accept;
use super::author;
use super::launches::Side;
use crate::app::say;
use crate::app::tell;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::moment;
use crate::cli;
use crate::cli::BaselineArgs;
use crate::cli::Deed;
use crate::cli::Signed;
use crate::engine::SystemClock;
use crate::record::baseline::BASELINE_SCHEMA;
use crate::record::baseline::BaselineEntry;
use crate::report::grid::grid;
use crate::store::Store;
use std::fmt::Write as _;
use std::time::Duration;
use std::time::UNIX_EPOCH;

/// Does it; gives the exit code.
pub(in crate::app) fn run(args: &BaselineArgs, env: &Env) -> u8 {
    let store = Store::at(cli::store_folder(args.store.as_deref(), env));
    let done = match &args.deed {
        Deed::Accept { name, signed, runs } => accepted(&store, name, signed, runs, env),
        Deed::Retire { name, signed } => retired(&store, name, signed, env),
        Deed::List { json } => list(&store, *json),
        Deed::Show { name } => show(&store, name),
    };
    done.unwrap_or_else(|fault| crate::app::refuse(&fault))
}

fn now() -> String {
    let since = SystemClock.wall().duration_since(UNIX_EPOCH);
    moment::rfc3339(since.unwrap_or(Duration::ZERO))
}

fn accepted(
    store: &Store,
    name: &str,
    signed: &Signed,
    runs: &[String],
    env: &Env,
) -> Result<u8, Fault> {
    let side = Side::read(store, runs, false)?;
    accept::check(&side)?;
    if let Some(run) = accept::wrong(&side) {
        say(&format!(
            "error: `{run}` has wrong data, which cannot be what is normal"
        ));
        return Ok(5);
    }
    remark(&side);
    let before = match store.baseline(name) {
        Ok(entry) => Some(entry),
        Err(fault) if fault.kind == Kind::Missing => None,
        Err(fault) => return Err(fault),
    };
    let entry = store.accept(BaselineEntry {
        schema: BASELINE_SCHEMA,
        name: name.to_owned(),
        entry: 0,
        retired: false,
        author: author::of(signed.author.as_deref(), env),
        at: now(),
        reason: signed.reason.clone(),
        fingerprint: side.fingerprint,
        launches: side.launches,
    })?;
    let mut text = format!("accepted {}\n", line(&entry));
    if let Some(before) = before {
        let _ = writeln!(text, "before:  {}", line(&before));
    }
    Ok(tell(&text))
}

/// What a person should think about once more.
fn remark(side: &Side) {
    let header = &side.header;
    if !header.measured || header.stand_in {
        say("note: these runs are no measurements: simulated, or a stand-in library took part");
    }
    let n = side.launches.len();
    if n < 5 {
        say(&format!(
            "note: {n} of the 5 launches that show how launches vary; verdicts need more of the other side"
        ));
    }
}

fn retired(store: &Store, name: &str, signed: &Signed, env: &Env) -> Result<u8, Fault> {
    let before = store.baseline(name)?;
    if before.retired {
        return Err(Fault::usage(format!(
            "baseline `{name}` is retired already"
        )));
    }
    let entry = store.accept(BaselineEntry {
        retired: true,
        author: author::of(signed.author.as_deref(), env),
        at: now(),
        reason: signed.reason.clone(),
        ..before
    })?;
    Ok(tell(&format!("retired {}\n", line(&entry))))
}

/// `nightly, entry 3: 5 launches, by ada on 2026-11-30: new driver`
fn line(entry: &BaselineEntry) -> String {
    let date = entry.at.get(..10).unwrap_or(&entry.at);
    let state = if entry.retired {
        "retired".to_owned()
    } else {
        format!("{} launches", entry.launches.len())
    };
    format!(
        "{}, entry {}: {state}, by {} on {date}: {}",
        entry.name, entry.entry, entry.author, entry.reason
    )
}

fn list(store: &Store, json: bool) -> Result<u8, Fault> {
    let mut code = 0;
    let mut entries = Vec::new();
    for listed in store.baselines()? {
        match listed.entry {
            Ok(entry) => entries.push(entry),
            Err(fault) => code = crate::app::refuse(&fault).max(code),
        }
    }
    let text = if json {
        entries
            .iter()
            .map(super::json)
            .collect::<Result<String, Fault>>()?
    } else {
        table(&entries)
    };
    if entries.is_empty() && code == 0 {
        say(&format!(
            "note: there is no baseline in `{}`",
            store.root().display()
        ));
    }
    Ok(super::most_severe(&[tell(&text), code]))
}

fn table(entries: &[BaselineEntry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let heading = [
        "<name",
        "entry",
        "launches",
        "rows",
        "<author",
        "<accepted",
        "<fingerprint",
        "<reason",
    ];
    let lines = entries.iter().map(|entry| {
        let rows = entry.launches.first().map_or(0, |launch| launch.rows.len());
        let state = if entry.retired { "retired: " } else { "" };
        vec![
            entry.name.clone(),
            entry.entry.to_string(),
            entry.launches.len().to_string(),
            rows.to_string(),
            entry.author.clone(),
            entry.at.get(..10).unwrap_or(&entry.at).to_owned(),
            crate::baseline::fingerprint::digest(&entry.fingerprint),
            format!("{state}{}", entry.reason),
        ]
    });
    let heading = heading.map(str::to_owned).to_vec();
    grid(&std::iter::once(heading).chain(lines).collect::<Vec<_>>())
}

fn show(store: &Store, name: &str) -> Result<u8, Fault> {
    let is_file = name.contains('/') || name.to_ascii_lowercase().ends_with(".json");
    let history = if is_file {
        vec![store.baseline(name)?]
    } else {
        store.history_of(name)?
    };
    let Some(current) = history.last() else {
        return Err(Fault::new(Kind::Missing, format!("no baseline `{name}`")));
    };
    let mut text = format!("{}\n\nfingerprint:\n", line(current));
    text.push_str(&super::results::fields(&current.fingerprint));
    text.push_str("\nlaunches:\n");
    for launch in &current.launches {
        let _ = writeln!(
            text,
            "  {} {} ({} rows)",
            launch.started,
            launch.run,
            launch.rows.len()
        );
    }
    text.push_str("\nhistory:\n");
    for entry in &history {
        let _ = writeln!(text, "  {}", line(entry));
    }
    Ok(tell(&text))
}
