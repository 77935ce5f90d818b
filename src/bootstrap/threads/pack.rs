//! What the threads of a process give, as one process's bytes.

use crate::base::{Fault, Kind};

/// Several threads' bytes as one process's: for each its length, then the bytes.
pub(super) fn pack(given: &[Vec<u8>]) -> Vec<u8> {
    let mut packed = Vec::new();
    for bytes in given {
        packed.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        packed.extend_from_slice(bytes);
    }
    packed
}

pub(in crate::bootstrap) fn unpack_all(
    theirs: &[Vec<u8>],
    threads: usize,
) -> Result<Vec<Vec<u8>>, Fault> {
    let mut all = Vec::with_capacity(theirs.len() * threads);
    for (process, packed) in theirs.iter().enumerate() {
        let parts = unpack(packed).filter(|parts| parts.len() == threads);
        all.extend(parts.ok_or_else(|| {
            Fault::new(
                Kind::Disagree,
                format!("process {process} does not run {threads} threads as this one does"),
            )
        })?);
    }
    Ok(all)
}

pub(super) fn unpack(mut packed: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut parts = Vec::new();
    while !packed.is_empty() {
        let (len, rest) = packed.split_first_chunk::<8>()?;
        let (bytes, rest) =
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        parts.push(bytes.to_vec());
        packed = rest;
    }
    Some(parts)
}
