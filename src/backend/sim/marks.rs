//! Marks in the simulated lanes' queues: when all before them is done.

use super::SimSession;
use crate::backend::Events;
use crate::backend::extras::no_mark;
use crate::base::Fault;
use std::cell::RefCell;

/// The moments of each lane's marks in µs; none of a mark that was not passed.
#[derive(Debug, Default)]
pub(super) struct Marks(RefCell<Vec<Vec<Option<f64>>>>);

impl Events for SimSession {
    fn prepare(&self, count: usize) -> Result<(), Fault> {
        let mut marks = self.marks.0.borrow_mut();
        marks.resize(self.lanes.len(), Vec::new());
        for lane in marks.iter_mut().filter(|lane| lane.len() < count) {
            lane.resize(count, None);
        }
        Ok(())
    }

    fn mark(&self, lane: usize, index: usize) -> Result<(), Fault> {
        let moment = self.lanes[lane].busy_until_us().max(self.clock.now_us());
        let mut marks = self.marks.0.borrow_mut();
        let mark = marks.get_mut(lane).and_then(|lane| lane.get_mut(index));
        *mark.ok_or_else(|| no_mark(index))? = Some(moment);
        Ok(())
    }

    fn between_us(&self, lane: usize, from: usize, to: usize) -> Result<f64, Fault> {
        let marks = self.marks.0.borrow();
        let moment = |index: usize| {
            let mark = marks.get(lane).and_then(|lane| lane.get(index));
            mark.copied().flatten().ok_or_else(|| no_mark(index))
        };
        Ok(moment(to)? - moment(from)?)
    }
}
