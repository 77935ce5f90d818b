//! Some of the processes as a plane of their own, over the same connections.

use super::choice;
use super::message::{Circle, Verb};
use super::post::{Post, Steps, complete};
use crate::base::{Fault, Kind};
use crate::bootstrap::{Bootstrap, Choose, Ending, Groups, PeerInfo, Pulse, Step};

/// A process's member of a group.
#[derive(Debug)]
pub(super) struct TcpGroup {
    post: Post,
    steps: Steps,
    index: usize,
    size: usize,
    /// This process, and its place among all.
    me: (PeerInfo, usize),
}

/// Who is in the group of a colour, as all have said it: the members, in the order of their keys.
pub(super) fn of_color(said: &[(u64, u64)], color: u64) -> Vec<usize> {
    let of_color = said.iter().enumerate().filter(|(_, said)| said.0 == color);
    let mut members: Vec<(u64, usize)> = of_color.map(|(one, said)| (said.1, one)).collect();
    members.sort_unstable();
    members.into_iter().map(|(_, member)| member).collect()
}

/// What the group of a colour is called among all that step `sequence` made.
pub(super) fn name(said: &[(u64, u64)], color: u64, sequence: u64) -> u64 {
    let mut colors: Vec<u64> = said.iter().map(|said| said.0).collect();
    colors.sort_unstable();
    colors.dedup();
    let index = colors.iter().position(|one| *one == color).unwrap_or(0);
    // there are fewer members, and so colours, than that
    (sequence << 24) + index as u64 + 1
}

impl TcpGroup {
    /// The group called `group`, in which `me` has place `index` of `size`.
    ///
    /// # Errors
    /// `Unsupported` for more members than can be counted.
    pub(super) fn new(
        post: Post,
        group: u64,
        (index, size): (usize, usize),
        me: (PeerInfo, usize),
    ) -> Result<Self, Fault> {
        let small = |number: usize| {
            u32::try_from(number).map_err(|_| Fault::new(Kind::Unsupported, "too many members"))
        };
        let circle = Circle {
            group,
            index: small(index)?,
            size: small(size)?,
        };
        Ok(Self {
            post,
            steps: Steps::of(circle),
            index,
            size,
            me,
        })
    }

    fn step(&self, verb: Verb, step: Step<'_>, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        self.post.step(&self.steps, verb, step, bytes)
    }
}

impl Groups for TcpGroup {}

impl Bootstrap for TcpGroup {
    fn member(&self) -> usize {
        self.index
    }

    fn members(&self) -> usize {
        self.size
    }

    fn all_gather(&self, step: Step<'_>, mine: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let all = self.step(Verb::Gather, step, mine)?;
        complete(self.size, step, all)
    }

    fn barrier(&self, step: Step<'_>) -> Result<(), Fault> {
        self.step(Verb::Barrier, step, &[]).map(drop)
    }

    fn start_line(&self, step: Step<'_>) -> Result<(), Fault> {
        self.step(Verb::StartLine, step, &[]).map(drop)
    }

    fn decide(&self, step: Step<'_>, mine: &[u8], choose: Choose<'_>) -> Result<Vec<u8>, Fault> {
        let all = self.step(Verb::Collect, step, mine)?;
        let chosen = match self.index {
            0 => choice::write(complete(self.size, step, all).and_then(|all| choose(&all)))?,
            _ => Vec::new(),
        };
        choice::read(&self.step(Verb::Broadcast, step, &chosen)?)
    }

    fn pulse(&self) -> &Pulse {
        &self.post.pulse
    }

    fn ended(&self) -> Option<Fault> {
        self.post.desk.finish.fault()
    }

    fn fail(&self, fault: Fault) -> Ending {
        self.post.fail(fault, (&self.me.0, self.me.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_ordered_by_key_and_then_by_member() {
        let said = [(7, 1), (3, 0), (7, 0), (7, 1)];
        assert_eq!(of_color(&said, 7), [2, 0, 3]);
        assert_eq!(of_color(&said, 3), [1]);
    }

    #[test]
    fn groups_of_one_step_and_of_others_have_names_of_their_own() {
        let said = [(7, 0), (u64::MAX, 0), (0, 0)];
        let mut names: Vec<u64> = [1, 2]
            .into_iter()
            .flat_map(|step| said.map(|(color, _)| name(&said, color, step)))
            .collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 6);
        assert!(!names.contains(&0), "that is the name of all");
    }
}
