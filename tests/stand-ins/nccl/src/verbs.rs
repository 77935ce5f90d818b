//! What the collectives do beyond all-reduce and all-to-all: each is one swap of messages between
//! all pairs, many of them empty.

use crate::comm::Comm;
use crate::work::{Reduction, fold, scale, swap};
use crate::{Code, INTERNAL};
use ncclbench::base::DataType;

/// A collective with what distinguishes its calls.
#[derive(Debug, Clone, Copy)]
pub enum Verb {
    AllGather,
    ReduceScatter(Reduction),
    Broadcast {
        root: usize,
    },
    Reduce {
        by: Reduction,
        root: usize,
    },
    #[cfg_attr(
        not(feature = "modern"),
        expect(dead_code, reason = "an old library has no such call")
    )]
    Gather {
        root: usize,
    },
    #[cfg_attr(
        not(feature = "modern"),
        expect(dead_code, reason = "an old library has no such call")
    )]
    Scatter {
        root: usize,
    },
}

impl Verb {
    /// How many times the count this rank reads and writes.
    pub fn reach(self, comm: &Comm) -> (usize, usize) {
        let at = |root: usize, times: usize| if comm.rank == root { times } else { 0 };
        match self {
            Self::AllGather => (1, comm.world),
            Self::ReduceScatter(_) => (comm.world, 1),
            Self::Broadcast { root } => (at(root, 1), 1),
            Self::Reduce { root, .. } => (1, at(root, 1)),
            Self::Gather { root } => (1, at(root, comm.world)),
            Self::Scatter { root } => (at(root, comm.world), 1),
        }
    }

    /// Tells verbs apart on the wire, so that ranks that call different things do not go on.
    fn kind(self) -> u64 {
        match self {
            Self::AllGather => 5,
            Self::ReduceScatter(_) => 6,
            Self::Broadcast { root } => 7 + 16 * root as u64,
            Self::Reduce { root, .. } => 8 + 16 * root as u64,
            Self::Gather { root } => 9 + 16 * root as u64,
            Self::Scatter { root } => 10 + 16 * root as u64,
        }
    }

    /// What a peer is given of the input, of which `len` bytes are one count.
    fn give(self, comm: &Comm, peer: usize, input: &[u8], len: usize) -> std::ops::Range<usize> {
        match self {
            Self::AllGather => 0..len,
            Self::ReduceScatter(_) => peer * len..(peer + 1) * len,
            Self::Broadcast { .. } => 0..input.len(),
            Self::Reduce { root, .. } | Self::Gather { root } if peer == root => 0..len,
            Self::Scatter { root } if comm.rank == root => peer * len..(peer + 1) * len,
            _ => 0..0,
        }
    }

    /// How many bytes come from a peer.
    fn take(self, comm: &Comm, peer: usize, len: usize) -> usize {
        let comes = match self {
            Self::AllGather | Self::ReduceScatter(_) => true,
            Self::Broadcast { root } | Self::Scatter { root } => peer == root,
            Self::Reduce { root, .. } | Self::Gather { root } => comm.rank == root,
        };
        if comes { len } else { 0 }
    }
}

/// Runs a verb; `len` is the bytes of one count.
pub fn run(
    comm: &Comm,
    verb: Verb,
    dtype: DataType,
    mut input: Vec<u8>,
    output: &mut [u8],
    len: usize,
) -> Result<(), Code> {
    let by = match verb {
        Verb::ReduceScatter(by) | Verb::Reduce { by, .. } => Some(by),
        _ => None,
    };
    if let Some(by) = by {
        scale(comm, dtype, by, &mut input);
    }
    let lens = (0..comm.world).map(|peer| verb.take(comm, peer, len));
    let mut theirs: Vec<Vec<u8>> = lens.map(|len| vec![0; len]).collect();
    let give = |peer: usize| &input[verb.give(comm, peer, &input, len)];
    let own = give(comm.rank);
    if !theirs[comm.rank].is_empty() {
        theirs[comm.rank].copy_from_slice(own);
    }
    let into = theirs.iter_mut().map(Vec::as_mut_slice);
    swap(comm, verb.kind(), give, into)?;
    let result = match by {
        Some(by) if !output.is_empty() => fold(comm, dtype, by, &mut theirs),
        _ => theirs.concat(),
    };
    if result.len() < output.len() {
        return Err(INTERNAL);
    }
    output.copy_from_slice(&result[..output.len()]);
    Ok(())
}
