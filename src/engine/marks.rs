//! The times of single iterations, by marks between them in the same timed loop (nccl-tests' `-I`).
//!
//! # Source
//! nccl-tests 2.19.6, `src/common.cu`, `recordEvents` and `getElapsedTimes`: n+1 marks that
//! neighbouring iterations share, or two for each where a barrier lies between them (`-z 3`).

use super::Engine;
use crate::backend::Events;
use crate::base::Fault;
use crate::record::Blocking;
use crate::record::Case;

impl Engine<'_> {
    /// Makes the marks of a timed loop, before it.
    pub(super) fn prepare_marks(&self, case: &Case) -> Result<(), Fault> {
        if self.rules.tweaks.per_iteration.is_none() {
            return Ok(());
        }
        let iterations = case.iterations as usize;
        let marks = if self.marks_are_paired() {
            2 * iterations
        } else {
            iterations + 1
        };
        self.events()?.prepare(marks)
    }

    /// Marks where iteration `iteration` begins, or, of the one behind the last, where all end.
    pub(super) fn mark_start(&self, iteration: u32) -> Result<(), Fault> {
        let index = iteration as usize;
        self.mark(if self.marks_are_paired() {
            2 * index
        } else {
            index
        })
    }

    /// Marks where iteration `iteration` ends, where the next does not begin there.
    pub(super) fn mark_end(&self, iteration: u32) -> Result<(), Fault> {
        self.mark(2 * iteration as usize + 1)
    }

    fn mark(&self, index: usize) -> Result<(), Fault> {
        if self.rules.tweaks.per_iteration.is_none() {
            return Ok(());
        }
        let events = self.events()?;
        (0..self.lanes.len()).try_for_each(|lane| events.mark(lane, index))
    }

    /// Each iteration's time for one operation in µs, on this thread's slowest rank; nothing where
    /// that was not asked for.
    pub(super) fn iteration_times(&mut self, case: &Case) -> Result<Vec<f64>, Fault> {
        if self.rules.tweaks.per_iteration.is_none() {
            return Ok(Vec::new());
        }
        // the last mark may lie behind what was waited for
        self.drain()?;
        let events = self.events()?;
        let paired = self.marks_are_paired();
        let slowest = |iteration: u32| {
            let index = iteration as usize;
            let first = if paired { 2 * index } else { index };
            let mut longest = 0f64;
            for lane in 0..self.lanes.len() {
                longest = longest.max(events.between_us(lane, first, first + 1)?);
            }
            Ok(longest / f64::from(case.ops_per_batch))
        };
        (0..case.iterations).map(slowest).collect()
    }

    fn marks_are_paired(&self) -> bool {
        self.rules.blocking == Blocking::BarrierOutside
    }

    fn events(&self) -> Result<&dyn Events, Fault> {
        self.session.events().ok_or_else(|| {
            Fault::unsupported("times of single iterations (`-I`) are not offered by this backend")
                .hint("run without `-I`")
        })
    }
}
