//! What a command line asks for, as plain data: every value read and in range.

use super::Guise;
use super::SweepArgs;
use super::path::PathWish;
use crate::backend::Backend;
use crate::backend::KernelWish;
use crate::base::split::Split;
use crate::digest::Average;
use crate::launcher;
use crate::plan::PlanSpec;
use crate::record::Release;
use std::time::Duration;

/// `ncclbench COLLECTIVE …`, read and checked.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are switches of the command line, each apart from the others"
)]
pub struct Args {
    /// As which program this one was called.
    pub guise: Guise,
    /// What to measure.
    pub plan: PlanSpec,
    /// Engine threads of each process (`-t`).
    pub threads: u32,
    /// GPUs of each thread (`-g`).
    pub gpus: u32,
    /// The groups that the processes form (`NCCL_TESTS_SPLIT`); none is one of all.
    pub split: Option<Split>,
    /// The mean bus bandwidth that is asked for (`NCCL_TESTS_MIN_BW`), in GB/s.
    pub min_bw_gbps: Option<f64>,
    /// How the headline time combines threads (`-a`).
    pub average: Average,
    /// Whose first and last lines the table has, where it is not the newest release (`--compat`).
    pub table_release: Option<Release>,
    /// Whether the table's rows end in the local time (`-S`).
    pub timestamps: bool,
    /// Who runs it.
    pub backend: &'static dyn Backend,
    /// What backend `kernel` is told.
    pub kernel: KernelWish,
    /// How the processes were started and how they meet.
    pub launch: launcher::Wish,
    /// What to call this host instead of what it is.
    pub host_label: Option<String>,
    /// Two ranks on one GPU are allowed.
    pub allow_shared_gpu: bool,
    /// Sizes that do not fit into memory are an error instead of being left out.
    pub no_clamp: bool,
    /// The NCCL library to load.
    pub nccl_lib: Option<String>,
    /// Where the run's file goes.
    pub output: Option<String>,
    /// Where nccl-tests' JSON goes (`-J`).
    pub json: Option<String>,
    /// How long starting up may take, step by step.
    pub timeout_init: Duration,
    /// How long an operation may go without progress; none is for ever.
    pub timeout_op: Option<Duration>,
    /// How long all that was enqueued at a go may take, under nccl-tests' names (`-T`).
    pub timeout_batch: Option<Duration>,
    /// Seed of the data and of what is simulated; none draws a fresh one.
    pub seed: Option<u64>,
    /// What to find out about the network path.
    pub path: PathWish,
    /// Print the plan and end.
    pub dry_run: bool,
    /// Where several collectives are measured as a configuration says; `plan` is then its first part.
    pub sweep: Option<SweepArgs>,
    /// What a person must be told about the options: those of nccl-tests that it changes with a warning.
    pub remarks: Vec<String>,
    /// The command line, as given.
    pub argv: Vec<String>,
}

impl Args {
    /// What is measured, part by part; one of a plain measurement.
    pub fn parts(&self) -> Vec<PlanSpec> {
        match &self.sweep {
            None => vec![self.plan.clone()],
            Some(sweep) => {
                let steps = sweep.config.steps.iter();
                steps.flat_map(|step| step.parts.clone()).collect()
            }
        }
    }

    /// How many parts each step has.
    pub fn steps(&self) -> Vec<usize> {
        match &self.sweep {
            None => vec![1],
            Some(sweep) => {
                let steps = sweep.config.steps.iter();
                steps.map(|step| step.parts.len()).collect()
            }
        }
    }
}
