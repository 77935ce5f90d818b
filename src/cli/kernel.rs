//! The options of backend `kernel`, and the table of algorithms that they may name.

use super::values::{MANY, file, switch, whole};
use crate::backend::Backend;
use crate::backend::KernelWish;
use crate::backend::kernel;
use crate::base::{Env, Fault, Kind};
use crate::record::Tuning;
use clap::{ArgAction, Args};

/// Where a table of algorithms is, unless `--tuning` says.
const VARIABLE: &str = "NCCLBENCH_TUNING";

/// How our own collectives run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Backend `kernel`")]
pub(super) struct KernelOptions {
    /// The algorithm, instead of the one that the table has for each size; `--list` names all
    #[arg(long, value_name = "NAME")]
    pub algo: Option<String>,
    /// Blocks of a launch, as far as they fit on the GPU
    #[arg(long, value_name = "N", value_parser = whole(1, MANY), allow_negative_numbers = true)]
    pub blocks: Option<u32>,
    /// Threads of a block, 32 to 512
    #[arg(long, value_name = "N", value_parser = whole(32, 512), allow_negative_numbers = true)]
    pub block_threads: Option<u32>,
    /// 1: launches are made ready while earlier ones run, from compute capability 9.0 on; 0: never
    #[arg(long, value_name = "0-1", default_value = "1", action = ArgAction::Set, value_parser = switch, allow_negative_numbers = true)]
    pub early: bool,
    /// Table of algorithms that `ncclbench tune` wrote; else `NCCLBENCH_TUNING`, else the built-in one
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub tuning: Option<String>,
}

/// # Errors
/// `Usage` for an unknown algorithm, an option of another backend or a table that is none.
pub(super) fn wish(
    options: &KernelOptions,
    backend: &dyn Backend,
    env: &Env,
) -> Result<KernelWish, Fault> {
    if backend.name() != "kernel" {
        refuse_elsewhere(options, backend)?;
        return Ok(KernelWish::default());
    }
    if let Some(algo) = &options.algo {
        kernel::check_algorithm(algo)?;
    }
    let tuning = match (&options.tuning, env.get(VARIABLE)) {
        (Some(path), _) => Some(read(path, "--tuning")?),
        (None, Some(path)) => Some(read(path, VARIABLE)?),
        (None, None) => None,
    };
    Ok(KernelWish {
        algo: options.algo.clone(),
        blocks: options.blocks,
        block_threads: options.block_threads,
        early: Some(options.early),
        tuning,
    })
}

fn refuse_elsewhere(options: &KernelOptions, backend: &dyn Backend) -> Result<(), Fault> {
    let given = [
        ("--algo", options.algo.is_some()),
        ("--blocks", options.blocks.is_some()),
        ("--block-threads", options.block_threads.is_some()),
        ("--early 0", !options.early),
        ("--tuning", options.tuning.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Fault::usage(format!(
            "`{option}` is for `--backend kernel`, and the backend is `{}`",
            backend.name()
        ))
        .hint("add `--backend kernel`")),
    }
}

fn read(path: &str, option: &str) -> Result<Tuning, Fault> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Fault::new(
            Kind::Missing,
            format!("cannot read the table of algorithms `{path}` of `{option}`: {error}"),
        )
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Fault::usage(format!(
            "`{path}` of `{option}` is no table of algorithms: {error}"
        ))
        .hint("write one with `ncclbench tune`")
    })
}
