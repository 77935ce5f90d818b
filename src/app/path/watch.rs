//! What a run finds out about its own path: counters before and after, operations in between, and one
//! verdict for all processes.

use super::log::Log;
use crate::app::berths::Berths;
use crate::app::narrator::Narrator;
use crate::backend::ThreadSeat;
use crate::base::Fault;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::cli::PathWish;
use crate::path;
use crate::path::Evidence;
use crate::path::Operation;
use crate::probe;
use crate::record::NicReading;
use crate::record::Outcome;
use crate::record::PathRecord;
use crate::record::Row;
use crate::record::path::HostTraffic;
use crate::record::path::LogFacts;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// Collective, size in bytes, root.
type Run = (String, u64, Option<u32>);

/// The path of this process's run.
#[derive(Debug)]
pub(in crate::app) struct Watch {
    wish: PathWish,
    /// None where there is nothing to watch: another backend, or the user does not want it.
    log: Option<Arc<Log>>,
    before: Mutex<Option<NicReading>>,
    /// How often each was run.
    ran: Mutex<BTreeMap<Run, u64>>,
}

/// What the first thread of a process tells of it.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    ranks: u32,
    host: String,
    identity: String,
    log: LogFacts,
    no_log: Option<String>,
    /// Of the first process of each host.
    traffic: Option<HostTraffic>,
    /// Of the first process: all have run the same.
    operations: Vec<Operation>,
}

impl Watch {
    pub(in crate::app) fn new(wish: &PathWish, log: Option<Arc<Log>>) -> Self {
        Self {
            wish: wish.clone(),
            log,
            before: Mutex::default(),
            ran: Mutex::default(),
        }
    }

    /// The communicator is open: from here on lines of NCCL come between rows.
    pub(in crate::app) fn opened(&self) {
        if let Some(log) = &self.log {
            log.stop_following();
        }
    }

    /// What NCCL's log has said so far, for the header.
    pub(in crate::app) fn seen(&self, host: &str) -> Option<LogFacts> {
        let (facts, _) = self.log.as_ref()?.facts(host);
        (facts.lines > 0).then_some(facts)
    }

    /// Reads the host's counters, once for each host, before anybody sends.
    ///
    /// # Errors
    /// Those of meeting.
    pub(in crate::app) fn before(&self, ours: &Ours<'_>) -> Result<(), Fault> {
        if self.log.is_none() {
            return Ok(());
        }
        if ours.counts() {
            *lock(&self.before) = Some(probe::nics::read(&self.wish.root));
        }
        ours.plane.barrier(ours.step("the counters"))
    }

    /// Between two rows: passes NCCL's lines on, and keeps what was run.
    pub(in crate::app) fn ran(&self, row: &Row, ours: &Ours<'_>) {
        let Some(log) = self.log.as_ref().filter(|_| ours.is_first()) else {
            return;
        };
        log.pass_on();
        let case = &row.case;
        if matches!(row.outcome, Outcome::Measured { .. }) {
            let key = (case.collective.clone(), case.size.0, case.root);
            *lock(&self.ran).entry(key).or_default() += super::operations(case);
        }
    }

    /// The verdict, the same on all threads of all processes; none where nothing is watched, and in a
    /// world of one rank, unless a path is required.
    ///
    /// # Errors
    /// Those of meeting.
    fn verdict(&self, ours: &Ours<'_>) -> Result<Option<PathRecord>, Fault> {
        let alone = ours.seat.world.0 < 2 && self.wish.require.is_none();
        let Some(log) = self.log.as_ref().filter(|_| !alone) else {
            return Ok(None);
        };
        let mine = if ours.is_first() {
            bootstrap::encode(&self.told(log, ours))?
        } else {
            Vec::new()
        };
        let step = ours.step("the path's evidence");
        let said = ours.plane.decide(step, &mine, &judged)?;
        bootstrap::decode(&said).map(Some)
    }

    /// Judges, tells it, and says whether the path is not what was required; the same on all threads.
    ///
    /// # Errors
    /// Those of meeting.
    pub(in crate::app) fn is_missed(
        &self,
        ours: &Ours<'_>,
        narrator: Option<&Narrator<'_>>,
    ) -> Result<bool, Fault> {
        let record = self.verdict(ours)?;
        let missed = !self.is_met(record.as_ref());
        if let (Some(narrator), Some(record)) = (narrator, record) {
            self.tell(&record);
            narrator.path(Some(record));
        }
        Ok(missed)
    }

    /// Whether a verdict is what was required.
    fn is_met(&self, record: Option<&PathRecord>) -> bool {
        match (self.wish.require, record) {
            (Some(gate), Some(record)) => path::met(gate, record),
            (gate, _) => gate.is_none(),
        }
    }

    /// What a person is told at the end.
    fn tell(&self, record: &PathRecord) {
        crate::app::say(&format!("path: {}", path::text::line(record)));
        let findings = path::text::findings(record);
        if !findings.is_empty() {
            crate::app::say(findings.trim_end());
        }
        if let Some(gate) = self.wish.require.filter(|_| !self.is_met(Some(record))) {
            let (verdict, name) = (record.verdict, gate.name());
            crate::app::say(&format!(
                "gate: the path is {verdict}; `--require-path {name}` is not met"
            ));
        }
    }

    fn told(&self, log: &Log, ours: &Ours<'_>) -> Told {
        let (facts, no_log) = log.facts(&ours.seat.host);
        let after = ours.counts().then(|| probe::nics::read(&self.wish.root));
        let before = lock(&self.before).take();
        let host = ours.seat.host.clone();
        let traffic = before
            .zip(after)
            .map(|(before, after)| path::between(&host, &before, &after, &facts.interfaces));
        Told {
            ranks: ours.berths.ranks(),
            identity: ours.seat.host_identity.clone(),
            host,
            traffic,
            no_log,
            log: facts,
            operations: if ours.plane.member() == 0 {
                self.operations()
            } else {
                Vec::new()
            },
        }
    }

    fn operations(&self) -> Vec<Operation> {
        let ran = lock(&self.ran);
        let one = |((collective, size, root), times): (&Run, &u64)| Operation {
            collective: collective.clone(),
            size: *size,
            root: *root,
            times: *times,
        };
        ran.iter().map(one).collect()
    }
}

/// A thread, its place and its way to the others.
pub(in crate::app) struct Ours<'a> {
    pub(in crate::app) seat: &'a ThreadSeat,
    pub(in crate::app) berths: &'a Berths,
    pub(in crate::app) plane: &'a dyn Bootstrap,
}

impl Ours<'_> {
    /// Whether it speaks for its process.
    fn is_first(&self) -> bool {
        self.seat.ranks.first() == Some(&self.berths.first())
    }

    /// Whether it reads the counters of its host.
    fn counts(&self) -> bool {
        self.is_first() && self.berths.local() == 0
    }

    fn step<'n>(&self, name: &'n str) -> Step<'n> {
        Step {
            name,
            limit: self.seat.limit,
        }
    }
}

/// One record of what all processes tell.
fn judged(said: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let all: Result<Vec<Told>, Fault> = said
        .iter()
        .filter(|bytes| !bytes.is_empty())
        .map(|bytes| bootstrap::decode(bytes))
        .collect();
    bootstrap::encode(&path::judge(&evidence(all?)))
}

fn evidence(all: Vec<Told>) -> Evidence {
    let nodes = nodes(&all);
    let operations: Vec<&Operation> = all.iter().flat_map(|told| &told.operations).collect();
    let operations: Vec<Operation> = operations.into_iter().cloned().collect();
    let most = nodes.as_deref().map(fullest);
    let mut evidence = Evidence {
        needed: nodes.and_then(|nodes| path::needed(&operations, &nodes)),
        ranks_per_node: most,
        no_log: all.iter().find_map(|told| told.no_log.clone()),
        ..Evidence::default()
    };
    for told in all {
        evidence.hosts.extend(told.traffic);
        evidence.logs.push((told.host, told.log));
    }
    evidence
}

/// The node of each rank, as NCCL counts them: the hosts, or every rank by itself (`NCCL_HOSTID`);
/// unknown where it counts otherwise.
fn nodes(all: &[Told]) -> Option<Vec<u32>> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut nodes = Vec::new();
    for told in all {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let node = *numbers.entry(&told.identity).or_insert(next);
        nodes.extend(std::iter::repeat_n(node, told.ranks as usize));
    }
    let counted = all.iter().flat_map(|told| &told.log.nodes).max();
    let (hosts, ranks) = (numbers.len(), nodes.len());
    match counted.map(|count| *count as usize) {
        None => Some(nodes),
        Some(count) if count == hosts => Some(nodes),
        Some(count) if count == ranks => Some((0..u32::try_from(ranks).ok()?).collect()),
        Some(_) => None,
    }
}

/// Ranks of the fullest node.
fn fullest(nodes: &[u32]) -> u32 {
    let count = |node: &u32| nodes.iter().filter(|one| *one == node).count();
    let most = nodes.iter().max_by_key(|node| count(node)).map(count);
    most.and_then(|most| u32::try_from(most).ok()).unwrap_or(0)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
