//! How the members of a run talk before and beside the communicator: the control plane.
//!
//! Never the library under test, never inside a timed window. Members are processes
//! ([`tcp`], [`solo`]) or, one level up, all engine threads of all processes ([`threads`]).

mod arrivals;
mod finish;
pub mod peer;
pub mod pulse;
pub mod solo;
pub mod tcp;
#[cfg(test)]
mod testing;
pub mod threads;
mod witness;

pub use finish::EndHook;
pub use finish::most_severe;
pub use peer::Here;
pub use peer::PeerInfo;
pub use pulse::Pulse;
pub use witness::Witness;

use crate::base::{Fault, FaultContext};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A wait by name, and how long it may last.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// What is awaited, for messages: `the plan's digest`.
    pub name: &'a str,
    /// How long it may take.
    pub limit: Duration,
}

/// How a run ends that did not end by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The exit code that every process leaves with.
    pub exit_code: u8,
    /// What to print, once, on the first member: faults of all members put together.
    pub report: Option<String>,
    /// The fault that was met first.
    pub fault: Fault,
    /// A process gives no answer, so that it will not leave by itself. Said to the first member only.
    pub mute: bool,
}

impl Ending {
    /// The ending that a fault makes where there is nothing to be found out, with its report.
    pub fn by(fault: Fault) -> Self {
        Self {
            exit_code: fault.kind.exit_code(),
            report: Some(fault.to_string()),
            fault,
            mute: false,
        }
    }

    /// The same for a member that leaves it to another to print it.
    #[must_use]
    pub fn untold(self) -> Self {
        Self {
            report: None,
            ..self
        }
    }
}

impl From<Fault> for Ending {
    fn from(fault: Fault) -> Self {
        Self::by(fault)
    }
}

/// Makes one answer of all members' bytes, entry `m` being member `m`'s. It may use nothing else: all
/// members pass the same, and which of them calls it is not said.
pub type Choose<'a> = &'a dyn Fn(&[Vec<u8>]) -> Result<Vec<u8>, Fault>;

/// Members of a plane as planes of their own.
pub trait Groups {
    /// The members of one `color` as a plane whose calls never involve others, in the order of `key`
    /// and, where keys are equal, of members. All members of this plane call it.
    ///
    /// # Errors
    /// `Unsupported` where this plane cannot be divided so, or as [`Bootstrap::all_gather`].
    fn group(&self, step: Step<'_>, color: u64, key: u64) -> Result<Arc<dyn Bootstrap>, Fault> {
        let _ = (color, key);
        let text = format!("`{}` cannot be done by a part of the members", step.name);
        Err(Fault::new(crate::base::Kind::Unsupported, text))
    }
}

/// The control plane as one member sees it.
///
/// All members make the same calls in the same order. A call that another member's end cut short
/// returns the fault that ended the run.
pub trait Bootstrap: Groups + Debug + Send + Sync {
    /// Which member this is, from 0.
    fn member(&self) -> usize;

    /// How many members there are.
    fn members(&self) -> usize;

    /// Gives every member every member's bytes: entry `m` of the result is what member `m` passed.
    ///
    /// # Errors
    /// `Timeout` naming who did not come, `Peer` if a member died, or the fault that ended the run.
    fn all_gather(&self, step: Step<'_>, mine: &[u8]) -> Result<Vec<Vec<u8>>, Fault>;

    /// Returns when every member has called it.
    ///
    /// # Errors
    /// As [`Bootstrap::all_gather`].
    fn barrier(&self, step: Step<'_>) -> Result<(), Fault> {
        self.all_gather(step, &[]).map(drop)
    }

    /// A barrier whose members leave as close together as the control plane can make it: what a
    /// timed loop starts from.
    ///
    /// # Errors
    /// As [`Bootstrap::all_gather`].
    fn start_line(&self, step: Step<'_>) -> Result<(), Fault> {
        self.barrier(step)
    }

    /// Gives every member what `choose` makes of all members' bytes, or its fault. Everything goes to
    /// one member and one answer to all, so that it is cheaper than [`Bootstrap::all_gather`] by as
    /// many times as there are members.
    ///
    /// # Errors
    /// That of `choose`, or as [`Bootstrap::all_gather`].
    fn decide(&self, step: Step<'_>, mine: &[u8], choose: Choose<'_>) -> Result<Vec<u8>, Fault> {
        choose(&self.all_gather(step, mine)?)
    }

    /// `Ok` only if every member is; otherwise every member gets the fault of the lowest that failed.
    ///
    /// # Errors
    /// That fault, or as [`Bootstrap::all_gather`].
    fn agree(&self, step: Step<'_>, mine: Result<(), Fault>) -> Result<(), Fault> {
        let said = encode(&mine.err())?;
        for theirs in self.all_gather(step, &said)? {
            if let Some(fault) = decode::<Option<Fault>>(&theirs)? {
                return Err(fault);
            }
        }
        Ok(())
    }

    /// What this member is doing, for the arrival table; setting it costs an atomic store.
    fn pulse(&self) -> &Pulse;

    /// The fault that ended the run, if one has; one atomic load while none has.
    fn ended(&self) -> Option<Fault>;

    /// Ends the run for all members because of `fault` and says how: bounded in time whatever the
    /// others do. Later calls return the first ending.
    fn fail(&self, fault: Fault) -> Ending;
}

impl dyn Bootstrap + '_ {
    /// Gives every member the first member's bytes; the others' are ignored.
    ///
    /// # Errors
    /// As [`Bootstrap::all_gather`].
    pub fn broadcast(&self, step: Step<'_>, mine: &[u8]) -> Result<Vec<u8>, Fault> {
        let mine = if self.member() == 0 { mine } else { &[] };
        self.decide(step, mine, &|all| Ok(all[0].clone()))
    }
}

/// The control plane of processes: what [`Bootstrap`] says, and what only a process can do.
pub trait ProcessPlane: Bootstrap {
    /// Who the processes are, by member.
    fn peers(&self) -> &[PeerInfo];

    /// Where this process met the others: the address on which it listens or to which it connected;
    /// none where there is nobody else.
    fn place(&self) -> Option<&str>;

    /// Runs `hook`, on a thread of its own, when the run is ended by a fault, wherever it was met;
    /// at once if it has been. The hook may block: it aborts what this process waits for.
    fn on_end(&self, hook: EndHook);

    /// Whom to ask, once, when a deadline has passed and before anything is aborted. Only the first
    /// member's counts.
    fn call_witness(&self, witness: Witness);

    /// Says goodbye, so that this process's end is not taken for its death. The last call; member 0
    /// stays, for half a minute at most, until all others have said it too.
    fn leave(&self);
}

/// Bytes of a value for the control plane.
///
/// # Errors
/// `Disagree` if the value cannot be written, which is a defect of ours.
pub fn encode<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(value)
        .map_err(|error| Fault::new(crate::base::Kind::Disagree, error.to_string()))
        .while_doing(|| "writing a message of the control plane".to_owned())
}

/// A value from another member's bytes.
///
/// # Errors
/// `Disagree` if they do not hold one: the members run different versions.
pub fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes)
        .map_err(|error| Fault::new(crate::base::Kind::Disagree, error.to_string()))
        .while_doing(|| "reading a message of the control plane".to_owned())
}
