//! What the first member has chosen, or why it could not, as it travels to all.
//!
//! Does not choose.

use crate::base::{Fault, Kind};
use crate::bootstrap;

const CHOSEN: u8 = 0;
const FAILED: u8 = 1;

/// The form in which it travels.
///
/// # Errors
/// `Disagree` if the fault cannot be written, which is a defect of ours.
pub(super) fn write(chosen: Result<Vec<u8>, Fault>) -> Result<Vec<u8>, Fault> {
    let (tag, bytes) = match chosen {
        Ok(bytes) => (CHOSEN, bytes),
        Err(fault) => (FAILED, bootstrap::encode(&fault)?),
    };
    Ok([&[tag], &bytes[..]].concat())
}

/// What has travelled, from the parts of a broadcast.
///
/// # Errors
/// The fault of the first member; `Disagree` if there is no choice in `parts`.
pub(super) fn read(parts: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
    match parts.first().and_then(|part| part.split_first()) {
        Some((&CHOSEN, bytes)) => Ok(bytes.to_vec()),
        Some((&FAILED, bytes)) => Err(bootstrap::decode(bytes)?),
        _ => Err(Fault::new(Kind::Disagree, "rank 0 sent a broken choice")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_and_a_fault_arrive_as_what_they_are_and_nothing_else_does() {
        let chosen = write(Ok(vec![FAILED, 7])).unwrap();
        assert_eq!(read(&[chosen]), Ok(vec![FAILED, 7]));
        let failed = write(Err(Fault::usage("no"))).unwrap();
        assert_eq!(read(&[failed]), Err(Fault::usage("no")));
        for broken in [vec![], vec![vec![]], vec![vec![2]], vec![vec![FAILED]]] {
            assert_eq!(read(&broken).unwrap_err().kind, Kind::Disagree);
        }
    }
}
