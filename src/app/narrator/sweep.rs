//! What the teller does for a sweep only: its file in the store, an interrupted run, a table for each part.

use super::Narrator;
use crate::app::rounds::Done;
use crate::app::say;
use crate::app::sweep;
use crate::app::sweep::Earlier;
use crate::base::Fault;
use crate::plan;
use crate::plan::PlanSpec;
use crate::record::Header;
use crate::record::SweepRecord;

impl Narrator<'_> {
    /// Starts the run's file, anew or behind an interrupted run's rows.
    pub(super) fn write(&mut self, header: Header) -> Result<(), Fault> {
        if let Some(earlier) = &self.earlier {
            earlier.require_same(&header)?;
            let (path, file) = earlier.rewrite(&header)?;
            self.book.begin(&header)?;
            self.book.keep(&path, file);
        } else {
            if let Some(sweep) = self.facts.sweep {
                let name = &sweep.config.name;
                let (path, file) = sweep::create(&sweep.store, name, &header.started)?;
                say(&format!("note: the run is kept in `{}`", path.display()));
                self.book.keep(&path, file);
            }
            self.book.begin(&header)?;
        }
        self.header = Some(header);
        Ok(())
    }

    pub(super) fn find_earlier(&mut self) -> Result<(), Fault> {
        let Some(sweep) = self.facts.sweep else {
            return Ok(());
        };
        self.earlier = Earlier::find(sweep, &self.wished_digest())?;
        match &self.earlier {
            Some(earlier) => self.facts.notes.push(earlier.note()),
            None if sweep.resume.is_some() => {
                let nothing = "there is no interrupted run to go on with; this one starts anew";
                self.facts.notes.push(nothing.to_owned());
            }
            None => {}
        }
        Ok(())
    }

    /// What identifies the sweep whatever memory allows.
    fn wished_digest(&self) -> String {
        plan::digest_of(&self.facts.wished, self.facts.fleet.world())
    }

    /// What the interrupted run has of these parts.
    pub(in crate::app) fn done(&self, parts: &[PlanSpec], steps: &[usize]) -> Result<Done, Fault> {
        let Some(earlier) = &self.earlier else {
            return Ok(Done::default());
        };
        let done = Done {
            rows: earlier.rows(parts, steps, self.facts.fleet.world())?,
            figures: earlier.figures(),
        };
        self.book.count(&done.figures);
        Ok(done)
    }

    /// Begins a table of its own for a part, where there are several.
    pub(in crate::app) fn open_section(&self, part: &PlanSpec) -> Result<(), Fault> {
        let Some(header) = self.header.as_ref().filter(|_| self.facts.sweep.is_some()) else {
            return Ok(());
        };
        self.book.open_section(&Header {
            collective: part.collective.name().to_owned(),
            settings: plan::settings(part, self.facts.timestamps),
            ..header.clone()
        })
    }

    /// Ends it.
    pub(in crate::app) fn close_section(&self) -> Result<(), Fault> {
        if self.facts.sweep.is_none() {
            return Ok(());
        }
        self.book.close_section()
    }

    /// What the header says of the sweep.
    pub(super) fn sweep_record(&self) -> Option<SweepRecord> {
        let config = &self.facts.sweep?.config;
        Some(SweepRecord {
            name: config.name.clone(),
            digest: self.wished_digest(),
            limits: config.limits,
            gate: config.floors.clone(),
            resumed: self
                .earlier
                .as_ref()
                .map_or_else(Vec::new, Earlier::records),
        })
    }
}
