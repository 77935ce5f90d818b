//! Finding out why a run cannot go on: collects what members report for a short while and puts it together.
//!
//! Pure: what is collected arrives by calls, and the clock's readings are arguments.

use crate::base::{Fault, Kind};
use crate::bootstrap::pulse::Reading;
use crate::bootstrap::{Ending, PeerInfo, most_severe};
use crate::bootstrap::{arrivals, peer};
use std::fmt::Write as _;
use std::time::Duration;

/// How long further faults are collected after the first.
const WINDOW: Duration = Duration::from_millis(300);

/// How long members have to say what they are doing.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// How many different faults are told one by one.
const MOST_TOLD: usize = 16;

/// What has been found out so far.
#[derive(Debug)]
pub(super) struct Inquest {
    peers: Vec<PeerInfo>,
    earliest: Duration,
    latest: Duration,
    faults: Vec<Group>,
    /// The first deadline that passed; others come of the same thing.
    late: Option<Fault>,
    asked: bool,
    answers: Vec<Option<Vec<Reading>>>,
    /// Members that have met a fault: what they meet after it comes of it.
    told: Vec<bool>,
    /// Members from which nothing more is to be expected.
    gone: Vec<bool>,
    witness: Witness,
}

/// Equal faults of several members.
#[derive(Debug)]
struct Group {
    fault: Fault,
    /// Who met it, which need not be who told it.
    members: Vec<usize>,
    death: bool,
}

/// Somebody beside the members who may know more.
#[derive(Debug)]
enum Witness {
    Nobody,
    Asked,
    Heard(Vec<String>),
}

impl Group {
    /// Whether members only say that another is gone.
    fn is_hearsay(&self) -> bool {
        !self.death && self.fault.kind == Kind::Peer
    }
}

impl Inquest {
    /// Nothing is known yet.
    pub(super) fn open(peers: Vec<PeerInfo>, now: Duration) -> Self {
        let members = peers.len();
        Self {
            peers,
            earliest: now + WINDOW,
            latest: now + WINDOW,
            faults: Vec::new(),
            late: None,
            asked: false,
            answers: vec![None; members],
            told: vec![false; members],
            gone: vec![false; members],
            witness: Witness::Nobody,
        }
    }

    /// A member met a fault. True if all must now be asked what they are doing.
    pub(super) fn told(&mut self, member: usize, fault: Fault, now: Duration) -> bool {
        if self.gone[member] || std::mem::replace(&mut self.told[member], true) {
            return false;
        }
        // a fault that was agreed on is told by all, and was met by the one whose place it carries
        let owner = match &fault.place {
            Some(place) => peer::member_of(&self.peers, place.rank).min(self.peers.len() - 1),
            None => member,
        };
        if fault.kind == Kind::Timeout {
            let fault = fault.at(peer::place(&self.peers[member], member));
            self.late.get_or_insert(fault);
            return self.ask(now);
        }
        self.add(owner, fault, false);
        false
    }

    /// A member's connection closed, while the first member was in `phase`.
    pub(super) fn died(&mut self, member: usize, phase: &str) {
        if std::mem::replace(&mut self.gone[member], true) || self.told[member] {
            return;
        }
        let who = peer::describe(&self.peers[member], member);
        let phase = if phase.is_empty() { "starting" } else { phase };
        let text = format!("{who} left without a word while {phase}");
        self.add(member, Fault::new(Kind::Peer, text), true);
    }

    /// Some did not come to step `name` in time. True if all must now be asked what they are doing.
    pub(super) fn overdue(
        &mut self,
        (name, limit): (&str, Duration),
        arrived: &[bool],
        now: Duration,
    ) -> bool {
        let absent: Vec<usize> = (0..arrived.len()).filter(|&one| !arrived[one]).collect();
        let ranks = self.peers[0].ranks;
        let each = ranks.max(1) as usize;
        let (all, came) = (arrived.len() * each, (arrived.len() - absent.len()) * each);
        let text = format!(
            "{came} of {all} ranks came to `{name}` within {} s; missing: {}",
            limit.as_secs_f64(),
            peer::ranks_with_hosts(&self.peers, &absent)
        );
        let fault = Fault::new(Kind::Timeout, text);
        self.late.get_or_insert(fault);
        self.ask(now)
    }

    /// A member said what its threads are doing.
    pub(super) fn answered(&mut self, member: usize, readings: Vec<Reading>) {
        self.answers[member] = Some(readings);
    }

    /// Somebody else is asked too, and has until `until`.
    pub(super) fn await_witness(&mut self, until: Duration) {
        self.witness = Witness::Asked;
        self.latest = self.latest.max(until);
    }

    /// What somebody else said.
    pub(super) fn witnessed(&mut self, said: Vec<String>) {
        self.witness = Witness::Heard(said);
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
        let nothing = self.nothing_to_wait_for();
        let mut members = self.told.iter().zip(&self.gone);
        now >= self.latest
            || (nothing && members.all(|(told, gone)| *told || *gone))
            || (nothing && now >= self.earliest)
    }

    fn nothing_to_wait_for(&self) -> bool {
        let mut members = self.gone.iter().zip(&self.answers);
        !self.asked
            || members.all(|(gone, answer)| *gone || answer.is_some())
                && !matches!(self.witness, Witness::Asked)
    }

    fn ask(&mut self, now: Duration) -> bool {
        self.latest = self.latest.max(now + ANSWER_LIMIT);
        !std::mem::replace(&mut self.asked, true)
    }

    fn add(&mut self, member: usize, fault: Fault, death: bool) {
        let same = |group: &&mut Group| {
            group.death && death
                || group.death == death
                    && group.fault.kind == fault.kind
                    && group.fault.message == fault.message
                    && group.fault.context == fault.context
        };
        match self.faults.iter_mut().find(same) {
            Some(group) if group.members.contains(&member) => {}
            Some(group) => group.members.push(member),
            None => self.faults.push(Group {
                fault,
                members: vec![member],
                death,
            }),
        }
    }

    /// What is known, as the run's ending.
    pub(super) fn conclude(mut self) -> Ending {
        let mut groups = std::mem::take(&mut self.faults);
        // a death is the cause of what others say about it, even if they say it first
        groups.sort_by_key(|group| !group.death);
        let late = self.late.take();
        if late.is_some() || groups.iter().any(|group| !group.is_hearsay()) {
            groups.retain(|group| !group.is_hearsay());
        }
        let mut faults: Vec<Fault> = groups
            .into_iter()
            .map(|group| self.complete(group))
            .collect();
        let mute = late.is_some_and(|late| self.complete_late(late, &mut faults));
        let unknown = || Fault::new(Kind::Peer, "the run was ended");
        Ending {
            exit_code: most_severe(faults.iter().map(|fault| fault.kind.exit_code())),
            report: Some(report(&faults)),
            fault: faults.into_iter().next().unwrap_or_else(unknown),
            mute,
        }
    }

    /// Adds to a fault who else met it.
    fn complete(&self, group: Group) -> Fault {
        let Group {
            mut fault,
            members,
            death,
        } = group;
        let (first, others) = (members[0], &members[1..]);
        let mut others = others.to_vec();
        others.sort_unstable();
        let named = peer::named_ranks(&self.peers, &others);
        if death {
            if !others.is_empty() {
                fault = fault.detail(format!("so did {named}"));
            }
            return fault.hint(
                "look at that process's own output, and at the kernel's log for an out-of-memory kill",
            );
        }
        if members.len() == self.peers.len() && !others.is_empty() {
            return met_by_all(fault);
        }
        fault = fault.at(peer::place(&self.peers[first], first));
        if others.is_empty() {
            return fault;
        }
        fault.detail(format!("also on {named}"))
    }

    /// Adds the fault of a deadline, with who is to blame and who was where; whether somebody gives no answer.
    fn complete_late(&mut self, late: Fault, faults: &mut Vec<Fault>) -> bool {
        let seats = arrivals::seats(&self.peers, &self.answers, &self.gone);
        let mut fault = arrivals::add_table(arrivals::accuse(late, &seats), &seats);
        if let Witness::Heard(said) = std::mem::replace(&mut self.witness, Witness::Nobody) {
            fault.details.extend(said);
        }
        faults.push(fault);
        arrivals::is_anyone_mute(&seats)
    }
}

/// A fault that every process met: what it says of the run as a whole needs no place.
fn met_by_all(fault: Fault) -> Fault {
    let of_the_run = matches!(fault.kind, Kind::Disagree | Kind::Launch | Kind::Usage);
    let fault = Fault {
        place: None,
        ..fault
    };
    if of_the_run {
        fault
    } else {
        fault.detail("on all ranks")
    }
}

fn report(faults: &[Fault]) -> String {
    let mut report = String::new();
    for (index, fault) in faults.iter().take(MOST_TOLD).enumerate() {
        let lead = if index == 0 { "" } else { "\n\nerror: " };
        // writing to a String cannot fail
        let _ = write!(report, "{lead}{fault}");
    }
    match faults.len().saturating_sub(MOST_TOLD) {
        0 => {}
        1 => report.push_str("\n\nand another fault"),
        more => {
            let _ = write!(report, "\n\nand {more} other faults");
        }
    }
    report
}

#[cfg(test)]
mod tests;
