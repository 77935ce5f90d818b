//! The algorithms: their names, which collectives each runs, and how far each reaches.

use crate::base::Fault;
use crate::ffi::kernels::collective::SLOT_PACKETS;
use crate::ffi::kernels::collective::UNIT;

/// A collective that this backend has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    AllReduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    Broadcast,
}

impl Verb {
    pub(super) const ALL: &[Self] = &[
        Self::AllReduce,
        Self::ReduceScatter,
        Self::AllGather,
        Self::AllToAll,
        Self::Broadcast,
    ];

    /// The collective's one spelling.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "allreduce",
            Self::ReduceScatter => "reducescatter",
            Self::AllGather => "allgather",
            Self::AllToAll => "alltoall",
            Self::Broadcast => "broadcast",
        }
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.name() == name)
    }
}

/// A way to run a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algo {
    Ll,
    OneShot,
    TwoShot,
    LlTwoShot,
    Put,
    Pull,
    HandOut,
    Engine,
    Nothing,
    LocalFlag,
    PeerFlag,
    Barrier,
}

use Algo::{
    Barrier, Engine, HandOut, Ll, LlTwoShot, LocalFlag, Nothing, OneShot, PeerFlag, Pull, Put,
    TwoShot,
};
use Verb::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter};

impl Algo {
    /// All, in the order of lists.
    pub(super) const ALL: &[Self] = &[
        Ll, OneShot, LlTwoShot, TwoShot, Put, Pull, HandOut, Engine, Nothing, LocalFlag, PeerFlag,
        Barrier,
    ];

    /// Its name for `--algo`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Ll => "ll",
            OneShot => "oneshot",
            LlTwoShot => "ll-twoshot",
            TwoShot => "twoshot",
            Put => "put",
            Pull => "pull",
            HandOut => "handout",
            Engine => "engine",
            Nothing => "nothing",
            LocalFlag => "local-flag",
            PeerFlag => "peer-flag",
            Barrier => "barrier",
        }
    }

    /// One line for lists.
    pub(super) fn summary(self) -> &'static str {
        match self {
            Ll => "packets that carry their own signal, everything to everybody at once",
            OneShot => "every rank reads all inputs between two barriers",
            LlTwoShot => "packets: each rank reduces its part and sends the result to all",
            TwoShot => "each rank reads its part of all inputs and writes the result to all",
            Put => "every rank writes into the others' outputs between two barriers",
            Pull => "every rank reads from the others' inputs between two barriers",
            HandOut => "the root gives each rank a part, and they give it to each other",
            Engine => "the copy engines, with flags in the order of the streams; no kernel",
            Nothing => "a kernel that does nothing; moves no data",
            LocalFlag => "a kernel with a flag within the GPU; moves no data",
            PeerFlag => "a kernel with a flag to the next rank; moves no data",
            Barrier => "a kernel with a barrier of all ranks; moves no data",
        }
    }

    /// What it runs.
    pub(super) fn verbs(self) -> &'static [Verb] {
        match self {
            OneShot | LlTwoShot | TwoShot => &[AllReduce],
            Put | Engine => &[AllGather, AllToAll, Broadcast],
            Pull => &[ReduceScatter, AllToAll],
            HandOut => &[Broadcast],
            Ll | Nothing | LocalFlag | PeerFlag | Barrier => Verb::ALL,
        }
    }

    /// Whether it does what the collective is to do; else it only costs what a part of it costs.
    pub(super) fn moves_data(self) -> bool {
        !matches!(self, Nothing | LocalFlag | PeerFlag | Barrier)
    }

    /// # Errors
    /// `Usage`, with all names.
    pub(super) fn by_name(name: &str) -> Result<Self, Fault> {
        let found = Self::ALL.iter().copied().find(|algo| algo.name() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|algo| algo.name()).collect();
            Fault::usage(format!(
                "unknown algorithm `{name}` for `--algo`; accepted: {}",
                names.join(", ")
            ))
        })
    }

    /// The most units of [`UNIT`] bytes that one block takes of what one rank sends to another.
    pub(super) fn units_of_a_block(self) -> u64 {
        match self {
            Ll => SLOT_PACKETS,
            LlTwoShot => SLOT_PACKETS / 2,
            _ => u64::MAX,
        }
    }

    /// The most bytes from one rank to another that a launch takes; none where there is no limit.
    pub(super) fn reach(self, blocks: u32) -> Option<u64> {
        match self {
            Ll | LlTwoShot => Some(self.units_of_a_block() * u64::from(blocks) * UNIT),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_name_of_its_own_and_every_verb_one_that_reaches_any_size() {
        for &algo in Algo::ALL {
            assert_eq!(Algo::by_name(algo.name()), Ok(algo));
            assert!(!algo.summary().is_empty() && !algo.verbs().is_empty());
        }
        for &verb in Verb::ALL {
            let mut able = Algo::ALL.iter().filter(|algo| algo.verbs().contains(&verb));
            assert!(able.any(|algo| algo.moves_data() && algo.reach(1).is_none()));
            assert_eq!(Verb::by_name(verb.name()), Some(verb));
        }
        let fault = Algo::by_name("lll").unwrap_err();
        assert!(fault.message.contains("oneshot"), "{fault}");
    }
}
