//! Who says what all processes of a launch would say, before they have met.

use super::variables;
use crate::base::Env;

/// The variables that say which of several processes this one is, the most particular first.
const INDEX: [&str; 5] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "RANK",
    "SLURM_PROCID",
];

/// Whether this process is the first of its launch, or the only one, as far as variables say.
/// `SLURM_PROCID` counts within a step only.
pub fn is_first(env: &Env) -> bool {
    let is_meant =
        |name: &&&str| env.has(name) && (**name != "SLURM_PROCID" || env.has("SLURM_STEP_ID"));
    let name = INDEX.iter().find(is_meant);
    let index = name.map(|name| variables::optional_number(env, name));
    // one that cannot be read keeps nobody quiet
    !matches!(index, Some(Ok(Some(index))) if index > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_launch_speaks_and_whoever_cannot_know() {
        let is_first = |variables: &[(&str, &str)]| is_first(&variables.iter().copied().collect());
        assert!(is_first(&[]));
        assert!(is_first(&[("PMIX_RANK", "0"), ("SLURM_PROCID", "3")]));
        assert!(
            is_first(&[("SLURM_PROCID", "3")]),
            "a batch script has it too"
        );
        assert!(is_first(&[("RANK", "x")]));
        assert!(!is_first(&[("SLURM_PROCID", "3"), ("SLURM_STEP_ID", "0")]));
        assert!(!is_first(&[
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("SLURM_PROCID", "0")
        ]));
    }
}
