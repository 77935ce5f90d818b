//! What went wrong: one error type for the whole library.
//!
//! Each layer adds only what it knows (`context`, `at`); the text is put together once, in `Display`.
//! A fault travels between ranks, so it is plain data.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The sort of a fault; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The command line, a variable or a file says something that is not accepted.
    Usage,
    /// A library, symbol, device or file is not there.
    Missing,
    /// A foreign call failed.
    Call,
    /// The processes were not started in a way that makes one world of them.
    Launch,
    /// The results cannot be written.
    Output,
    /// Another rank died or left.
    Peer,
    /// Something did not happen before its deadline.
    Timeout,
    /// Ranks hold different versions, plans or settings.
    Disagree,
    /// A verb or a combination that is not offered here: a waived row, not an end.
    Unsupported,
    /// Two runs were measured under conditions that cannot be compared.
    Unlike,
    /// A signal or a person ended the run before it was complete.
    Interrupted,
}

impl Kind {
    /// All kinds, for tables and tests.
    pub const ALL: &[Self] = &[
        Self::Usage,
        Self::Missing,
        Self::Call,
        Self::Launch,
        Self::Output,
        Self::Peer,
        Self::Timeout,
        Self::Disagree,
        Self::Unsupported,
        Self::Unlike,
        Self::Interrupted,
    ];

    /// The exit code of a run that this kind of fault ended.
    ///
    /// # Source
    /// `docs/ARCHITECTURE.md`, section Exit codes.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Missing
            | Self::Call
            | Self::Launch
            | Self::Output
            | Self::Unsupported
            | Self::Unlike => 3,
            Self::Peer | Self::Timeout | Self::Disagree | Self::Interrupted => 4,
        }
    }
}

/// Where a fault happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// First rank of the process or thread that met the fault.
    pub rank: u32,
    /// Host name, up to the first dot.
    pub host: String,
    /// GPU ordinal, where there is one.
    pub gpu: Option<u32>,
}

/// An error, with everything a person needs to act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Its sort.
    pub kind: Kind,
    /// The cause: one line, lower case, no full stop.
    pub message: String,
    /// What was being done, outermost first.
    pub context: Vec<String>,
    /// Further lines that belong to the cause: names tried, a foreign library's last words.
    pub details: Vec<String>,
    /// What to do, imperative, one each.
    pub hints: Vec<String>,
    /// Where, once a layer knows it.
    pub place: Option<Place>,
}

impl Fault {
    /// A fault with its cause and nothing else.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            context: Vec::new(),
            details: Vec::new(),
            hints: Vec::new(),
            place: None,
        }
    }

    /// A value that is not accepted.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// A verb or combination that is not offered here.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, message)
    }

    /// Says what was being done when it happened; the latest addition is the outermost.
    #[must_use]
    pub fn while_doing(mut self, what: impl Into<String>) -> Self {
        self.context.insert(0, what.into());
        self
    }

    /// Adds a line under the cause.
    #[must_use]
    pub fn detail(mut self, line: impl Into<String>) -> Self {
        self.details.push(line.into());
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, advice: impl Into<String>) -> Self {
        self.hints.push(advice.into());
        self
    }

    /// Says where it happened; an inner layer that knew better is kept.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gpu {
            Some(gpu) => write!(f, "rank {} ({}, gpu {gpu})", self.rank, self.host),
            None => write!(f, "rank {} ({})", self.rank, self.host),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        for what in &self.context {
            write!(f, "{what}: ")?;
        }
        write!(f, "{}", self.message)?;
        for line in &self.details {
            write!(f, "\n  {line}")?;
        }
        for (index, advice) in self.hints.iter().enumerate() {
            write!(
                f,
                "{}hint: {advice}",
                if index == 0 { "\n\n" } else { "\n" }
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// Adds context to the error side of a result.
pub trait FaultContext<T> {
    /// Says what was being done; see [`Fault::while_doing`].
    ///
    /// # Errors
    /// The same fault, with the context in front.
    fn while_doing(self, what: impl FnOnce() -> String) -> Result<T, Fault>;
}

impl<T> FaultContext<T> for Result<T, Fault> {
    fn while_doing(self, what: impl FnOnce() -> String) -> Self {
        self.map_err(|fault| fault.while_doing(what()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_reads_place_then_context_then_cause_then_details_then_hints() {
        let fault = Fault::new(Kind::Call, "ncclCommInitRank failed")
            .detail("socketStartConnect: refused")
            .hint("set `NCCL_DEBUG=WARN`")
            .while_doing("opening a communicator of 16 ranks")
            .at(Place {
                rank: 9,
                host: "node-b".to_owned(),
                gpu: Some(1),
            });
        assert_eq!(
            fault.to_string(),
            "rank 9 (node-b, gpu 1): opening a communicator of 16 ranks: ncclCommInitRank failed\n  \
             socketStartConnect: refused\n\nhint: set `NCCL_DEBUG=WARN`"
        );
    }

    #[test]
    fn exit_codes_stay_within_the_documented_ones() {
        for kind in Kind::ALL {
            assert!((2..=4).contains(&kind.exit_code()), "{kind:?}");
        }
    }
}
