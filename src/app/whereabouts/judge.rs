//! Whether a run would be refused: what its own first steps would find, asked without taking them.

use super::super::fleet::Fleet;
use super::report::Refusal;
use super::sighting::Sighting;
use crate::base::Fault;
use crate::cli::WhereArgs;
use crate::probe::cpu;
use crate::probe::library::Found;
use crate::record::DeviceRecord;
use std::collections::BTreeSet;

const DRIVER: &str = "cuda driver";
const NCCL: &str = "nccl";

/// What would come of a run.
#[derive(Debug)]
pub(super) struct Verdict {
    /// The backend it was judged for.
    pub(super) backend: String,
    /// Why that one.
    pub(super) reason: String,
    pub(super) refused: Option<Refusal>,
    pub(super) notes: Vec<String>,
}

/// Judges for the backend that was named, else for `nccl` where any process sees a driver, else for
/// `host`: a cluster's login node is no reason to refuse a launch.
pub(super) fn verdict(args: &WhereArgs, all: &[Sighting]) -> Verdict {
    let sees_driver = |one: &Sighting| record(one, DRIVER).is_some();
    let (backend, reason) = match args.backend {
        Some(backend) => (backend.name(), "`--backend` names it"),
        None if all.iter().any(sees_driver) => (NCCL, "there is a CUDA driver"),
        None => (
            "host",
            "no process sees a CUDA driver with a GPU; a run here needs `--backend host`",
        ),
    };
    let needs_gpus = backend == NCCL;
    let lacking = needs_gpus.then(|| libraries(all)).flatten();
    let (seated, notes) = match seat(args, all, backend, needs_gpus) {
        Ok(notes) => (None, notes),
        Err(fault) => (Some(refusal(&fault)), Vec::new()),
    };
    Verdict {
        backend: backend.to_owned(),
        reason: reason.to_owned(),
        refused: lacking.or(seated),
        notes,
    }
}

fn record<'a>(one: &'a Sighting, name: &str) -> Option<&'a crate::record::LibraryRecord> {
    one.library(name).and_then(Found::record)
}

fn refusal(fault: &Fault) -> Refusal {
    let details = fault.details.iter().map(|line| format!("; {line}"));
    Refusal {
        what: fault.message.clone() + &details.collect::<String>(),
        hints: fault.hints.clone(),
    }
}

/// The first process that cannot load what backend `nccl` needs, or has another NCCL.
fn libraries(all: &[Sighting]) -> Option<Refusal> {
    for (one, name) in all.iter().flat_map(|one| [(one, DRIVER), (one, NCCL)]) {
        if let Some(Found::Absent { why, .. }) = one.library(name) {
            let hint = match name {
                NCCL => "say where it is with `--nccl-lib PATH` or `NCCLBENCH_NCCL`",
                _ => {
                    "look at `nvidia-smi -L` and at `CUDA_VISIBLE_DEVICES`, or use `--backend host`"
                }
            };
            return Some(Refusal {
                what: format!("{}: {why}", one.card.host),
                hints: vec![hint.to_owned()],
            });
        }
    }
    let versions: BTreeSet<&str> = all
        .iter()
        .filter_map(|one| Some(record(one, NCCL)?.version.as_str()))
        .collect();
    (versions.len() > 1).then(|| Refusal {
        what: format!(
            "the ranks have loaded different versions of NCCL: {}",
            versions.into_iter().collect::<Vec<_>>().join(", ")
        ),
        hints: vec![
            "name the same library on every host with `--nccl-lib PATH` or `NCCLBENCH_NCCL`"
                .to_owned(),
        ],
    })
}

/// Seats all as a run does; what it would note.
fn seat(
    args: &WhereArgs,
    all: &[Sighting],
    backend: &str,
    needs_gpus: bool,
) -> Result<Vec<String>, Fault> {
    let cards = all.iter().map(|one| {
        let mut card = one.card.clone();
        backend.clone_into(&mut card.backend);
        // differences of libraries are reported by host
        card.libraries.clear();
        if !needs_gpus {
            card.devices = vec![processor()];
        }
        card
    });
    let fleet = Fleet::seat(cards.collect(), args.allow_shared_gpu)?;
    Ok(fleet.notes)
}

/// What a backend without GPUs lists.
fn processor() -> DeviceRecord {
    DeviceRecord {
        ordinal: 0,
        name: cpu::model().unwrap_or_default(),
        bus_id: "0000:00:00".to_owned(),
        uuid: None,
        memory_bytes: None,
    }
}
