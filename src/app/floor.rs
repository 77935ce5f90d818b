//! The mean bus bandwidth that a run must reach: nccl-tests' `NCCL_TESTS_MIN_BW`, in force on all
//! processes if it is set on any.

use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::bootstrap::Step;
use crate::digest::Figures;
use crate::record::BandwidthFloor;

/// What nccl-tests lets pass of what was asked for.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeResultFooter`.
const TOLERANCE: f64 = 0.9;

/// What all processes hold the mean against, in GB/s; none where it was asked for on no process.
///
/// # Errors
/// `Disagree` if processes were told different ones, or as [`Bootstrap::decide`].
pub(super) fn agree(
    plane: &dyn Bootstrap,
    step: Step<'_>,
    asked_gbps: Option<f64>,
) -> Result<Option<f64>, Fault> {
    let mine = bootstrap::encode(&asked_gbps)?;
    bootstrap::decode(&plane.decide(step, &mine, &one_for_all)?)
}

fn one_for_all(said: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    let mut all: Option<(usize, f64)> = None;
    for (process, bytes) in said.iter().enumerate() {
        match (all, bootstrap::decode::<Option<f64>>(bytes)?) {
            (None, Some(theirs)) => all = Some((process, theirs)),
            (Some((first, one)), Some(theirs)) if one.to_bits() != theirs.to_bits() => {
                let text = format!(
                    "processes disagree on `NCCL_TESTS_MIN_BW`: process {first} has {one}, process {process} has {theirs}"
                );
                return Err(Fault::new(Kind::Disagree, text));
            }
            _ => {}
        }
    }
    bootstrap::encode(&all.map(|(_, floor)| floor))
}

/// How a run stands against what was asked for. One that measured nothing has not reached it.
pub(super) fn held(asked_gbps: f64, figures: &Figures) -> BandwidthFloor {
    let floor_gbps = asked_gbps * TOLERANCE;
    BandwidthFloor {
        floor_gbps,
        met: figures.measured > 0 && figures.average_busbw_gbps() >= floor_gbps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(all: &[Option<f64>]) -> Result<Option<f64>, Fault> {
        let said: Vec<_> = all
            .iter()
            .map(|one| bootstrap::encode(one).unwrap())
            .collect();
        bootstrap::decode(&one_for_all(&said)?)
    }

    #[test]
    fn a_floor_that_only_some_processes_know_is_in_force_on_all() {
        assert_eq!(agreed(&[None, None]), Ok(None));
        assert_eq!(agreed(&[None, Some(2.5), None, Some(2.5)]), Ok(Some(2.5)));
        let fault = agreed(&[None, Some(2.5), Some(3.0)]).unwrap_err();
        assert!(
            fault.message.contains("process 1 has 2.5, process 2 has 3"),
            "{fault}"
        );
    }

    #[test]
    fn nine_tenths_are_enough_and_nothing_measured_is_not() {
        let figures = Figures {
            measured: 2,
            busbw_sum_gbps: 18.0,
            ..Figures::default()
        };
        assert!(held(10.0, &figures).met && !held(10.1, &figures).met);
        assert!(!held(0.0, &Figures::default()).met);
    }
}
