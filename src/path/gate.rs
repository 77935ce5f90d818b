//! `--require-path`: which verdicts are good enough.

use crate::base::Fault;
use crate::record::PathRecord;
use crate::record::path::Verdict;
use std::str::FromStr;

/// What a run requires of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// All over EFA, as it should be.
    Efa,
    /// InfiniBand or RoCE.
    Infiniband,
    /// Inside one node, and there from GPU to GPU.
    Nvlink,
    /// Known, and not over TCP.
    Any,
}

impl Gate {
    /// Names for the command line, in its order.
    pub const ALL: [(&'static str, Self); 4] = [
        ("efa", Self::Efa),
        ("infiniband", Self::Infiniband),
        ("nvlink", Self::Nvlink),
        ("any", Self::Any),
    ];

    /// As the command line spells it.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, gate)| *gate == self);
        named.map_or("any", |(name, _)| *name)
    }
}

impl FromStr for Gate {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let wanted = text.to_ascii_lowercase();
        let named = Self::ALL.iter().find(|(name, _)| *name == wanted);
        named.map(|(_, gate)| *gate).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name);
            Fault::usage(format!(
                "unknown path `{text}`; accepted: {}",
                names.join(", ")
            ))
        })
    }
}

/// Whether a path is what was required; what is unknown never is.
pub fn met(gate: Gate, path: &PathRecord) -> bool {
    match gate {
        Gate::Efa => path.verdict == Verdict::Efa,
        Gate::Infiniband => path.verdict == Verdict::Infiniband,
        Gate::Nvlink => path.verdict == Verdict::IntraNode && is_peer_to_peer(path),
        Gate::Any => matches!(
            path.verdict,
            Verdict::Efa | Verdict::EfaDegraded | Verdict::Infiniband | Verdict::IntraNode
        ),
    }
}

/// Every channel goes from GPU to GPU; one through shared memory is no NVLink. Which link `P2P` took,
/// `NVLink` or `PCIe`, the channels do not say.
fn is_peer_to_peer(path: &PathRecord) -> bool {
    let channels = &path.log.local_channels;
    !channels.is_empty() && channels.keys().all(|way| way.starts_with("P2P"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Evidence, judge};

    fn path(log: &str) -> PathRecord {
        let facts = crate::path::log::facts(log);
        judge(&Evidence {
            logs: vec![("a".to_owned(), facts)],
            ..Evidence::default()
        })
    }

    #[test]
    fn tcp_and_the_unknown_pass_no_gate() {
        for log in ["a:1:1 [0] NCCL INFO Using network Socket", ""] {
            for (name, gate) in Gate::ALL {
                assert!(!met(gate, &path(log)), "{name}");
            }
        }
    }

    #[test]
    fn shared_memory_inside_a_node_is_no_nvlink() {
        let by = |way| {
            path(&format!(
                "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via {way}"
            ))
        };
        assert!(met(Gate::Nvlink, &by("P2P/CUMEM")));
        assert!(!met(Gate::Nvlink, &by("SHM/direct/direct")));
        assert!(met(Gate::Any, &by("SHM/direct/direct")));
    }

    #[test]
    fn names_read_back() {
        for (name, gate) in Gate::ALL {
            assert_eq!((name.parse::<Gate>().unwrap(), gate.name()), (gate, name));
        }
        assert!(
            "ib".parse::<Gate>()
                .unwrap_err()
                .message
                .contains("infiniband")
        );
    }
}
