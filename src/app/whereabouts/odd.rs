//! What is odd about a launch: each finding is one plain line with a hint. Pure.
//!
//! A finding does not end a run by itself; what would is judged in `judge`.

use super::odd_hosts;
use super::odd_hosts::hosts_text;
use super::report::ranks_text;
use super::sighting::Sighting;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Something odd, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Oddity {
    pub(super) what: String,
    pub(super) hint: String,
}

impl Oddity {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

/// A look at all processes.
type Look = fn(&[Sighting]) -> Vec<Oddity>;

/// What can be said of any process.
const ANY: &[Look] = &[
    few_cores,
    shared_cores,
    cpus_per_task,
    several_launchers,
    invisible_devices,
    odd_hosts::names,
];

/// What can be said only of processes that have met.
const MET: &[Look] = &[
    world_of_one,
    odd_hosts::uneven,
    odd_hosts::libraries,
    odd_hosts::rdma,
];

/// Everything odd about the processes of a launch, or about one that met nobody.
pub(super) fn all(sightings: &[Sighting], met: bool) -> Vec<Oddity> {
    let looks = ANY.iter().chain(MET.iter().filter(|_| met));
    looks.flat_map(|look| look(sightings)).collect()
}

/// Puts processes of which the same is to be said together, in the order of the first of each.
fn alike<T: PartialEq>(
    sightings: &[Sighting],
    say: impl Fn(&Sighting) -> Option<T>,
) -> Vec<(T, Vec<usize>)> {
    let mut groups: Vec<(T, Vec<usize>)> = Vec::new();
    for (member, one) in sightings.iter().enumerate() {
        let Some(said) = say(one) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == said) {
            Some((_, members)) => members.push(member),
            None => groups.push((said, vec![member])),
        }
    }
    groups
}

/// How many cores a process may use; processors where the kernel does not tell cores.
fn n_cores(one: &Sighting) -> usize {
    one.cores.as_ref().map_or(one.cpus.len(), Vec::len)
}

const MORE_CPUS: &str = "give each task its share of the node: `--cpus-per-task=N`, with N the node's CPUs divided by its ranks";

/// Processes whose mask leaves their ranks a core each at the most.
fn few_cores(all: &[Sighting]) -> Vec<Oddity> {
    let poor = alike(all, |one| {
        let (cores, ranks) = (n_cores(one), one.card.shape.ranks() as usize);
        (cores > 0 && cores < 2 * ranks).then_some((cores, ranks))
    });
    let line = |((cores, each), members): &((usize, usize), Vec<usize>)| {
        let who = ranks_text(all, members);
        let what = match (cores, each) {
            (1, 1) => format!("{who}: one CPU core a rank; NCCL's threads want it too"),
            _ => format!("{who}: {cores} CPU cores for the {each} ranks of a process"),
        };
        Oddity::new(what, MORE_CPUS)
    };
    poor.iter().map(line).collect()
}

/// Hosts whose ranks share fewer cores than two each, although no mask is that small.
fn shared_cores(all: &[Sighting]) -> Vec<Oddity> {
    let mut hosts: BTreeMap<&str, (&str, usize, BTreeSet<u32>)> = BTreeMap::new();
    for one in all {
        let ranks = one.card.shape.ranks() as usize;
        if n_cores(one) < 2 * ranks {
            continue;
        }
        let fresh = (one.card.host.as_str(), 0, BTreeSet::new());
        let host = hosts.entry(&one.card.host_identity).or_insert(fresh);
        host.1 += ranks;
        host.2.extend(one.cores.as_ref().unwrap_or(&one.cpus));
    }
    let crowded = hosts
        .values()
        .filter(|(_, ranks, cores)| cores.len() < 2 * ranks);
    let mut alike: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
    for (host, ranks, cores) in crowded {
        alike.entry((*ranks, cores.len())).or_default().push(host);
    }
    let line = |((ranks, cores), hosts): (&(usize, usize), &Vec<&str>)| {
        Oddity::new(
            format!(
                "{}: {ranks} ranks share {cores} CPU cores",
                hosts_text(hosts)
            ),
            "start fewer ranks there, or give them more CPUs (`--cpus-per-task`)",
        )
    };
    alike.iter().map(line).collect()
}

/// Slurm's variable against the mask; the mask is what counts.
fn cpus_per_task(all: &[Sighting]) -> Vec<Oddity> {
    let differing = alike(all, |one| {
        let text = one.cpus_per_task.as_ref()?;
        let mask = one.cpus.len();
        (text.trim().parse() != Ok(mask)).then(|| (text.clone(), mask))
    });
    let line = |((said, mask), members): &((String, usize), Vec<usize>)| {
        let who = ranks_text(all, members);
        let what = format!("{who}: `SLURM_CPUS_PER_TASK` is {said}, but the mask has {mask} CPUs");
        let hint = match said.trim().parse::<usize>() {
            Ok(said) if said < *mask => {
                "the mask counts: no task plugin binds the tasks, or whole cores were given"
            }
            _ => {
                "the mask counts: say `--cpus-per-task` to srun itself, which does not always take it from sbatch"
            }
        };
        Oddity::new(what, hint)
    };
    differing.iter().map(line).collect()
}

/// A world of one, although variables say that more processes were started.
fn world_of_one(all: &[Sighting]) -> Vec<Oddity> {
    let [one] = all else { return Vec::new() };
    let more = one.worlds.iter().filter(|(_, value)| value.trim() != "1");
    let line = |(name, value): (&String, &String)| {
        Oddity::new(
            format!("this is a world of one process although `{name}` is {value}"),
            "start the program itself by the launcher (`srun`, `mpirun`), not a shell or a batch script",
        )
    };
    more.map(line).collect()
}

/// Launchers whose variables always come with another's.
fn companions(launcher: &str) -> &'static [&'static str] {
    match launcher {
        "openmpi" | "pmi1" => &["pmix", "slurm"],
        "pmix" => &["slurm"],
        "mpi" => &["openmpi", "pmix", "pmi1", "slurm"],
        // one that was passed over says so in a note
        "slurm" => &["pmix"],
        _ => &[],
    }
}

/// Variables of several launchers, of which either could be the right one.
fn several_launchers(all: &[Sighting]) -> Vec<Oddity> {
    let torn = alike(all, |one| {
        let launch = &one.launch;
        let chosen = launch.launcher.as_deref()?;
        if launch.is_forced || chosen == "flags" {
            return None;
        }
        let is_strange = |name: &&String| !companions(chosen).contains(&name.as_str());
        let strange = launch.also_announced.iter().filter(is_strange);
        let others: Vec<String> = strange.map(|name| format!("`{name}`")).collect();
        (!others.is_empty()).then(|| (chosen.to_owned(), others.join(", ")))
    });
    let line = |((chosen, others), members): &((String, String), Vec<usize>)| {
        let who = ranks_text(all, members);
        let reason = &all[members[0]].launch.reason;
        let what = format!(
            "{who}: variables of {others} are set too; `{chosen}` was taken, which is looked for first ({reason})"
        );
        Oddity::new(
            what,
            "say which it is with `--launcher NAME`, or unset the other's variables",
        )
    };
    torn.iter().map(line).collect()
}

/// A list of visible devices that the driver followed in part.
fn invisible_devices(all: &[Sighting]) -> Vec<Oddity> {
    let cut = alike(all, |one| {
        let list = one.card.visible.as_ref()?;
        let (named, seen) = (list.split(',').count(), one.card.devices.len());
        (0 < seen && seen < named).then(|| (list.clone(), seen))
    });
    let line = |((list, seen), members): &((String, usize), Vec<usize>)| {
        let who = ranks_text(all, members);
        let what =
            format!("{who}: `CUDA_VISIBLE_DEVICES` is `{list}`, of which the driver shows {seen}");
        Oddity::new(
            what,
            "the driver stops at the first entry that names no device of this process: compare with `nvidia-smi -L`",
        )
    };
    cut.iter().map(line).collect()
}
