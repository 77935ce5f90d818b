//! The control plane over TCP: the first process listens, the others connect, one service thread each.
//!
//! The service threads answer for processes whose engine is stuck. What travels is small: digests,
//! samples, faults. It is a star; nothing here is inside a timed window.

mod admit;
mod auth;
mod choice;
mod circles;
mod core;
mod desk;
mod frame;
pub mod fuzz;
mod group;
#[cfg(test)]
mod group_tests;
#[cfg(test)]
mod hostile_tests;
mod hub;
mod inquest;
mod line;
mod link;
pub mod listen;
mod mailbox;
mod member;
mod message;
mod parts;
mod post;
mod roster;
mod round;
#[cfg(test)]
mod scale_tests;
pub mod swarm;
#[cfg(test)]
mod tests;

pub use auth::Secret;

use super::{
    Bootstrap, Choose, EndHook, Ending, Groups, PeerInfo, ProcessPlane, Pulse, Step, Witness,
};
use crate::base::{Clock, Fault, Kind};
use desk::Desk;
use mailbox::Letter;
use message::{Circle, Message, Verb};
use post::{Post, Steps, Uplink};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// What the hub may need beyond a step's limit: to ask who is missing, and to say so.
const HUB_GRACE: Duration = Duration::from_secs(5);

/// How long the end of a run may take: collecting faults, answers, and telling everybody.
const END_LIMIT: Duration = Duration::from_secs(6);

/// How long a goodbye may take: the first process's, and the others'.
const LEAVE_LIMIT: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(1));

/// No common start lies further ahead.
const MOST_AHEAD: Duration = Duration::from_millis(20);

/// The most bytes that one member may give to a step.
const MOST_BYTES: usize = frame::MEMBER_LIMIT - (1 << 10);

/// How to join.
#[derive(Debug, Clone)]
pub struct Joining {
    /// Which process this is.
    pub member: u32,
    /// How many there are.
    pub members: u32,
    /// Who this process is.
    pub me: PeerInfo,
    /// The run's name: what belongs to another is kept out.
    pub job: String,
    /// What only this run's processes know.
    pub secret: Secret,
    /// How long all may take to meet.
    pub limit: Duration,
    /// The run's clock.
    pub clock: Arc<dyn Clock>,
}

/// A process's member of the plane.
#[derive(Debug)]
pub struct TcpPlane {
    member: usize,
    peers: Vec<PeerInfo>,
    place: String,
    post: Post,
    steps: Steps,
}

/// Joins as the first process, on sockets that listen at `place`, and waits for all others.
///
/// # Errors
/// `Timeout` naming who did not come, `Launch` or `Disagree` for a wrong launch, `Call` if the system
/// has no thread or descriptor left.
pub fn host(
    joining: &Joining,
    listeners: Vec<TcpListener>,
    place: String,
) -> Result<TcpPlane, Ending> {
    listen::check_descriptors(joining.members, listen::raise_descriptor_limit())?;
    let (desk, pulse) = (
        Arc::new(Desk::new(Arc::clone(&joining.clock))),
        Arc::default(),
    );
    let members = usize::try_from(joining.members).unwrap_or(usize::MAX);
    let times = (joining.limit, joining.clock.now());
    let ready = |listener: TcpListener| {
        listen::deepen(&listener)?;
        listener.set_nonblocking(true)?;
        Ok(mio::net::TcpListener::from_std(listener))
    };
    let listeners = listeners.into_iter().map(ready);
    let (hub, mailbox) = listeners
        .collect::<std::io::Result<Vec<_>>>()
        .and_then(|listeners| {
            hub::Hub::new(parts::Parts {
                listeners,
                core: core::Core::new(place.clone(), members, joining.me.clone(), times),
                members,
                desk: Arc::clone(&desk),
                pulse: Arc::clone(&pulse),
                clock: Arc::clone(&joining.clock),
                job: auth::job_id(&joining.job),
                secret: joining.secret.clone(),
            })
        })
        .map_err(|error| system_fault(&error))?;
    start(move || hub.run())?;
    TcpPlane::settle(joining, place, (desk, pulse), Uplink::Own(mailbox))
}

/// Joins as another process: looks for the first at `candidates`, in order, again and again.
///
/// # Errors
/// As [`host`]; `Timeout` with each address's last words if the first was not found.
pub fn connect(joining: &Joining, candidates: &[SocketAddr]) -> Result<TcpPlane, Ending> {
    let job = auth::job_id(&joining.job);
    let hello = member::hello(joining.member, joining.members, joining.me.clone())?;
    let found = member::find(
        candidates,
        (&hello, &joining.secret, job),
        joining.limit,
        joining.clock.as_ref(),
    )?;
    let (desk, pulse) = (
        Arc::new(Desk::new(Arc::clone(&joining.clock))),
        Arc::default(),
    );
    let shared = (Arc::clone(&desk), Arc::clone(&pulse));
    let member = usize::try_from(joining.member).unwrap_or(usize::MAX);
    let place = found.place();
    let (service, outgoing) =
        member::Service::new(found, shared, job, member).map_err(|error| system_fault(&error))?;
    start(move || service.run())?;
    TcpPlane::settle(joining, place, (desk, pulse), Uplink::Remote(outgoing, job))
}

fn start(work: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    let thread = std::thread::Builder::new().name("control".to_owned());
    thread
        .spawn(work)
        .map(drop)
        .map_err(|error| system_fault(&error))
}

fn system_fault(error: &std::io::Error) -> Fault {
    Fault::new(
        Kind::Call,
        format!("cannot set up the control plane: {error}"),
    )
}

impl TcpPlane {
    /// Waits until all have met.
    fn settle(
        joining: &Joining,
        place: String,
        (desk, pulse): (Arc<Desk>, Arc<Pulse>),
        uplink: Uplink,
    ) -> Result<Self, Ending> {
        let mut plane = Self {
            member: usize::try_from(joining.member).unwrap_or(usize::MAX),
            peers: Vec::new(),
            place,
            post: Post {
                desk,
                pulse,
                uplink,
                clock: Arc::clone(&joining.clock),
            },
            steps: Steps::of(Circle::WHOLE),
        };
        let limit = joining.limit.saturating_add(HUB_GRACE);
        let members = usize::try_from(joining.members).unwrap_or(usize::MAX);
        let met = plane.post.desk.await_peers(limit);
        match met.map_err(|fault| plane.post.desk.finish.get().unwrap_or_else(|| fault.into()))? {
            Some(peers) if peers.len() == members => plane.peers = peers,
            Some(_) => {
                return Err(Fault::new(Kind::Disagree, "rank 0 sent a broken roster").into());
            }
            None => return Err(desk::no_answer("waiting for all to meet", limit).into()),
        }
        Ok(plane)
    }

    fn step(&self, verb: Verb, step: Step<'_>, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        self.post.step(&self.steps, verb, step, bytes)
    }

    fn me(&self) -> &PeerInfo {
        &self.peers[self.member]
    }
}

impl Groups for TcpPlane {
    fn group(&self, step: Step<'_>, color: u64, key: u64) -> Result<Arc<dyn Bootstrap>, Fault> {
        let mut said = Vec::with_capacity(self.peers.len());
        for bytes in self.all_gather(step, &super::encode(&(color, key))?)? {
            said.push(super::decode::<(u64, u64)>(&bytes)?);
        }
        let members = group::of_color(&said, color);
        let index = members.iter().position(|&one| one == self.member);
        let place = (index.unwrap_or_default(), members.len());
        let name = group::name(&said, color, self.steps.begun());
        let me = (self.me().clone(), self.member);
        let group = group::TcpGroup::new(self.post.clone(), name, place, me)?;
        Ok(Arc::new(group))
    }
}

impl Bootstrap for TcpPlane {
    fn member(&self) -> usize {
        self.member
    }

    fn members(&self) -> usize {
        self.peers.len()
    }

    fn all_gather(&self, step: Step<'_>, mine: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let all = self.step(Verb::Gather, step, mine)?;
        post::complete(self.peers.len(), step, all)
    }

    fn barrier(&self, step: Step<'_>) -> Result<(), Fault> {
        self.step(Verb::Barrier, step, &[]).map(drop)
    }

    fn start_line(&self, step: Step<'_>) -> Result<(), Fault> {
        self.step(Verb::StartLine, step, &[]).map(drop)
    }

    fn decide(&self, step: Step<'_>, mine: &[u8], choose: Choose<'_>) -> Result<Vec<u8>, Fault> {
        let all = self.step(Verb::Collect, step, mine)?;
        let chosen = match self.member {
            0 => {
                let all = post::complete(self.peers.len(), step, all);
                choice::write(all.and_then(|all| choose(&all)))?
            }
            _ => Vec::new(),
        };
        choice::read(&self.step(Verb::Broadcast, step, &chosen)?)
    }

    fn agree(&self, step: Step<'_>, mine: Result<(), Fault>) -> Result<(), Fault> {
        let said = match mine {
            Ok(()) => Vec::new(),
            Err(fault) => {
                // whoever tells it again says that it was met here
                let place = super::peer::place(&self.peers[self.member], self.member);
                super::encode(&fault.at(place))?
            }
        };
        match self.step(Verb::Agree, step, &said)?.first() {
            None => Ok(()),
            Some(lowest) => Err(super::decode(lowest)?),
        }
    }

    fn pulse(&self) -> &Pulse {
        &self.post.pulse
    }

    fn ended(&self) -> Option<Fault> {
        self.post.desk.finish.fault()
    }

    fn fail(&self, fault: Fault) -> Ending {
        self.post.fail(fault, (self.me(), self.member))
    }
}

impl ProcessPlane for TcpPlane {
    fn peers(&self) -> &[PeerInfo] {
        &self.peers
    }

    fn place(&self) -> Option<&str> {
        Some(&self.place)
    }

    fn on_end(&self, hook: EndHook) {
        self.post.desk.finish.on_end(hook);
    }

    fn call_witness(&self, witness: Witness) {
        self.post.desk.stand.call(witness);
    }

    fn leave(&self) {
        if self.ended().is_none() {
            self.post.desk.set_leaving();
            self.post.say(Message::Leave);
            let (first, others) = LEAVE_LIMIT;
            self.post
                .desk
                .await_closed(if self.member == 0 { first } else { others });
        }
    }
}

impl Drop for TcpPlane {
    /// Without a goodbye before, the others take this for a death.
    fn drop(&mut self) {
        match &self.post.uplink {
            Uplink::Own(mailbox) => mailbox.put(Letter::Drop),
            Uplink::Remote(outgoing, _) => outgoing.close(),
        }
    }
}
