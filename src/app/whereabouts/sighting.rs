//! What one process sees of itself and its machine, as it travels to the first.

use super::super::fleet::Card;
use super::super::fleet::Shape;
use super::super::measure;
use crate::backend::Equipment;
use crate::base::Env;
use crate::base::Fault;
use crate::cli::WhereArgs;
use crate::launcher;
use crate::launcher::Here;
use crate::launcher::Joined;
use crate::probe;
use crate::probe::interface::Interface;
use crate::probe::library::Found;
use crate::record::DeviceRecord;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// How long the resolver may take to say what a host's own name means.
const RESOLVER_LIMIT: Duration = Duration::from_secs(5);

/// Variables that say how many processes there are.
pub(super) const WORLDS: [&str; 5] = [
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_NTASKS",
    "WORLD_SIZE",
];

/// What one process sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sighting {
    /// As for a run; its devices are the GPUs that it sees.
    pub(super) card: Card,
    pub(super) launch: Launch,
    /// The processors that it may run on.
    pub(super) cpus: Vec<u32>,
    /// Their cores, each by its lowest processor, where the kernel says so.
    pub(super) cores: Option<Vec<u32>>,
    /// `SLURM_CPUS_PER_TASK`, as it is set.
    pub(super) cpus_per_task: Option<String>,
    /// Those of [`WORLDS`] that are set.
    pub(super) worlds: BTreeMap<String, String>,
    /// The CUDA driver, NCCL, PMIx.
    pub(super) libraries: Vec<Found>,
    /// What is the same for all processes of a host; its first one tells.
    pub(super) machine: Option<Machine>,
}

/// How it was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Launch {
    /// Which launcher was used; none where none could be.
    pub(super) launcher: Option<String>,
    /// What decided it.
    pub(super) reason: String,
    /// It was named by `--launcher`.
    pub(super) is_forced: bool,
    /// Further launchers whose variables are set.
    pub(super) also_announced: Vec<String>,
    /// What the launcher had to say.
    pub(super) notes: Vec<String>,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Machine {
    /// What its own name means to it.
    pub(super) resolved: Answer<IpAddr>,
    pub(super) interfaces: Answer<Interface>,
    pub(super) rdma: Vec<probe::rdma::Device>,
}

/// What was found, or why nothing was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer<T> {
    pub(super) found: Vec<T>,
    pub(super) failure: Option<String>,
}

impl<T> Answer<T> {
    fn new(said: Result<Vec<T>, String>) -> Self {
        match said {
            Ok(found) => Self {
                found,
                failure: None,
            },
            Err(failure) => Self {
                found: Vec::new(),
                failure: Some(failure),
            },
        }
    }
}

impl Sighting {
    /// Looks round; `is_first` of its host, it looks at the host too.
    ///
    /// # Errors
    /// `Usage` where a variable cannot be read, `Call` where a driver fails.
    pub(super) fn take(
        args: &WhereArgs,
        env: &Env,
        here: &Here,
        launch: Launch,
        is_first: bool,
    ) -> Result<Self, Fault> {
        let (driver, devices) = probe::library::gpus(env)?;
        let nccl = args.nccl_lib.as_deref().or(env.get("NCCLBENCH_NCCL"));
        let pmix = args.launch.pmix_lib.as_deref();
        let pmix = pmix.or(env.get("NCCLBENCH_PMIX"));
        let libraries = vec![
            driver,
            probe::library::nccl(nccl),
            probe::library::pmix(pmix),
        ];
        let cpus = probe::cpu::allowed();
        let text = |name: &str| env.get(name).map(str::to_owned);
        let worlds = WORLDS.iter().filter_map(|name| {
            let value = text(name)?;
            Some(((*name).to_owned(), value))
        });
        Ok(Self {
            card: card(args, env, here, &libraries, devices)?,
            launch,
            cores: probe::cpu::cores(&cpus),
            cpus,
            cpus_per_task: text("SLURM_CPUS_PER_TASK"),
            worlds: worlds.collect(),
            libraries,
            machine: is_first.then(|| machine(&here.host)),
        })
    }

    /// The library of this name, if it loads.
    pub(super) fn library(&self, name: &str) -> Option<&Found> {
        self.libraries.iter().find(|found| found.name() == name)
    }
}

impl Launch {
    /// How a process was started that has met the others.
    pub(super) fn of(args: &WhereArgs, env: &Env, joined: &Joined) -> Self {
        let seat = &joined.seat;
        Self {
            launcher: Some(seat.launcher.to_owned()),
            reason: seat.reason.clone(),
            notes: joined.notes.clone(),
            ..Self::unmet(args, env, Some(seat.launcher))
        }
    }

    /// How a process was started that has not.
    pub(super) fn unmet(args: &WhereArgs, env: &Env, chosen: Option<&str>) -> Self {
        let announced = launcher::announced(&args.launch, env);
        let others = announced.into_iter().filter(|name| Some(*name) != chosen);
        Self {
            launcher: None,
            reason: "it did not meet the others".to_owned(),
            is_forced: args.launch.launcher.is_some(),
            also_announced: others.map(str::to_owned).collect(),
            notes: Vec::new(),
        }
    }
}

fn card(
    args: &WhereArgs,
    env: &Env,
    here: &Here,
    libraries: &[Found],
    devices: Vec<DeviceRecord>,
) -> Result<Card, Fault> {
    let shape = Shape {
        threads: args.threads,
        gpus: args.gpus,
    };
    let loaded = libraries.iter().filter_map(Found::record);
    let equipment = Equipment {
        libraries: loaded.cloned().collect(),
        devices,
        notes: Vec::new(),
    };
    let backend = args.backend.map_or("", |backend| backend.name());
    let identity = (here.host.clone(), here.identity.clone());
    let mut card = Card::new(identity, backend, shape, &equipment);
    card.first_device = measure::first_device(env)?;
    card.visible = env.get("CUDA_VISIBLE_DEVICES").map(str::to_owned);
    Ok(card)
}

fn machine(host: &str) -> Machine {
    Machine {
        resolved: Answer::new(probe::resolver::addresses(host, RESOLVER_LIMIT)),
        interfaces: Answer::new(probe::interface::all()),
        rdma: probe::rdma::devices(),
    }
}
