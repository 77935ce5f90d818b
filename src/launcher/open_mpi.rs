//! Open MPI's mpirun: its own variables say who, its PMIx server says where.
//!
//! What images carry for good (`OMPI_MCA_*`, `OPAL_PREFIX`) says nothing and is not looked at.

use super::Launcher;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::pmix;
use super::variables;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap::tcp::listen::Place;

const RANK: &str = "OMPI_COMM_WORLD_RANK";
const SIZE: &str = "OMPI_COMM_WORLD_SIZE";

/// See the module.
#[derive(Debug)]
pub(super) struct OpenMpi;

impl Launcher for OpenMpi {
    fn name(&self) -> &'static str {
        "openmpi"
    }

    fn summary(&self) -> &'static str {
        "Open MPI's mpirun, without MPI itself"
    }

    fn is_announced(&self, _wish: &Wish, env: &Env) -> bool {
        env.has(RANK)
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let env = setting.env;
        let (process, processes) = variables::index_of(env, RANK, SIZE)?;
        let mut seat = ProcessSeat {
            process,
            processes,
            local_process: variables::optional_number(env, "OMPI_COMM_WORLD_LOCAL_RANK")?,
            launcher: self.name(),
            reason: format!("{RANK}={process} {SIZE}={processes}"),
        };
        let mut notes = Vec::new();
        let (job, way) = match pmix::register(setting) {
            Ok((registration, world)) => {
                pmix::expect_world(world, Some(processes), SIZE)?;
                seat.reason = format!("{} in {}", seat.reason, pmix::describe(&registration));
                let job = registration.pmix().namespace();
                (format!("openmpi {job}"), pmix::way(registration, world)?)
            }
            Err(_) if processes == 1 => ("openmpi".to_owned(), Way::Alone),
            Err(fault) => {
                let met = without_pmix(setting, processes)?;
                let met = met.ok_or_else(|| needs_address(&fault))?;
                notes.push(format!(
                    "Open MPI's PMIx server was not used: {}",
                    fault.message
                ));
                met
            }
        };
        Ok(Taken {
            seat,
            job,
            way,
            notes,
        })
    }
}

/// Where to meet without PMIx: a place that was named, or this host if all are on it.
fn without_pmix(setting: &Setting<'_>, processes: u32) -> Result<Option<(String, Way)>, Fault> {
    let env = setting.env;
    let run = env.get("PMIX_NAMESPACE").or_else(|| env.get("PMIX_ID"));
    let job = format!("openmpi {}", run.unwrap_or_default());
    let named = env.get("MASTER_ADDR").filter(|_| env.has("MASTER_PORT"));
    let local = variables::optional_number(env, "OMPI_COMM_WORLD_LOCAL_SIZE")? == Some(processes);
    let place = match named {
        // the caller puts the flag's place over this one
        _ if setting.wish.rendezvous.is_some() => Place {
            host: String::new(),
            ports: Vec::new(),
        },
        Some(host) => Place {
            host: host.to_owned(),
            ports: variables::ports_from(variables::port(env, "MASTER_PORT")?),
        },
        None if local => Place {
            host: "127.0.0.1".to_owned(),
            ports: variables::derived_ports(&job),
        },
        None => return Ok(None),
    };
    Ok(Some((job, Way::At(place))))
}

fn needs_address(fault: &Fault) -> Fault {
    let text = "Open MPI started this process, but does not say where the first one is";
    let needs = Fault::new(Kind::Launch, text).detail(fault.message.clone());
    let details = fault.details.iter().cloned();
    details
        .fold(needs, Fault::detail)
        .hint("install libpmix or set `NCCLBENCH_PMIX`, or give `--rendezvous HOST:PORT`")
}
