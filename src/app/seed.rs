//! The seed of a run's data: the one that was given, else a fresh one, the same on every process.
//!
//! It makes no data; what follows from a seed is the pattern's business.

use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use serde::Deserialize;
use serde::Serialize;
use std::hash::BuildHasher as _;
use std::hash::Hasher as _;
use std::hash::RandomState;

/// The seed of what is not measured, where none is given: a cost model's table is to be the same
/// again tomorrow.
const UNMEASURED: u64 = 1;

/// What a process tells the others.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Told {
    given: Option<u64>,
    otherwise: u64,
}

/// The seed that all processes use. Data that is the same in every run would hide what only other
/// data shows, so that a measurement draws a fresh one unless one is given.
///
/// # Errors
/// `Disagree` if processes were given different ones, or as [`Bootstrap::all_gather`].
pub(super) fn agree(
    plane: &dyn Bootstrap,
    step: Step<'_>,
    given: Option<u64>,
    measured: bool,
) -> Result<u64, Fault> {
    let otherwise = if measured { fresh() } else { UNMEASURED };
    let mine = Told { given, otherwise };
    let said = plane.all_gather(step, &bootstrap::encode(&mine)?)?;
    let first: Told = bootstrap::decode(&said[0])?;
    for (process, bytes) in said.iter().enumerate() {
        let theirs: Told = bootstrap::decode(bytes)?;
        if theirs.given != first.given {
            return Err(differ(first.given, process, theirs.given));
        }
    }
    Ok(first.given.unwrap_or(first.otherwise))
}

fn differ(first: Option<u64>, process: usize, theirs: Option<u64>) -> Fault {
    let text = |seed: Option<u64>| seed.map_or_else(|| "none".to_owned(), |seed| seed.to_string());
    Fault::new(
        Kind::Disagree,
        format!(
            "processes disagree on `--seed`: process 0 has {}, process {process} has {}",
            text(first),
            text(theirs)
        ),
    )
    .hint("start all processes with the same options")
}

/// From what the standard library seeds its hash tables with; of 32 bits, so that a person can type it.
fn fresh() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::PeerInfo;
    use crate::bootstrap::solo::Solo;
    use std::time::Duration;

    fn agreed(given: Option<u64>, measured: bool) -> u64 {
        let plane = Solo::new(PeerInfo {
            host: "a".to_owned(),
            identity: "a".to_owned(),
            pid: 1,
            version: "0".to_owned(),
            ranks: 1,
        });
        let step = Step {
            name: "the seed",
            limit: Duration::from_secs(1),
        };
        agree(&plane, step, given, measured).unwrap()
    }

    #[test]
    fn a_measurement_without_a_seed_has_other_data_every_time_and_a_cost_model_has_not() {
        let drawn: std::collections::BTreeSet<u64> = (0..8).map(|_| agreed(None, true)).collect();
        assert!(drawn.len() > 1, "{drawn:?}");
        assert_eq!(agreed(None, false), agreed(None, false));
        assert_eq!((agreed(Some(7), true), agreed(Some(7), false)), (7, 7));
    }
}
