//! Which exit code an outcome leaves with: this program's own, or nccl-tests' where it was called
//! by one of its names.

use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap::Ending;
use crate::cli::Guise;

/// nccl-tests leaves with this where it refuses its command line, and this program where a run that
/// it would call good has measured nothing.
const REFUSED: u8 = 255;

/// Whose exit codes are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codes {
    /// This program's: `docs/ARCHITECTURE.md`, section Exit codes.
    Own,
    /// Those of nccl-tests.
    NcclTests,
}

impl Codes {
    /// Those that a program called so leaves with.
    pub(super) fn of(guise: &Guise) -> Self {
        if guise.is_nccl_tests() {
            Self::NcclTests
        } else {
            Self::Own
        }
    }

    /// The code of a fault.
    pub(super) fn fault(self, fault: &Fault) -> u8 {
        match self {
            Self::Own => fault.kind.exit_code(),
            Self::NcclTests => nccl_tests_fault(fault),
        }
    }

    /// The code of a run that was ended early.
    pub(super) fn ending(self, ending: &Ending) -> u8 {
        let is_the_faults = ending.exit_code == ending.fault.kind.exit_code();
        match self {
            Self::NcclTests if is_the_faults => nccl_tests_fault(&ending.fault),
            _ => self.outcome(ending.exit_code),
        }
    }

    /// The code of a run that came to its end with one of this program's codes.
    ///
    /// # Source
    /// nccl-tests 2.19.6, `src/common.h`, `testResult_t`; 7 is wrong data or too little bandwidth.
    pub(super) fn outcome(self, own: u8) -> u8 {
        match (self, own) {
            (Self::NcclTests, 5 | 6) => 7,
            (Self::NcclTests, 2 | 3) => REFUSED,
            _ => own,
        }
    }
}

/// # Source
/// nccl-tests 2.19.6, `src/common.h`, `testResult_t`: 1 internal, 2 CUDA, 3 NCCL, 4 timeout, 5 not
/// implemented, 6 invalid usage.
fn nccl_tests_fault(fault: &Fault) -> u8 {
    match fault.kind {
        Kind::Usage | Kind::Unlike => REFUSED,
        Kind::Output => 1,
        Kind::Missing | Kind::Call if is_cuda(fault) => 2,
        Kind::Missing | Kind::Call | Kind::Peer => 3,
        Kind::Timeout | Kind::Interrupted => 4,
        Kind::Unsupported => 5,
        Kind::Launch | Kind::Disagree => 6,
    }
}

/// Whether a foreign call or library was the driver's.
fn is_cuda(fault: &Fault) -> bool {
    let call = fault.message.trim_start_matches('`');
    (call.starts_with("cu") || call.contains("libcuda")) && !call.contains("nccl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_nccl_tests_gets_its_codes_and_the_own_name_the_own_ones() {
        let codes = Codes::of(&Guise::of(Some(&"all_reduce_perf_mpi".into())));
        let fault = |kind, text: &str| codes.fault(&Fault::new(kind, text));
        assert_eq!(fault(Kind::Usage, "`-b`"), 255);
        assert_eq!(fault(Kind::Call, "cuMemAlloc_v2 failed: out of memory"), 2);
        assert_eq!(fault(Kind::Call, "ncclAllReduce failed: internal"), 3);
        assert_eq!(fault(Kind::Timeout, "no progress"), 4);
        assert_eq!(fault(Kind::Unsupported, "`-D`"), 5);
        let own = Codes::of(&Guise::of(Some(&"ncclbench".into())));
        for kind in Kind::ALL {
            let fault = Fault::new(*kind, "x");
            assert_eq!(own.fault(&fault), kind.exit_code());
            assert_ne!(codes.fault(&fault), 0);
        }
    }

    #[test]
    fn only_a_good_run_leaves_with_0() {
        assert_eq!(Codes::NcclTests.outcome(0), 0);
        assert_eq!([5, 6].map(|code| Codes::NcclTests.outcome(code)), [7, 7]);
        assert_eq!(Codes::NcclTests.outcome(3), 255, "nothing was measured");
    }

    #[test]
    fn a_worse_code_than_the_faults_own_is_kept() {
        let mut ending = Ending::by(Fault::new(Kind::Unsupported, "x"));
        assert_eq!(Codes::NcclTests.ending(&ending), 5);
        ending.exit_code = 5;
        assert_eq!(Codes::NcclTests.ending(&ending), 7);
    }
}
