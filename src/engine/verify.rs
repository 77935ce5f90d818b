//! Checking: fresh data, poisoned output, one operation, compare; never inside a timed window.

use super::Engine;
use crate::base::Fault;
use crate::base::Placement;
use crate::base::Rank;
use crate::base::Span;
use crate::base::pattern::Recipe;
use crate::base::pattern::Source;
use crate::base::pattern::Stretch;
use crate::plan::Job;
use crate::record::BadElement;
use crate::record::Case;
use crate::record::InPlace;
use crate::record::Mismatches;

impl Engine<'_> {
    /// Writes each lane's input, `slots` times over, so that every operation of a timed loop has real data.
    pub(super) fn fill(&mut self, job: &Job, recipe: &Recipe, slots: u64) -> Result<(), Fault> {
        for index in 0..self.lanes.len() {
            let first = self.lanes[index].call(&job.case, 0).send;
            let shift = u64::from(self.rules.tweaks.unalign_count) * job.case.dtype.size();
            let room = self.capacity.0 + shift - first.offset;
            let len = room.min(job.case.size.0 * (slots - 1) + first.len);
            self.session.fill(index, Span { len, ..first }, recipe)?;
        }
        Ok(())
    }

    /// The rounds of checking that a case asks for; `None` if it asks for none or cannot be checked.
    pub(super) fn check(&mut self, job: &Job) -> Result<Option<Mismatches>, Fault> {
        let defined = job.case.placement == Placement::OutOfPlace || job.case.checkable;
        if job.case.checks == 0 || !defined {
            return Ok(None);
        }
        self.enter(&job.case, "checking");
        let mut found = None;
        for _ in 0..job.case.checks {
            let round = self.check_once(job)?;
            if let Some(round) = round {
                let all: &mut Mismatches = found.get_or_insert_default();
                all.add(round);
                if all.wrong > 0 {
                    break;
                }
            }
        }
        Ok(found)
    }

    fn check_once(&mut self, job: &Job) -> Result<Option<Mismatches>, Fault> {
        let recipe = self.draw(job);
        for index in 0..self.lanes.len() {
            if output_may_be_poisoned(&job.case) {
                let output = self.lanes[index].call(&job.case, 0).recv;
                self.session.poison(index, output, &recipe)?;
            }
        }
        self.fill(job, &recipe, 1)?;
        self.run_once(job)?;
        self.compare(job, &recipe)
    }

    fn compare(&mut self, job: &Job, recipe: &Recipe) -> Result<Option<Mismatches>, Fault> {
        let mut found = None;
        for index in 0..self.lanes.len() {
            let lane = &self.lanes[index];
            let root = job.case.root.map(Rank);
            let expect = job.what.expected(lane.rank, &job.layout, self.world, root);
            let expect = in_place(job, lane.rank, expect);
            let output = lane.call(&job.case, 0).recv;
            if let Some(mut wrong) = self.session.verify(index, output, recipe, &expect)? {
                self.sign(index, &mut wrong.first);
                found.get_or_insert_with(Mismatches::default).add(wrong);
            }
        }
        Ok(found)
    }

    /// Says whose output the wrong elements are.
    fn sign(&self, index: usize, bad: &mut [BadElement]) {
        let lane = &self.lanes[index];
        for element in bad {
            element.rank = lane.rank.0;
            element.host.clone_from(&lane.host);
            element.gpu = lane.gpu;
        }
    }
}

/// Where nothing is written in place, a rank's own input must still lie in its output; of a reduction's
/// input no comparison is offered on a GPU, so that nothing is promised of it.
fn in_place(job: &Job, rank: Rank, expect: Vec<Stretch>) -> Vec<Stretch> {
    if job.case.placement == Placement::OutOfPlace {
        return expect;
    }
    let rank_index = u64::from(rank.0);
    let (first, sent) = match job.case.in_place {
        InPlace::SendInRecv { stride } => (rank_index * stride, job.case.send_count),
        InPlace::Same | InPlace::RecvInSend { .. } => (0, job.case.recv_count),
    };
    let own = |from: u64, to: u64| Stretch {
        len: to - from,
        source: if job.reduces() {
            Source::Unspecified
        } else {
            let at = from - first;
            Source::Copied { rank, at }
        },
    };
    let split = |stretch: Stretch| {
        let Source::Untouched { at } = stretch.source else {
            return vec![stretch];
        };
        let end = at + stretch.len;
        let (from, to) = (first.clamp(at, end), (first + sent).clamp(at, end));
        let rest = |at: u64, end: u64| Stretch {
            len: end - at,
            source: Source::Untouched { at },
        };
        vec![rest(at, from), own(from, to), rest(to, end)]
    };
    let all = expect.into_iter().flat_map(split);
    all.filter(|stretch| stretch.len > 0).collect()
}

/// An in-place output that is part of the input cannot be poisoned after the input is made, and
/// poisoning before it is of use only where the output reaches beyond the input.
fn output_may_be_poisoned(case: &Case) -> bool {
    case.placement == Placement::OutOfPlace || matches!(case.in_place, InPlace::SendInRecv { .. })
}
