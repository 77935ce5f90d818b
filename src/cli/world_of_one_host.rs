//! The ranks of a command that starts runs of its own on this host: the options that those get too.

use super::values::{MANY, MOST_PROCESSES, label, seconds, whole};
use crate::base::Fault;
use clap::Args;
use std::time::Duration;

/// The ranks of this host, as words for the runs that are started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneHost {
    /// The options, word by word.
    pub words: Vec<String>,
    /// How many ranks they make.
    pub ranks: u32,
}

/// Who takes part.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ranks")]
pub(super) struct OneHostOptions {
    /// Processes on this host
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(1, MOST_PROCESSES), allow_negative_numbers = true)]
    spawn: u32,
    /// Threads of each process
    #[arg(short = 't', long, value_name = "N", default_value = "1", value_parser = whole(1, MANY), allow_negative_numbers = true)]
    nthreads: u32,
    /// GPUs of each thread
    #[arg(short = 'g', long, value_name = "N", default_value = "1", value_parser = whole(1, MANY), allow_negative_numbers = true)]
    ngpus: u32,
    /// Allow several ranks on one GPU
    #[arg(long)]
    allow_shared_gpu: bool,
    /// The NCCL library to load, where NCCL takes part
    #[arg(long, value_name = "FILE", value_parser = label)]
    nccl_lib: Option<String>,
    /// Seconds that each step of starting up may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    timeout_init: Duration,
    /// Seconds that an operation may go without progress
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true)]
    timeout_op: Duration,
}

impl OneHostOptions {
    /// # Errors
    /// `Usage` for one rank alone.
    pub(super) fn resolve(&self) -> Result<OneHost, Fault> {
        let ranks = u64::from(self.spawn) * u64::from(self.nthreads) * u64::from(self.ngpus);
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
        if ranks < 2 {
            return Err(
                Fault::usage("one rank alone has nobody to exchange anything with")
                    .hint("add `-g N` for N GPUs of one process, or `--spawn N` for N processes"),
            );
        }
        let mut words = Vec::new();
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        if self.spawn > 1 {
            add("--spawn", self.spawn.to_string());
        }
        add("-t", self.nthreads.to_string());
        add("-g", self.ngpus.to_string());
        add(
            "--timeout-init",
            self.timeout_init.as_secs_f64().to_string(),
        );
        add("--timeout-op", self.timeout_op.as_secs_f64().to_string());
        if self.allow_shared_gpu {
            words.push("--allow-shared-gpu".to_owned());
        }
        if let Some(library) = &self.nccl_lib {
            words.extend(["--nccl-lib".to_owned(), library.clone()]);
        }
        Ok(OneHost { words, ranks })
    }
}
