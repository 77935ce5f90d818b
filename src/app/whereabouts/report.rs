//! The report as data: what `--json` prints and what the text is made of.

use super::super::fleet::Card;
use super::super::gpus;
use super::judge;
use super::judge::Verdict;
use super::odd;
use super::odd::Oddity;
use super::sighting::Machine;
use super::sighting::Sighting;
use crate::base::Fault;
use crate::bootstrap::peer;
use crate::cli::WhereArgs;
use crate::probe::cpu;
use crate::probe::library::Found;
use crate::record::DeviceRecord;
use serde::Serialize;
use std::collections::BTreeMap;

/// Raised where a key of the JSON changes its meaning.
const SCHEMA: u32 = 1;

/// How the processes were started, what they see, and what is odd.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    /// This program's version.
    pub(super) ncclbench: String,
    /// False where the first process met nobody, so that only it is reported on.
    pub(super) met: bool,
    /// Where they met; none in a world of one.
    pub(super) rendezvous: Option<String>,
    /// Number of processes.
    pub(super) processes: u32,
    /// Number of ranks.
    pub(super) world: u32,
    /// The backend that the launch was judged for, and why that one.
    pub(super) backend: String,
    pub(super) backend_reason: String,
    /// What launchers had to say.
    pub(super) notes: Vec<String>,
    pub(super) hosts: Vec<HostPart>,
    pub(super) ranks: Vec<RankPart>,
    pub(super) odd: Vec<Oddity>,
    /// Why a run would be refused, if it would be.
    pub(super) refused: Option<Refusal>,
}

/// Why a run would be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Refusal {
    pub(super) what: String,
    pub(super) hints: Vec<String>,
}

/// A host, as its first process sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct HostPart {
    pub(super) host: String,
    pub(super) identity: String,
    pub(super) ranks: u32,
    pub(super) machine: Option<Machine>,
    pub(super) libraries: Vec<Found>,
}

/// A rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RankPart {
    pub(super) rank: u32,
    pub(super) process: u32,
    pub(super) pid: u32,
    /// Index into the report's hosts.
    pub(super) host_index: usize,
    pub(super) host: String,
    /// Index among the ranks of its host.
    pub(super) local_rank: u32,
    pub(super) launcher: Option<String>,
    pub(super) launcher_reason: String,
    pub(super) also_announced: Vec<String>,
    /// The GPU that it would take, where it sees one.
    pub(super) gpu: Option<DeviceRecord>,
    /// How many GPUs its process sees.
    pub(super) visible_gpus: usize,
    pub(super) cuda_visible_devices: Option<String>,
    /// `0-23`.
    pub(super) cpus: String,
    pub(super) n_cpus: usize,
    pub(super) n_cores: Option<usize>,
    pub(super) slurm_cpus_per_task: Option<String>,
}

impl Report {
    /// Of processes that have met.
    pub(super) fn of_all(args: &WhereArgs, all: &[Sighting], rendezvous: Option<&str>) -> Self {
        let verdict = judge::verdict(args, all);
        Self::new(all, verdict, rendezvous.map(str::to_owned), true)
    }

    /// Of a process that met nobody because of `fault`.
    pub(super) fn of_one(args: &WhereArgs, mine: Sighting, fault: &Fault) -> Self {
        let mut verdict = judge::verdict(args, std::slice::from_ref(&mine));
        verdict.refused = Some(Refusal {
            what: fault.message.clone(),
            hints: fault.hints.clone(),
        });
        Self::new(&[mine], verdict, None, false)
    }

    fn new(all: &[Sighting], verdict: Verdict, rendezvous: Option<String>, met: bool) -> Self {
        let (hosts, ranks) = parts(all);
        let mut notes: Vec<String> = all
            .iter()
            .flat_map(|one| one.launch.notes.iter().cloned())
            .collect();
        notes.extend(verdict.notes);
        notes.sort_unstable();
        notes.dedup();
        Self {
            schema: SCHEMA,
            ncclbench: env!("CARGO_PKG_VERSION").to_owned(),
            met,
            rendezvous,
            processes: number(all.len()),
            world: number(ranks.len()),
            backend: verdict.backend,
            backend_reason: verdict.reason,
            notes,
            hosts,
            ranks,
            odd: odd::all(all, met),
            refused: verdict.refused,
        }
    }
}

fn parts(all: &[Sighting]) -> (Vec<HostPart>, Vec<RankPart>) {
    let mut hosts: Vec<HostPart> = Vec::new();
    let mut ranks = Vec::new();
    let mut index_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (process, one) in (0u32..).zip(all) {
        let card = &one.card;
        let host_index = *index_of.entry(&card.host_identity).or_insert_with(|| {
            hosts.push(host_part(one));
            hosts.len() - 1
        });
        let host = &mut hosts[host_index];
        for _ in 0..card.shape.ranks() {
            let rank = number(ranks.len());
            ranks.push(rank_part(one, (rank, process), (host_index, host.ranks)));
            host.ranks += 1;
        }
    }
    (hosts, ranks)
}

fn host_part(one: &Sighting) -> HostPart {
    HostPart {
        host: one.card.host.clone(),
        identity: one.card.host_identity.clone(),
        ranks: 0,
        machine: one.machine.clone(),
        libraries: one.libraries.clone(),
    }
}

fn rank_part(
    one: &Sighting,
    (rank, process): (u32, u32),
    (host_index, local_rank): (usize, u32),
) -> RankPart {
    let Card { host, pid, .. } = &one.card;
    RankPart {
        rank,
        process,
        pid: *pid,
        host_index,
        host: host.clone(),
        local_rank,
        launcher: one.launch.launcher.clone(),
        launcher_reason: one.launch.reason.clone(),
        also_announced: one.launch.also_announced.clone(),
        gpu: gpus::device(&one.card, local_rank).ok(),
        visible_gpus: one.card.devices.len(),
        cuda_visible_devices: one.card.visible.clone(),
        cpus: cpu::list(&one.cpus),
        n_cpus: one.cpus.len(),
        n_cores: one.cores.as_ref().map(Vec::len),
        slurm_cpus_per_task: one.cpus_per_task.clone(),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// `rank 3`, `ranks 0–3, 8`: the ranks of some processes.
pub(super) fn ranks_text(all: &[Sighting], members: &[usize]) -> String {
    let each = all.first().map_or(1, |one| one.card.shape.ranks());
    let list = peer::rank_list(each, members);
    let is_one = members.len() == 1 && each == 1;
    format!("{} {list}", if is_one { "rank" } else { "ranks" })
}
