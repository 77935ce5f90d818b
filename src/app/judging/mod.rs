//! Remembering and judging: `compare`, `baseline`, `results`.

mod accept;
mod author;
mod baselines;
mod compare;
mod launches;
mod results;

pub(super) use baselines::run as baseline;
pub(super) use compare::run as compare;
pub(super) use results::run as results;

use crate::base::Fault;
use crate::base::Kind;

/// Of several exit codes the one that wins.
///
/// # Source
/// `docs/ARCHITECTURE.md`, section Exit codes.
pub(super) fn most_severe(codes: &[u8]) -> u8 {
    let order = [5, 4, 3, 2, 6, 1, 7];
    let found = order.into_iter().find(|code| codes.contains(code));
    found.unwrap_or(0)
}

/// A record as one line of JSON.
fn json(record: &impl serde::Serialize) -> Result<String, Fault> {
    serde_json::to_string(record)
        .map(|text| text + "\n")
        .map_err(|error| Fault::new(Kind::Output, format!("cannot write JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_data_wins_over_a_gate_and_a_gate_over_a_verdict() {
        assert_eq!(most_severe(&[7, 1, 6, 5]), 5);
        assert_eq!(most_severe(&[7, 1, 6]), 6);
        assert_eq!(most_severe(&[0, 7, 1]), 1);
        assert_eq!(most_severe(&[0, 0]), 0);
    }
}
