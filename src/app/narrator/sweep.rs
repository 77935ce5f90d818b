//! What the teller does for a sweep only: its file in the store, an interrupted run, a table for each part.

use super::Narrator;
use crate::app::rounds::Done;
use crate::app::say;
use crate::app::sweep;
use crate::app::sweep::Earlier;
use crate::app::sweep::Stop;
use crate::app::sweep::judge;
use crate::base::Fault;
use crate::plan;
use crate::plan::PlanSpec;
use crate::record::Header;
use crate::record::SweepRecord;

impl Narrator<'_> {
    /// Judges a step that has come to its end; why not to go on, if there is a reason.
    pub(in crate::app) fn judge_step(&mut self, step: usize) -> Option<Stop> {
        let wish = self.facts.sweep?;
        let fresh = self.rows.len().saturating_sub(self.rows_judged);
        let rows = &self.rows[self.rows_judged..];
        let stop = judge::step(&wish.config, step, rows);
        if wish.config.steps.len() > 1 && fresh > 0 {
            let name = &wish.config.steps[step].name;
            let word = if stop.is_some() {
                "not passed"
            } else {
                "passed"
            };
            say(&format!("step `{name}`: {word}"));
        }
        self.rows_judged = self.rows.len();
        stop
    }

    /// Judges the whole sweep, unless a step has ended it, and tells what came of it; gives the exit
    /// code that this calls for.
    pub(in crate::app) fn judge(&mut self, stop: Option<&Stop>, code: u8) -> u8 {
        let (Some(wish), Some(header)) = (self.facts.sweep, &self.header) else {
            return 0;
        };
        let run = self.file.as_deref().and_then(std::path::Path::file_stem);
        let run = run.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let judged = match stop {
            Some(stop) => judge::stopped(stop),
            None => judge::whole(wish, header, &run, &self.rows, code)
                .unwrap_or_else(|fault| judge::unjudged(&fault)),
        };
        for line in &judged.judgement.why {
            say(line);
        }
        say(&format!(
            "sweep `{}`: {}",
            wish.config.name, judged.sentence
        ));
        self.book.judged(judged.judgement);
        judged.code
    }

    /// Starts the run's file, anew or behind an interrupted run's rows.
    pub(super) fn write(&mut self, header: Header) -> Result<(), Fault> {
        if let Some(earlier) = &self.earlier {
            earlier.require_same(&header)?;
            let (path, file) = earlier.rewrite(&header)?;
            self.book.begin(&header)?;
            self.book.keep(&path, file);
            self.file = Some(path);
        } else {
            if let Some(wish) = self.facts.sweep {
                let (path, file) = sweep::create(&wish.store, &header)?;
                say(&format!("note: the run is kept in `{}`", path.display()));
                self.book.keep(&path, file);
                self.file = Some(path);
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
        judge::require_baseline(sweep)?;
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
    pub(in crate::app) fn done(
        &mut self,
        parts: &[PlanSpec],
        steps: &[usize],
    ) -> Result<Done, Fault> {
        let Some(earlier) = &self.earlier else {
            return Ok(Done::default());
        };
        let done = Done {
            rows: earlier.rows(parts, steps, self.facts.fleet.world())?,
            figures: earlier.figures(),
        };
        self.book.count(&done.figures);
        self.rows = earlier.kept().to_vec();
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
