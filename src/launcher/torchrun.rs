//! torchrun, and all who set the same four variables.

use super::Launcher;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::variables;
use crate::base::Env;
use crate::base::Fault;
use crate::bootstrap::tcp::listen::Place;

const VARIABLES: [&str; 4] = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"];

/// See the module.
#[derive(Debug)]
pub(super) struct Torchrun;

impl Launcher for Torchrun {
    fn name(&self) -> &'static str {
        "torchrun"
    }

    fn summary(&self) -> &'static str {
        "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them"
    }

    fn is_announced(&self, _wish: &Wish, env: &Env) -> bool {
        VARIABLES.iter().all(|name| env.has(name))
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let env = setting.env;
        let (process, processes) = variables::index_of(env, "RANK", "WORLD_SIZE")?;
        let host = env.get("MASTER_ADDR").unwrap_or_default();
        let port = variables::port(env, "MASTER_PORT")?;
        let run = env.get("TORCHELASTIC_RUN_ID").unwrap_or_default();
        Ok(Taken {
            seat: ProcessSeat {
                process,
                processes,
                local_process: variables::optional_number(env, "LOCAL_RANK")?,
                launcher: self.name(),
                reason: format!("RANK={process} WORLD_SIZE={processes}"),
            },
            job: format!("torchrun {host}:{port} {run}"),
            way: if processes == 1 {
                Way::Alone
            } else {
                Way::At(Place {
                    host: host.to_owned(),
                    ports: ports(env, port),
                })
            },
            notes: Vec::new(),
        })
    }
}

/// The ports to try: where torchrun's own store sits on the given one, those behind it.
///
/// # Source
/// `torch/distributed/rendezvous.py`, `_torchelastic_use_agent_store`.
fn ports(env: &Env, given: u16) -> Vec<u16> {
    let store = env.get("TORCHELASTIC_USE_AGENT_STORE") == Some("True");
    let mut ports = variables::ports_from(given);
    if store && ports.len() > 1 {
        ports.remove(0);
    }
    ports
}
