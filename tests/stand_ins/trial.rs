//! What is tried on a world, and what a rank says of it.

use ncclbench::base::{Bytes, DataType, Fault, Rank, RedOp, World};
use ncclbench::collective::{self, Collective};
use ncclbench::record::Mismatches;

/// One operation with its check.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) collective: &'static str,
    pub(crate) dtype: DataType,
    pub(crate) redop: Option<RedOp>,
    /// NCCL's count argument.
    count: u64,
    pub(crate) in_place: bool,
    pub(crate) run: bool,
}

impl Trial {
    pub(crate) fn all_reduce(dtype: DataType, redop: RedOp, count: u64) -> Self {
        let (collective, redop) = ("allreduce", Some(redop));
        Self {
            collective,
            dtype,
            redop,
            count,
            in_place: false,
            run: true,
        }
    }

    pub(crate) fn all_to_all(dtype: DataType, count: u64) -> Self {
        let (collective, redop) = ("alltoall", None);
        Self {
            collective,
            dtype,
            redop,
            count,
            in_place: false,
            run: true,
        }
    }

    pub(crate) fn in_place(self) -> Self {
        Self {
            in_place: true,
            ..self
        }
    }

    /// Everything but the operation itself.
    pub(crate) fn not_run(self) -> Self {
        Self { run: false, ..self }
    }

    pub(crate) fn what(&self) -> &'static dyn Collective {
        collective::by_name(self.collective).unwrap()
    }

    pub(crate) fn size(&self, world: World) -> Bytes {
        let parts = if self.redop.is_some() {
            1
        } else {
            u64::from(world.0)
        };
        Bytes(self.count * parts * self.dtype.size())
    }
}

/// What one rank says of one trial.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) rank: Rank,
    pub(crate) trial: usize,
    pub(crate) what: Trial,
    /// Whether the library has the collective as one call.
    pub(crate) native: bool,
    pub(crate) result: Result<Mismatches, Fault>,
}

impl Said {
    /// Fails the test unless nothing is wrong.
    pub(crate) fn expect_right(&self) {
        match &self.result {
            Ok(found) if found.wrong == 0 => {}
            other => panic!("rank {} of {:?}: {other:?}", self.rank, self.what),
        }
    }

    pub(crate) fn print(&self) {
        let rank = self.rank;
        match &self.result {
            Err(fault) => println!("rank {rank} fault {fault}"),
            Ok(found) => {
                println!("rank {rank} wrong {}", found.wrong);
                for bad in &found.first {
                    println!("rank {rank} element {} {}", bad.index, bad.class);
                }
            }
        }
    }
}
