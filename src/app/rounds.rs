//! All rows of a run in order: step by step, pass by pass, without those that an interrupted run has.

use super::narrator::Narrator;
use super::path::Ours;
use super::sweep::Stop;
use super::worker::Common;
use super::worker::Tally;
use crate::base::Fault;
use crate::bootstrap;
use crate::bootstrap::Bootstrap;
use crate::digest::Figures;
use crate::engine::Engine;
use crate::plan;
use crate::plan::Job;
use crate::plan::Pass;
use crate::plan::PlanSpec;
use crate::plan::Work;
use crate::record::Doubt;
use crate::record::Mark;
use serde::Deserialize;
use serde::Serialize;
use std::collections::HashSet;

/// What an interrupted run has already, as every thread must know it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Done {
    /// Its rows, counted over all passes.
    pub(super) rows: HashSet<u64>,
    /// What they came to.
    pub(super) figures: Figures,
}

/// One thread on its way through the rows.
struct Rounds<'r, 'e, 'n> {
    common: &'r Common<'r>,
    parts: &'r [PlanSpec],
    engine: &'r mut Engine<'e>,
    narrator: Option<&'r mut Narrator<'n>>,
    ours: &'r Ours<'r>,
    done: Done,
    /// Rows of all passes so far, those that are there already included.
    row: u64,
    warmed: HashSet<usize>,
    tally: Tally,
}

/// Measures all rows; without end where the only part says so.
///
/// # Errors
/// Whatever ends the run.
pub(super) fn run(
    common: &Common<'_>,
    parts: &[PlanSpec],
    engine: &mut Engine<'_>,
    (mut narrator, ours): (Option<&mut Narrator<'_>>, &Ours<'_>),
) -> Result<Tally, Fault> {
    let done = done(common, parts, ours.plane, narrator.as_deref_mut())?;
    let tally = Tally {
        figures: done.figures.clone(),
        ..Tally::default()
    };
    let mut rounds = Rounds {
        common,
        parts,
        engine,
        narrator,
        ours,
        done,
        row: 0,
        warmed: HashSet::new(),
        tally,
    };
    rounds.run()?;
    let mut tally = rounds.tally;
    tally.floor = common
        .floor_gbps
        .map(|asked| super::floor::held(asked, &tally.figures));
    Ok(tally)
}

/// What the first thread read of an interrupted run, on all threads.
fn done(
    common: &Common<'_>,
    parts: &[PlanSpec],
    plane: &dyn Bootstrap,
    narrator: Option<&mut Narrator<'_>>,
) -> Result<Done, Fault> {
    if !common.sweep.is_some_and(|sweep| sweep.resumes) {
        return Ok(Done::default());
    }
    let mine = match narrator {
        Some(narrator) => narrator.done(parts, &common.steps)?,
        None => Done::default(),
    };
    let step = bootstrap::Step {
        name: "the rows that are there already",
        limit: common.init_limit,
    };
    bootstrap::decode(&plane.broadcast(step, &bootstrap::encode(&mine)?)?)
}

impl Rounds<'_, '_, '_> {
    fn run(&mut self) -> Result<(), Fault> {
        let (parts, common) = (self.parts, self.common);
        let mut step = 0;
        for pass in plan::passes(parts, &common.steps) {
            if pass.step != step {
                if self.ends_at(step)? {
                    return Ok(());
                }
                step = pass.step;
            }
            self.pass(pass)?;
        }
        self.ends_at(step).map(drop)
    }

    /// Whether the sweep ends at a step, because it was not passed. The path that is required is one
    /// more step behind the first.
    fn ends_at(&mut self, step: usize) -> Result<bool, Fault> {
        let Some(sweep) = self.common.sweep else {
            return Ok(false);
        };
        let mut stop = match self.narrator.as_deref_mut() {
            Some(narrator) => narrator.judge_step(step),
            None => None,
        };
        if step == 0 && sweep.path_is_required && self.common.steps.len() > 1 {
            let missed = self
                .common
                .path
                .is_missed(self.ours, self.narrator.as_deref())?;
            stop = stop.or(missed.then(Stop::path));
        }
        let said = bootstrap::encode(&stop)?;
        let name = bootstrap::Step {
            name: "whether the step was passed",
            limit: self.common.init_limit,
        };
        self.tally.stop = bootstrap::decode(&self.ours.plane.broadcast(name, &said)?)?;
        Ok(self.tally.stop.is_some())
    }

    /// One pass; nothing at all happens in one whose rows are all there.
    fn pass(&mut self, pass: Pass) -> Result<(), Fault> {
        let part = &self.parts[pass.part];
        let jobs = plan::jobs(part, self.common.berths.world(), pass.cycle)?;
        let first = self.row;
        let rows = jobs.iter().filter(|job| plan::is_row(job)).count() as u64;
        self.row += rows;
        if (first..self.row).all(|row| self.done.rows.contains(&row)) {
            return Ok(());
        }
        if let Some(narrator) = self.narrator.as_deref_mut() {
            narrator.open_section(part)?;
        }
        self.warm_up(pass)?;
        self.measure(&jobs, first, pass)?;
        match self.narrator.as_deref_mut() {
            Some(narrator) => narrator.close_section(),
            None => Ok(()),
        }
    }

    /// What is warmed up before a part's first pass is done before the first pass that is run.
    fn warm_up(&mut self, pass: Pass) -> Result<(), Fault> {
        if pass.cycle == 0 || !self.warmed.insert(pass.part) {
            return Ok(());
        }
        let world = self.common.berths.world();
        for job in plan::jobs(&self.parts[pass.part], world, 0)? {
            if job.work == Work::WarmUp {
                self.engine.run(&job)?;
            }
        }
        Ok(())
    }

    fn measure(&mut self, jobs: &[Job], first: u64, pass: Pass) -> Result<(), Fault> {
        self.warmed.insert(pass.part);
        let mut row = first;
        for job in jobs {
            let is_row = plan::is_row(job);
            if is_row {
                row += 1;
            }
            if is_row && self.done.rows.contains(&(row - 1)) {
                continue;
            }
            self.run_job(job, pass)?;
        }
        Ok(())
    }

    fn run_job(&mut self, job: &Job, pass: Pass) -> Result<(), Fault> {
        let Some(measured) = self.engine.run(job)? else {
            return Ok(());
        };
        let mut row = super::narrator::row(job.case.clone(), measured, self.common);
        row.quality.marks.extend(self.clamped(job, pass));
        self.common.path.ran(&row, self.ours);
        self.tally.figures.add(&row);
        match self.narrator.as_deref_mut() {
            Some(narrator) => narrator.row(&row),
            None => Ok(()),
        }
    }
}

impl Rounds<'_, '_, '_> {
    /// The mark of the largest size that memory allowed, where larger ones were asked for.
    fn clamped(&self, job: &Job, pass: Pass) -> Option<Mark> {
        let wished = self.common.parts[pass.part].sweep.max;
        let part = &self.parts[pass.part];
        let is_last = plan::sizes(part).last() == Some(job.case.requested);
        (part.sweep.max < wished && is_last).then(|| Mark {
            doubt: Doubt::MemoryClamped,
            reason: format!("sizes up to {wished} were asked for, and memory allows no larger one"),
        })
    }
}

/// Which rows of all passes a run has, by what each of them measured.
///
/// # Errors
/// Those of [`plan::jobs`].
pub(super) fn rows_of(
    has: &HashSet<(crate::record::RowKey, u32)>,
    parts: &[PlanSpec],
    steps: &[usize],
    world: crate::base::World,
) -> Result<HashSet<u64>, Fault> {
    let (mut rows, mut row) = (HashSet::new(), 0);
    for pass in plan::passes(parts, steps) {
        for job in plan::jobs(&parts[pass.part], world, pass.cycle)? {
            if !plan::is_row(&job) {
                continue;
            }
            if has.contains(&(crate::record::RowKey::of(&job.case), pass.cycle)) {
                rows.insert(row);
            }
            row += 1;
        }
    }
    Ok(rows)
}
