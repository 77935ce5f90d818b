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
use crate::record::Conditions;
use crate::record::Footer;
use crate::record::Header;
use crate::record::Judgement;
use crate::record::PathRecord;
use crate::record::Row;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

/// The outputs and what has been counted; closed once.
pub(super) struct Book(Mutex<State>);

struct State {
    output: Output,
    figures: Figures,
    /// What the table that is open has counted.
    section: Figures,
    path: Option<PathRecord>,
    conditions: Option<Conditions>,
    judgement: Option<Judgement>,
    is_closed: bool,
}

impl std::fmt::Debug for Book {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Book")
    }
}

impl Book {
    /// Opens what is written to; with sections every part has a table of its own.
    ///
    /// # Errors
    /// `Output` if a file cannot be created.
    pub(super) fn open(files: Files<'_>) -> Result<Self, Fault> {
        Ok(Self(Mutex::new(State {
            output: Output::open(files)?,
            figures: Figures::default(),
            section: Figures::default(),
            path: None,
            conditions: None,
            judgement: None,
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
        state.section.add(row);
        Ok(())
    }

    /// Writes to this run's file too from now on.
    pub(super) fn keep(&self, path: &Path, file: File) {
        self.lock().output.keep(path, file);
    }

    /// Counts what an earlier run has in front.
    pub(super) fn count(&self, earlier: &Figures) {
        self.lock().figures.join(earlier);
    }

    /// Begins a part's table.
    pub(super) fn open_section(&self, header: &Header) -> Result<(), Fault> {
        let mut state = self.write()?;
        state.section = Figures::default();
        state.output.open_section(header)
    }

    /// Ends it.
    pub(super) fn close_section(&self) -> Result<(), Fault> {
        let mut state = self.write()?;
        let footer = footer(&state.section, 0, None);
        state.output.close_section(&footer)
    }

    /// Keeps the devices' state after the last row, for the footer.
    pub(super) fn conditions(&self, conditions: Option<Conditions>) {
        self.lock().conditions = conditions;
    }

    /// Keeps what the sweep came to, for the footer.
    pub(super) fn judged(&self, judgement: Judgement) {
        self.lock().judgement = Some(judgement);
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
            conditions: state.conditions.take(),
            judgement: state.judgement.take(),
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
        judgement: None,
    }
}
