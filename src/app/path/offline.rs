//! `ncclbench path`: recorded evidence to a verdict.

use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::cli::PathArgs;
use crate::path;
use crate::path::Evidence;
use crate::path::Needed;
use crate::path::Operation;
use crate::path::log;
use crate::probe;
use crate::record::Outcome;
use crate::record::PathRecord;
use crate::record::Row;
use crate::record::Run;
use crate::record::path::HostTraffic;
use crate::record::path::LogFacts;
use crate::record::path::Verdict;
use std::collections::BTreeMap;
use std::path::Path;

/// Judges and prints; gives the exit code.
pub(in crate::app) fn run(args: &PathArgs) -> u8 {
    match judged(args) {
        Ok(record) => tell(args, &record),
        Err(fault) => crate::app::refuse(&fault),
    }
}

fn tell(args: &PathArgs, record: &PathRecord) -> u8 {
    let text = if args.json {
        match serde_json::to_string_pretty(record) {
            Ok(text) => text + "\n",
            Err(error) => {
                return crate::app::refuse(&Fault::new(Kind::Output, error.to_string()));
            }
        }
    } else {
        path::text::page(record)
    };
    match crate::app::tell(&text) {
        0 => exit_code(args, record),
        code => code,
    }
}

fn exit_code(args: &PathArgs, record: &PathRecord) -> u8 {
    match args.require {
        Some(gate) if !path::met(gate, record) => {
            let (name, verdict) = (gate.name(), record.verdict);
            crate::app::say(&format!(
                "gate: the path is {verdict}; `--require-path {name}` is not met"
            ));
            6
        }
        _ if record.verdict == Verdict::Unknown => 7,
        _ => 0,
    }
}

fn judged(args: &PathArgs) -> Result<PathRecord, Fault> {
    let mut logs = Vec::new();
    for file in &args.logs {
        logs.push((name(file), log::facts(&read(file)?)));
    }
    let hosts: Result<Vec<HostTraffic>, Fault> = args
        .counters
        .iter()
        .map(|(before, after)| counted(before, after, &logs))
        .collect();
    let sent = args.run.as_deref().map(sent).transpose()?;
    let (needed, ranks_per_node) = sent.unwrap_or_default();
    Ok(path::judge(&Evidence {
        logs,
        hosts: hosts?,
        needed,
        ranks_per_node,
        instance: args.instance,
        ..Evidence::default()
    }))
}

/// A log may hold bytes that are no text.
fn read(file: &Path) -> Result<String, Fault> {
    Ok(String::from_utf8_lossy(&bytes(file)?).into_owned())
}

fn bytes(file: &Path) -> Result<Vec<u8>, Fault> {
    std::fs::read(file).map_err(|error| {
        let text = format!("cannot read `{}`: {error}", file.display());
        Fault::new(Kind::Missing, text)
    })
}

fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

fn counted(before: &Path, after: &Path, logs: &[(String, LogFacts)]) -> Result<HostTraffic, Fault> {
    for folder in [before, after] {
        std::fs::read_dir(folder).map_err(|error| {
            let text = format!(
                "cannot read the counters in `{}`: {error}",
                folder.display()
            );
            Fault::new(Kind::Missing, text)
        })?;
    }
    let interfaces = logs.iter().flat_map(|(_, facts)| &facts.interfaces);
    let readings = [before, after].map(probe::nics::read);
    Ok(path::between(
        &name(before),
        &readings[0],
        &readings[1],
        interfaces,
    ))
}

/// What a run must have sent between its hosts, and how many ranks its fullest host has.
fn sent(file: &Path) -> Result<(Option<Needed>, Option<u32>), Fault> {
    let run = Run::read(&bytes(file)?).while_doing(|| format!("reading `{}`", file.display()))?;
    let mut hosts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut nodes = Vec::new();
    for seat in &run.header.seats {
        let next = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        nodes.push(*hosts.entry(&seat.host).or_insert(next));
    }
    let count = |node: u32| nodes.iter().filter(|one| **one == node).count();
    let most = hosts.values().map(|node| count(*node)).max().unwrap_or(0);
    let operations: Vec<Operation> = run.rows.iter().filter_map(operation).collect();
    Ok((path::needed(&operations, &nodes), u32::try_from(most).ok()))
}

fn operation(row: &Row) -> Option<Operation> {
    let case = &row.case;
    matches!(row.outcome, Outcome::Measured { .. }).then(|| Operation {
        collective: case.collective.clone(),
        size: case.size.0,
        root: case.root,
        times: super::operations(case),
    })
}
