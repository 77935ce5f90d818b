//! Which variables a record keeps: those that change what is measured, never the whole environment.
//!
//! A whole environment holds tokens and passwords.

use crate::base::Env;
use std::collections::BTreeMap;

/// Variables whose names start so are kept.
const PREFIXES: [&str; 6] = ["NCCL_", "NCCLBENCH_", "FI_", "OFI_NCCL_", "RDMAV_", "UCX_"];

/// Further variables that are kept.
const NAMES: [&str; 14] = [
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_PIPE_DIRECTORY",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "OMP_NUM_THREADS",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPU_BIND",
    "SLURM_JOB_ID",
    "SLURM_JOB_PARTITION",
    "SLURM_MPI_TYPE",
    "SLURM_STEP_ID",
    "SLURM_STEP_NUM_TASKS",
];

/// A name that holds one of these is never kept.
const SECRETS: [&str; 4] = ["SECRET", "TOKEN", "PASSWORD", "CREDENTIAL"];

/// The part of `env` that a record keeps.
pub(super) fn of(env: &Env) -> BTreeMap<String, String> {
    env.iter()
        .filter(|(name, _)| is_kept(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn is_kept(name: &str) -> bool {
    let listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    listed && !SECRETS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_kept_and_what_is_secret_is_not() {
        let env: Env = [
            ("NCCL_NET", "ofi"),
            ("FI_PROVIDER", "efa"),
            ("AWS_SESSION_TOKEN", "x"),
            ("NCCLBENCH_SECRET", "x"),
            ("HOME", "x"),
        ]
        .into_iter()
        .collect();
        assert_eq!(
            of(&env).into_keys().collect::<Vec<_>>(),
            ["FI_PROVIDER", "NCCL_NET"]
        );
    }
}
