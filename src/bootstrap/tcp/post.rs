//! How a process comes to steps, be it one of all members or of a group: what it says to the hub,
//! and how it waits for the answer.

use super::desk::{self, Desk};
use super::link::{Outgoing, packet};
use super::mailbox::{Letter, Mailbox};
use super::message::{Call, Circle, Message, Verb};
use super::{HUB_GRACE, MOST_AHEAD, MOST_BYTES};
use crate::base::{Clock, Fault, Kind};
use crate::bootstrap::{Ending, PeerInfo, Pulse, Step};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The way to the hub.
#[derive(Debug, Clone)]
pub(super) enum Uplink {
    Own(Arc<Mailbox>),
    Remote(Arc<Outgoing>, u64),
}

/// A process's desk, pulse and way to the hub.
#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) desk: Arc<Desk>,
    pub(super) pulse: Arc<Pulse>,
    pub(super) uplink: Uplink,
    pub(super) clock: Arc<dyn Clock>,
}

/// Among whom steps are counted, and how many have begun; held for the length of a step.
#[derive(Debug)]
pub(super) struct Steps {
    circle: Circle,
    begun: Mutex<u64>,
}

impl Steps {
    /// None yet.
    pub(super) fn of(circle: Circle) -> Self {
        Self {
            circle,
            begun: Mutex::new(0),
        }
    }

    /// How many have begun.
    pub(super) fn begun(&self) -> u64 {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Post {
    pub(super) fn say(&self, message: Message) {
        match &self.uplink {
            Uplink::Own(mailbox) => mailbox.put(Letter::Say(message)),
            Uplink::Remote(outgoing, job) => outgoing.send(packet(*job, &message)),
        }
    }

    /// Spins until the common start; not if it lies so far ahead that it is of another clock.
    fn await_start(&self, start: Duration) {
        let ahead = start.saturating_sub(self.clock.now());
        while ahead < MOST_AHEAD && self.clock.now() < start {
            std::thread::yield_now();
        }
    }

    /// Comes to a step and waits until all have.
    pub(super) fn step(
        &self,
        steps: &Steps,
        verb: Verb,
        step: Step<'_>,
        bytes: &[u8],
    ) -> Result<Vec<Vec<u8>>, Fault> {
        if bytes.len() > MOST_BYTES {
            let text = format!(
                "`{}` is given {} bytes, at most {MOST_BYTES} can be sent",
                step.name,
                bytes.len()
            );
            return Err(Fault::new(Kind::Unsupported, text));
        }
        let mut begun = steps.begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun += 1;
        self.say(Message::Call(Call {
            circle: steps.circle,
            sequence: *begun,
            verb,
            limit: step.limit,
            name: step.name.to_owned(),
            bytes: bytes.to_vec(),
        }));
        let limit = step.limit.saturating_add(HUB_GRACE);
        self.pulse.wait(true);
        let release = self.desk.await_release((steps.circle.group, *begun), limit);
        self.pulse.wait(false);
        let release = release?;
        let release = release.ok_or_else(|| desk::no_answer(step.name, limit))?;
        if let Some(start) = release.start {
            self.await_start(start);
        }
        Ok(release.parts)
    }

    /// Ends the run for all because of a fault that `me` met.
    pub(super) fn fail(&self, fault: Fault, (me, member): (&PeerInfo, usize)) -> Ending {
        if let Some(ending) = self.desk.finish.get() {
            return ending;
        }
        self.say(Message::Failed(fault.clone()));
        if let Some(ending) = self.desk.await_ending(super::END_LIMIT) {
            return ending;
        }
        // the hub cannot be reached: this process ends by itself
        let place = crate::bootstrap::peer::place(me, member);
        self.desk.finish.end(Ending::by(fault.at(place)))
    }
}

/// Holds against those who take part how many members' bytes have come.
pub(super) fn complete(
    members: usize,
    step: Step<'_>,
    all: Vec<Vec<u8>>,
) -> Result<Vec<Vec<u8>>, Fault> {
    if all.len() == members {
        return Ok(all);
    }
    let text = format!(
        "{} members' bytes came to `{}`, not {members}",
        all.len(),
        step.name
    );
    Err(Fault::new(Kind::Disagree, text))
}
