//! What the hub decides: who is admitted, when a step is complete, when and how the run ends.
//!
//! Pure: no sockets, no clock. What happens arrives by calls; what to do about it is taken out by [`Core::take`].

use super::circles::{Came, Circles};
use super::frame::HUB_LIMIT;
use super::inquest::Inquest;
use super::message::{Call, Circle, Hello, Message, Release, Sentence, Verb};
use super::roster::Roster;
use super::round::Round;
use crate::base::{Fault, Kind};
use crate::bootstrap::peer;
use crate::bootstrap::pulse::Reading;
use crate::bootstrap::{Ending, PeerInfo};
use std::time::Duration;

/// What all members together may give to a step: it must fit into one frame for each of them.
pub(super) const MOST_HELD: usize = HUB_LIMIT / 2;

/// What the hub must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Out {
    /// Tell all members.
    All(Message),
    /// Give the first member a release, and the others the same without what members brought.
    First(Release),
    /// Give the members of a group a release.
    Group(Vec<usize>, Release, bool),
    /// Tell all members that the run has ended, then the first.
    End(Ending),
    /// All have said goodbye: stop.
    Done,
}

/// The hub's state.
#[derive(Debug)]
pub(super) struct Core {
    /// Where the members meet, for messages.
    place: String,
    join_limit: Duration,
    seats: Vec<Option<PeerInfo>>,
    peers: Vec<PeerInfo>,
    left: Vec<bool>,
    first_to_leave: Option<usize>,
    stage: Stage,
    sequence: u64,
    round: Option<Round>,
    circles: Circles,
    outs: Vec<Out>,
}

#[derive(Debug)]
enum Stage {
    Joining { deadline: Duration },
    Running,
    Asking(Box<Inquest>),
    Over,
}

impl Core {
    /// A hub that waits for `members` processes, of which the first is `me`.
    pub(super) fn new(
        place: String,
        members: usize,
        me: PeerInfo,
        (join_limit, now): (Duration, Duration),
    ) -> Self {
        let mut core = Self {
            place,
            join_limit,
            seats: vec![None; members],
            peers: Vec::new(),
            left: vec![false; members],
            first_to_leave: None,
            stage: Stage::Joining {
                deadline: now.saturating_add(join_limit),
            },
            sequence: 0,
            round: None,
            circles: Circles::default(),
            outs: Vec::new(),
        };
        core.seats[0] = Some(me);
        core.welcome_if_all_met();
        core
    }

    /// What to do now.
    pub(super) fn take(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.outs)
    }

    /// Whether members are still awaited.
    pub(super) fn is_joining(&self) -> bool {
        matches!(self.stage, Stage::Joining { .. })
    }

    /// When [`Core::tick`] is due.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match &self.stage {
            Stage::Joining { deadline } => Some(*deadline),
            Stage::Running => {
                let whole = self.round.as_ref().map(|round| round.deadline);
                whole.into_iter().chain(self.circles.deadline()).min()
            }
            Stage::Asking(inquest) => Some(inquest.deadline()),
            Stage::Over => None,
        }
    }

    /// A process that proved to be ours wants in; gives its index.
    ///
    /// # Errors
    /// The fault to refuse it with; the run has then ended for all.
    pub(super) fn admit(&mut self, hello: &Hello) -> Result<usize, Fault> {
        match super::admit::check(&self.seats, &self.place, hello) {
            Ok(member) => {
                self.seats[member] = Some(hello.info.clone());
                self.welcome_if_all_met();
                Ok(member)
            }
            Err(fault) => {
                self.end_by(fault.clone());
                Err(fault)
            }
        }
    }

    fn welcome_if_all_met(&mut self) {
        if self.seats.iter().all(Option::is_some) {
            self.peers = self.seats.iter().flatten().cloned().collect();
            self.stage = Stage::Running;
            self.outs
                .push(Out::All(Message::Welcome(Roster::of(&self.peers))));
        }
    }

    /// A member has come to a step.
    pub(super) fn call(&mut self, member: usize, call: Call, now: Duration) {
        if !matches!(self.stage, Stage::Running) {
            return;
        }
        let members = self.seats.len();
        if call.circle != Circle::WHOLE {
            return self.group_call(member, call, now);
        }
        let round = self
            .round
            .get_or_insert_with(|| Round::open(members, member, &call, now));
        let same = round.name == call.name && round.verb == call.verb;
        if !same || call.sequence != self.sequence + 1 {
            let first = round.first;
            let text = format!(
                "{} came to `{}` while {} is at `{}`",
                peer::describe(&self.peers[member], member),
                call.name,
                peer::describe(&self.peers[first], first),
                round.name
            );
            return self.end_by(Fault::new(Kind::Disagree, text));
        }
        round.arrive(member, call.bytes);
        if round.held() > MOST_HELD {
            let text = format!(
                "`{}` is given more than {} MiB by all ranks together",
                round.name,
                MOST_HELD >> 20
            );
            return self.end_by(Fault::new(Kind::Unsupported, text));
        }
        if let Some(gone) = self.first_to_leave {
            let who = peer::describe(&self.peers[gone], gone);
            let text = format!("{who} had said goodbye when others came to `{}`", call.name);
            return self.end_by(Fault::new(Kind::Peer, text));
        }
        self.release_if_complete(now);
    }

    /// A member has come to a step of a group.
    fn group_call(&mut self, member: usize, call: Call, now: Duration) {
        let name = call.name.clone();
        let shared = peer::one_host(&self.peers).then_some(now);
        let who = peer::describe(&self.peers[member], member);
        match self
            .circles
            .call((member, self.seats.len()), call, (now, shared))
        {
            Came::Odd(why) => {
                let text = format!("{who} came to `{name}` of a group: {why}");
                self.end_by(Fault::new(Kind::Disagree, text));
            }
            Came::Done(done) => {
                let out = Out::Group(done.members, done.release, done.is_for_first);
                self.outs.push(out);
            }
            Came::Waits => {
                if let Some(gone) = self.first_to_leave {
                    let gone = peer::describe(&self.peers[gone], gone);
                    let text = format!("{gone} had said goodbye when others came to `{name}`");
                    self.end_by(Fault::new(Kind::Peer, text));
                }
            }
        }
    }

    fn release_if_complete(&mut self, now: Duration) {
        if let Some(round) = self.round.take_if(|round| round.is_complete()) {
            self.sequence += 1;
            let now = peer::one_host(&self.peers).then_some(now);
            let is_for_first = round.verb == Verb::Collect;
            let release = round.release(self.sequence, now);
            self.outs.push(if is_for_first {
                Out::First(release)
            } else {
                Out::All(Message::Release(release))
            });
        }
    }

    /// A member met a fault.
    pub(super) fn failed(&mut self, member: usize, fault: Fault, now: Duration) {
        let Some(inquest) = self.inquest(now) else {
            return self.end_by(fault);
        };
        if inquest.told(member, fault, now) {
            self.outs.push(Out::All(Message::Query));
        }
    }

    /// A member's connection closed; `phase` is what the first member is doing.
    pub(super) fn closed(&mut self, member: usize, phase: &str, now: Duration) {
        if self.left[member] || matches!(self.stage, Stage::Over) {
            return;
        }
        if let Some(inquest) = self.inquest(now) {
            return inquest.died(member, phase);
        }
        let who = self.seats[member].as_ref();
        let who = who.map_or_else(String::new, |seat| peer::describe(seat, member));
        let text = format!("{who} left without a word before all had met");
        self.end_by(Fault::new(Kind::Peer, text));
    }

    /// A member said goodbye.
    pub(super) fn left(&mut self, member: usize) {
        self.left[member] = true;
        self.first_to_leave.get_or_insert(member);
        let whole = self.round.as_ref().map(|round| round.name.as_str());
        let pending = whole.or_else(|| self.circles.pending());
        if let (Stage::Running, Some(name)) = (&self.stage, pending) {
            let text = format!(
                "{} said goodbye when others had come to `{name}`",
                peer::describe(&self.peers[member], member),
            );
            self.end_by(Fault::new(Kind::Peer, text));
        } else if self.left.iter().all(|left| *left) {
            self.stage = Stage::Over;
            self.outs.push(Out::Done);
        }
    }

    /// A member said what it is doing.
    pub(super) fn answered(&mut self, member: usize, readings: Vec<Reading>) {
        if let Stage::Asking(inquest) = &mut self.stage {
            inquest.answered(member, readings);
        }
    }

    /// Somebody beside the members is asked, and has until `until`.
    pub(super) fn await_witness(&mut self, until: Duration) {
        if let Stage::Asking(inquest) = &mut self.stage {
            inquest.await_witness(until);
        }
    }

    /// What that one said.
    pub(super) fn witnessed(&mut self, said: Vec<String>) {
        if let Stage::Asking(inquest) = &mut self.stage {
            inquest.witnessed(said);
        }
    }

    /// Looks at the deadlines.
    pub(super) fn tick(&mut self, now: Duration) {
        match &mut self.stage {
            Stage::Joining { deadline } if now >= *deadline => self.end_unmet(),
            Stage::Running => {
                if let Some(round) = self.round.take_if(|round| now >= round.deadline) {
                    let all = 0..self.seats.len();
                    let arrived: Vec<bool> = all.map(|one| round.has(one)).collect();
                    self.overdue(&round, &arrived, now);
                } else if let Some((round, arrived)) = self.circles.overdue(now, self.seats.len()) {
                    self.overdue(&round, &arrived, now);
                }
            }
            Stage::Asking(inquest) if inquest.is_over(now) => self.conclude(),
            _ => {}
        }
    }

    fn overdue(&mut self, round: &Round, arrived: &[bool], now: Duration) {
        if let Some(inquest) = self.inquest(now)
            && inquest.overdue((&round.name, round.limit), arrived, now)
        {
            self.outs.push(Out::All(Message::Query));
        }
    }

    /// The inquest, opened if the run was going on; `None` if it was not.
    fn inquest(&mut self, now: Duration) -> Option<&mut Inquest> {
        if matches!(self.stage, Stage::Running) {
            self.stage = Stage::Asking(Box::new(Inquest::open(self.peers.clone(), now)));
        }
        match &mut self.stage {
            Stage::Asking(inquest) => Some(inquest),
            _ => None,
        }
    }

    fn conclude(&mut self) {
        if let Stage::Asking(inquest) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.outs.push(Out::End(inquest.conclude()));
        }
    }

    fn end_unmet(&mut self) {
        let missing: Vec<usize> = (0..self.seats.len())
            .filter(|&one| self.seats[one].is_none())
            .collect();
        let me = self.seats[0].as_ref();
        let each = me.map_or(1, |me| me.ranks.max(1));
        let all = self.seats.len() * each as usize;
        let text = format!(
            "{} of {all} ranks met at {} within {} s; missing: {}",
            all - missing.len() * each as usize,
            self.place,
            self.join_limit.as_secs_f64(),
            peer::rank_list(each, &missing)
        );
        let fault = Fault::new(Kind::Timeout, text);
        let fault = match me {
            Some(me) => fault.at(peer::place(me, 0)),
            None => fault,
        };
        self.end_by(fault.hint(
            "look whether the missing ranks were started, and whether they can reach that address",
        ));
    }

    /// Ends the run at once: there is nothing to find out.
    pub(super) fn end_by(&mut self, fault: Fault) {
        if !matches!(self.stage, Stage::Over) {
            self.stage = Stage::Over;
            self.outs.push(Out::End(Ending::by(fault)));
        }
    }
}

/// What the members other than the first are told of an ending.
pub(super) fn sentence(ending: &Ending) -> Message {
    Message::Ended(Sentence {
        exit_code: ending.exit_code,
        fault: ending.fault.clone(),
    })
}
