//! What a run is written in, shared with whoever must close it when the writing thread cannot.
//!
//! A thread that is stuck in a library comes back late or never; the rows must have their footer all the same.

use super::output::Files;
use super::output::Output;
use super::worker::Tally;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::moment;
use crate::bootstrap::Ending;
use crate::digest::Figures;
use crate::record::Footer;
use crate::record::Header;
use crate::record::PathRecord;
use crate::record::Row;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

/// The outputs and what has been counted; closed once.
pub(super) struct Book(Mutex<State>);

struct State {
    output: Output,
    figures: Figures,
    path: Option<PathRecord>,
    is_closed: bool,
}

impl std::fmt::Debug for Book {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Book")
    }
}

impl Book {
    /// Opens what is written to.
    ///
    /// # Errors
    /// `Output` if a file cannot be created.
    pub(super) fn open(files: Files<'_>) -> Result<Self, Fault> {
        Ok(Self(Mutex::new(State {
            output: Output::open(files)?,
            figures: Figures::default(),
            path: None,
            is_closed: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, as long as the book is open.
    fn write(&self) -> Result<MutexGuard<'_, State>, Fault> {
        let state = self.lock();
        if state.is_closed {
            return Err(Fault::new(Kind::Interrupted, "the run has ended"));
        }
        Ok(state)
    }

    pub(super) fn begin(&self, header: &Header) -> Result<(), Fault> {
        self.write()?.output.begin(header)
    }

    pub(super) fn row(&self, row: &Row) -> Result<(), Fault> {
        let mut state = self.write()?;
        state.output.row(row)?;
        state.figures.add(row);
        Ok(())
    }

    /// Keeps which way the bytes went, for the footer.
    pub(super) fn path(&self, path: Option<PathRecord>) {
        self.lock().path = path;
    }

    /// Writes the footer of a run that came to its end.
    pub(super) fn end(&self, tally: &Tally) -> Result<(), Fault> {
        let mut state = self.write()?;
        state.is_closed = true;
        let footer = Footer {
            bandwidth_floor: tally.floor,
            memory: tally.memory,
            path: state.path.take(),
            ..footer(&state.figures, tally.exit_code(), None)
        };
        state.output.end(&footer)
    }

    /// Writes the footer of a run that was ended early, unless there is one.
    pub(super) fn cut_short(&self, ending: &Ending) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.is_closed, true) {
            return;
        }
        let footer = footer(&state.figures, ending.exit_code, Some(&ending.fault));
        state.output.cut_short(&footer);
        match footer.rows {
            0 => {}
            1 => super::say("note: the run was cut short after its first row"),
            rows => super::say(&format!("note: the run was cut short after {rows} rows")),
        }
    }
}

fn footer(figures: &Figures, exit_code: u8, fault: Option<&Fault>) -> Footer {
    Footer {
        ended: moment::rfc3339(super::narrator::now()),
        rows: figures.rows,
        wrong_measurements: figures.wrong_measurements,
        average_busbw_gbps: figures.average_busbw_gbps(),
        exit_code,
        fault: fault.map(Fault::to_string),
        interrupted: fault.is_some_and(|fault| fault.kind == Kind::Interrupted),
        bandwidth_floor: None,
        conditions: None,
        memory: None,
        path: None,
    }
}
