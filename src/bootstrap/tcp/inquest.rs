//! Finding out why a run cannot go on: collects what members report for a short while and puts it together.
//!
//! Pure: what is collected arrives by calls, and the clock's readings are arguments.

use crate::base::{Fault, Kind};
use crate::bootstrap::peer;
use crate::bootstrap::pulse::Reading;
use crate::bootstrap::{Ending, PeerInfo, most_severe};
use std::fmt::Write as _;
use std::time::Duration;

/// How long further faults are collected after the first.
const WINDOW: Duration = Duration::from_millis(300);

/// How long members have to say what they are doing.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// How many members, and how many different faults, are told one by one.
const MOST_TOLD: usize = 16;

/// What has been found out so far.
#[derive(Debug)]
pub(super) struct Inquest {
    earliest: Duration,
    latest: Duration,
    faults: Vec<Group>,
    asked: bool,
    answers: Vec<Option<Reading>>,
    /// Members from which nothing more is to be expected.
    silent: Vec<bool>,
}

/// Equal faults of several members.
#[derive(Debug)]
struct Group {
    fault: Fault,
    members: Vec<usize>,
    sort: Sort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Sort {
    /// A member said so.
    Told,
    /// A connection closed without a goodbye.
    Death,
    /// Some did not come to a step.
    Overdue { arrived: Vec<bool> },
}

impl Group {
    /// Whether members only say that another is gone.
    fn is_hearsay(&self) -> bool {
        self.sort == Sort::Told && self.fault.kind == Kind::Peer
    }
}

impl Inquest {
    /// Nothing is known yet.
    pub(super) fn open(members: usize, now: Duration) -> Self {
        Self {
            earliest: now + WINDOW,
            latest: now + WINDOW,
            faults: Vec::new(),
            asked: false,
            answers: vec![None; members],
            silent: vec![false; members],
        }
    }

    /// A member met a fault. True if all must now be asked what they are doing.
    pub(super) fn told(&mut self, member: usize, fault: Fault, now: Duration) -> bool {
        if std::mem::replace(&mut self.silent[member], true) {
            // its first fault says why; what comes after comes of it
            return false;
        }
        let overdue = fault.kind == Kind::Timeout;
        self.add(Sort::Told, member, fault);
        overdue && self.ask(now)
    }

    /// A member's connection closed, while the first member was in `phase`.
    pub(super) fn died(&mut self, peers: &[PeerInfo], member: usize, phase: &str) {
        if std::mem::replace(&mut self.silent[member], true) {
            return;
        }
        let who = peer::describe(&peers[member], member);
        let fault = Fault::new(Kind::Peer, format!("{who} left without a word"));
        let phase = if phase.is_empty() { "starting" } else { phase };
        let fault = Fault {
            message: format!("{} while {phase}", fault.message),
            ..fault
        };
        self.add(Sort::Death, member, fault);
    }

    /// Some did not come to step `name` in time. True if all must now be asked what they are doing.
    pub(super) fn overdue(
        &mut self,
        (name, limit): (&str, Duration),
        arrived: Vec<bool>,
        peers: &[PeerInfo],
        now: Duration,
    ) -> bool {
        let absent: Vec<usize> = (0..arrived.len()).filter(|&one| !arrived[one]).collect();
        let each = peers[0].ranks.max(1) as usize;
        let (all, came) = (arrived.len() * each, (arrived.len() - absent.len()) * each);
        let text = format!(
            "{came} of {all} ranks came to `{name}` within {} s; missing: {}",
            limit.as_secs_f64(),
            peer::rank_list(peers[0].ranks, &absent)
        );
        let fault = Fault::new(Kind::Timeout, text).at(peer::place(&peers[0], 0));
        self.add(Sort::Overdue { arrived }, 0, fault);
        self.ask(now)
    }

    /// A member said what it is doing.
    pub(super) fn answered(&mut self, member: usize, reading: Reading) {
        self.answers[member] = Some(reading);
    }

    /// When to look at it again.
    pub(super) fn deadline(&self) -> Duration {
        if self.nothing_to_wait_for() {
            self.earliest
        } else {
            self.latest
        }
    }

    /// Whether there is nothing more to be found out.
    pub(super) fn is_over(&self, now: Duration) -> bool {
        now >= self.latest
            || self.silent.iter().all(|silent| *silent)
            || (now >= self.earliest && self.nothing_to_wait_for())
    }

    fn nothing_to_wait_for(&self) -> bool {
        let mut members = self.silent.iter().zip(&self.answers);
        !self.asked || members.all(|(silent, answer)| *silent || answer.is_some())
    }

    fn ask(&mut self, now: Duration) -> bool {
        self.latest = self.latest.max(now + ANSWER_LIMIT);
        !std::mem::replace(&mut self.asked, true)
    }

    fn add(&mut self, sort: Sort, member: usize, fault: Fault) {
        let same = |group: &&mut Group| {
            group.sort == sort
                && group.fault.kind == fault.kind
                && group.fault.message == fault.message
                && group.fault.context == fault.context
                || group.sort == Sort::Death && sort == Sort::Death
        };
        match self.faults.iter_mut().find(same) {
            Some(group) => group.members.push(member),
            None => self.faults.push(Group {
                fault,
                members: vec![member],
                sort,
            }),
        }
    }

    /// What is known, as the run's ending.
    pub(super) fn conclude(mut self, peers: &[PeerInfo]) -> Ending {
        let mut groups = std::mem::take(&mut self.faults);
        let exit_code = most_severe(groups.iter().map(|group| group.fault.kind.exit_code()));
        // a death is the cause of what others say about it, even if they say it first
        groups.sort_by_key(|group| group.sort != Sort::Death);
        if groups.iter().any(|group| !group.is_hearsay()) {
            groups.retain(|group| !group.is_hearsay());
        }
        let faults: Vec<Fault> = groups
            .into_iter()
            .map(|group| self.complete(group, peers))
            .collect();
        let mut report = String::new();
        for (index, fault) in faults.iter().take(MOST_TOLD).enumerate() {
            let lead = if index == 0 { "" } else { "\n\nerror: " };
            // writing to a String cannot fail
            let _ = write!(report, "{lead}{fault}");
        }
        if faults.len() > MOST_TOLD {
            let _ = write!(report, "\n\nand {} other faults", faults.len() - MOST_TOLD);
        }
        let unknown = || Fault::new(Kind::Peer, "the run was ended");
        Ending {
            exit_code,
            report: Some(report),
            fault: faults.into_iter().next().unwrap_or_else(unknown),
        }
    }

    /// Adds to a fault who else met it and what the others are doing.
    fn complete(&self, group: Group, peers: &[PeerInfo]) -> Fault {
        let Group {
            mut fault,
            mut members,
            sort,
        } = group;
        let others = members.split_off(1);
        let mut others: Vec<usize> = others
            .into_iter()
            .filter(|one| *one != members[0])
            .collect();
        others.sort_unstable();
        others.dedup();
        if sort == Sort::Told {
            fault = fault.at(peer::place(&peers[members[0]], members[0]));
        }
        if !others.is_empty() {
            let list = peer::ranks_with_hosts(peers, &others);
            fault = fault.detail(match sort {
                Sort::Death => format!("so did ranks {list}"),
                _ => format!("also on ranks {list}"),
            });
        }
        match sort {
            Sort::Death => fault.hint(
                "look at that process's own output, and at the kernel's log for an out-of-memory kill",
            ),
            Sort::Overdue { arrived } => self.add_table(fault, peers, Some(&arrived)),
            Sort::Told if fault.kind == Kind::Timeout => self.add_table(fault, peers, None),
            Sort::Told => fault,
        }
    }

    /// Adds a line for each member that matters: those without an answer first, then those that did not come.
    fn add_table(&self, mut fault: Fault, peers: &[PeerInfo], arrived: Option<&[bool]>) -> Fault {
        let all = 0..peers.len();
        let came = |one: usize| arrived.map_or(self.silent[one], |arrived| arrived[one]);
        let mute = |one: usize| self.answers[one].is_none() && !self.silent[one];
        let mut lines: Vec<String> = Vec::new();
        for one in all.clone().filter(|&one| mute(one)) {
            let who = peer::describe(&peers[one], one);
            lines.push(format!("{who}: no answer: stopped or hung"));
        }
        for one in all.clone().filter(|&one| !mute(one) && !came(one)) {
            let who = peer::describe(&peers[one], one);
            if let Some(reading) = &self.answers[one] {
                lines.push(format!("{who}: {}", reading.describe()));
            }
        }
        let more = lines.len().saturating_sub(MOST_TOLD);
        for line in lines.into_iter().take(MOST_TOLD) {
            fault = fault.detail(line);
        }
        if more > 0 {
            fault = fault.detail(format!("and {more} more"));
        }
        let there: Vec<usize> = all.filter(|&one| came(one)).collect();
        match arrived {
            Some(_) if !there.is_empty() => fault.detail(format!(
                "arrived: {}",
                peer::ranks_with_hosts(peers, &there)
            )),
            _ => fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::testing;

    const NOW: Duration = Duration::from_secs(100);

    fn peers(members: u32) -> Vec<PeerInfo> {
        (0..members).map(testing::peer).collect()
    }

    #[test]
    fn equal_faults_of_several_members_are_told_once_with_the_list_of_ranks() {
        let mut inquest = Inquest::open(16, NOW);
        for member in [9, 8, 10, 11, 12, 13] {
            let fault = Fault::new(Kind::Call, "ncclCommInitRank failed").hint("read the log");
            assert!(!inquest.told(member, fault, NOW));
        }
        assert!(!inquest.is_over(NOW));
        assert!(inquest.is_over(NOW + WINDOW));
        let ending = inquest.conclude(&peers(16));
        assert_eq!(ending.exit_code, 3);
        assert_eq!(
            ending.report.unwrap(),
            "rank 9 (node1): ncclCommInitRank failed\n  also on ranks 8, 10–13 (node1)\n\n\
             hint: read the log"
        );
    }

    #[test]
    fn of_a_death_and_a_failed_call_both_are_told_the_death_first() {
        let mut inquest = Inquest::open(3, NOW);
        inquest.told(0, Fault::new(Kind::Call, "remote error"), NOW);
        inquest.died(&peers(3), 2, "measuring 1 MiB");
        let ending = inquest.conclude(&peers(3));
        assert_eq!(ending.exit_code, 4);
        let report = ending.report.unwrap();
        let first = "rank 2 (node1, pid 1002) left without a word while measuring 1 MiB";
        assert!(report.starts_with(first), "{report}");
        assert!(
            report.ends_with("\n\nerror: rank 0 (node1): remote error"),
            "{report}"
        );
    }

    #[test]
    fn what_members_say_of_a_member_that_is_gone_and_say_again_is_not_told_beside_the_cause() {
        let mut inquest = Inquest::open(3, NOW);
        inquest.told(0, Fault::new(Kind::Peer, "rank 2 is gone"), NOW);
        inquest.told(1, Fault::new(Kind::Call, "no memory"), NOW);
        inquest.told(1, Fault::new(Kind::Call, "and another thing"), NOW);
        let report = inquest.conclude(&peers(3)).report.unwrap();
        assert_eq!(report, "rank 1 (node1): no memory");
        let mut alone = Inquest::open(3, NOW);
        alone.told(0, Fault::new(Kind::Peer, "rank 2 is gone"), NOW);
        let report = alone.conclude(&peers(3)).report.unwrap();
        assert_eq!(report, "rank 0 (node1): rank 2 is gone");
    }

    #[test]
    fn on_a_deadline_who_gives_no_answer_is_named_first_then_who_did_not_come() {
        let mut inquest = Inquest::open(5, NOW);
        let arrived = vec![true, false, false, true, true];
        assert!(inquest.overdue(("plan", Duration::from_mins(1)), arrived, &peers(5), NOW));
        let reading = |phase: &str| Reading {
            phase: phase.to_owned(),
            issued: 120,
            finished: 100,
        };
        for member in [0, 1, 3, 4] {
            inquest.answered(member, reading("measuring 1 MiB"));
        }
        assert!(!inquest.is_over(NOW + WINDOW));
        assert!(inquest.is_over(NOW + ANSWER_LIMIT));
        assert_eq!(
            inquest.conclude(&peers(5)).report.unwrap(),
            "rank 0 (node1): 3 of 5 ranks came to `plan` within 60 s; missing: 1, 2\n  \
             rank 2 (node1, pid 1002): no answer: stopped or hung\n  \
             rank 1 (node1, pid 1001): measuring 1 MiB, 120 issued, 100 finished\n  \
             arrived: 0, 3, 4 (node1)"
        );
    }

    #[test]
    fn when_all_have_answered_nobody_waits_for_the_answer_limit() {
        let mut inquest = Inquest::open(2, NOW);
        assert!(inquest.overdue(("x", NOW), vec![true, false], &peers(2), NOW));
        inquest.answered(0, Reading::default());
        inquest.answered(1, Reading::default());
        assert_eq!(inquest.deadline(), NOW + WINDOW);
        assert!(inquest.is_over(NOW + WINDOW));
    }
}
