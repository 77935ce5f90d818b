//! MPI itself (cargo feature `mpi`): whoever started it, MPI says which process this is and carries
//! the first one's address.
//!
//! It is used only where it is asked for, by `--launcher mpi`: all that MPI is started by is known
//! without it too.

use super::Launcher;
use super::Meeting;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::exchange::ABORT_LIMIT;
use super::exchange::within;
use crate::base::Env;
use crate::base::Fault;
use crate::ffi::mpi::Mpi;
use std::sync::Arc;
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub(super) struct MpiWorld;

impl Launcher for MpiWorld {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn summary(&self) -> &'static str {
        "MPI itself, which this build is linked to; only where it is asked for"
    }

    fn is_announced(&self, _wish: &Wish, _env: &Env) -> bool {
        false
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let mpi = Mpi::join(setting.env)?;
        let (process, processes) = (mpi.rank(), mpi.size());
        Ok(Taken {
            seat: ProcessSeat {
                process,
                processes,
                local_process: None,
                launcher: self.name(),
                reason: format!("rank {process} of {processes} in {}", mpi.library()),
            },
            job: "mpi".to_owned(),
            way: Way::Carried {
                meeting: Box::new(Carrier(mpi)),
                one_host: false,
            },
            notes: Vec::new(),
        })
    }
}

/// `MPI_Bcast` from the first process.
#[derive(Debug)]
struct Carrier(Arc<Mpi>);

impl Carrier {
    fn broadcast(&self, text: &str, limit: Duration) -> Result<String, Fault> {
        let (mpi, text) = (Arc::clone(&self.0), text.to_owned());
        within(limit, "MPI_Bcast", move || mpi.broadcast_text(&text))
    }
}

impl Meeting for Carrier {
    fn publish(&self, text: &str, limit: Duration) -> Result<(), Fault> {
        self.broadcast(text, limit).map(drop)
    }

    fn lookup(&self, limit: Duration) -> Result<String, Fault> {
        self.broadcast("", limit)
    }

    fn abort(&self, code: u8, _message: &str) {
        let mpi = Arc::clone(&self.0);
        // a library that does not take the order leaves the processes to end by themselves
        drop(within(ABORT_LIMIT, "MPI_Abort", move || {
            mpi.abort(code);
            Ok(())
        }));
    }
}
